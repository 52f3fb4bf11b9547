"""Settings: one immutable model, with a subclass for each method."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from langchain_core.runnables import Runnable
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import get_protocol_members

from hopgraph.state.errors import SettingsError, did_you_mean, format_error, misspelling_of
from hopgraph.state.protocols import EntailmentChecker, Reranker

DEFAULT_MODEL = "offline:extractive"
DEFAULT_RETRIEVER = "sample"


ContextT = TypeVar("ContextT", bound="Context")

Presets = dict[str, dict[str, Any]]
"""Family of data sets → settings."""

StepNodes = Mapping[str, tuple[str, ...]]
"""Step → the nodes that call the model for it."""

RehearsalReply = Callable[[Any], Mapping[str, Any]]
"""A `hopgraph.tools.models.players.player.Player`, which has the prompt → the fields of a reply."""

Resource = Literal["retriever", "reranker", "entailment"]
"""A resource that some methods need in addition to a model."""


AnswerType = Literal["short", "yes_no", "sentence", "full", "auto"]

OWNER_SETTINGS_OF_METHODS = frozenset({"labels", "embedding"})
"""Method settings that name a file or a model: only the app's operator sets them, not a caller or a stage."""

SENTENCE_STEP, FULL_STEP = "write_sentence", "write_full_answer"
"""The last step of every method with `answer_type` sentence and full, respectively."""

LAST_NODE = "finish"
"""The node of every method that calls these steps."""

MAX_PROMPT = 100_000
"""Maximum characters of a prompt given as a setting."""

MAX_STYLE = 4_000
"""Maximum characters of `answer_instructions`."""

PROMPT = "prompt_"
"""Prefix of the settings that hold the steps' prompts."""

SettingGroup = Literal["Model", "Retrieval", "Review", "Method", "Chat", "Limits", "Operation", "Prompts"]
"""Headings of the settings panel; settings under Limits and Operation may change when a run is resumed."""

DefaultT = TypeVar("DefaultT")


def setting(group: SettingGroup, default: DefaultT, description: str, **bounds: Any) -> DefaultT:
    """Declare a field of a Context; `bounds` are passed to pydantic's `Field`, e.g. `ge`."""
    field: Any = Field(default=default, description=description, json_schema_extra={"group": group}, **bounds)
    return field


def method_setting(default: DefaultT, description: str, **bounds: Any) -> DefaultT:
    """Declare a method-specific field of a Context, as `setting` does."""
    return setting("Method", default, description, **bounds)


def _prompt_setting(role: str, nodes: Sequence[str]) -> Any:
    """Declare a step's prompt field, which Studio shows on the nodes that use the step."""
    return Field(
        default="",
        max_length=MAX_PROMPT,
        description=f"the prompt of {role}: a whole prompt file (`hopgraph prompts` copies it) or only its "
        "instructions. Default: the file's",
        json_schema_extra={"group": "Prompts", "langgraph_nodes": [*nodes], "langgraph_type": "prompt"},
    )


class Context(BaseModel):
    """The settings that every method has; each step adds one for its prompt, `prompt_STEP`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    method: ClassVar[str] = ""
    """The method's name: the first part of its roles."""
    steps: ClassVar[tuple[str, ...]] = ()
    """The second parts of its roles."""
    step_nodes: ClassVar[StepNodes] = {}
    """Step → the graph nodes that use it, for steps not used by the node of the same name."""
    resources: ClassVar[tuple[Resource, ...]] = ("retriever",)
    """Resources that a run needs besides its model, unless its settings disable them (`required_resources`)."""
    presets: ClassVar[Presets] = {"multi_hop": {}, "open_domain": {}, "yes_no": {"answer_type": "yes_no"}}
    """The paper's settings by family of data sets."""
    rehearsal_replies: ClassVar[Mapping[str, RehearsalReply]] = {}
    """Step → the reply of the model `rehearsal`, for steps that no built-in method has."""
    unused_settings: ClassVar[frozenset[str]] = frozenset()
    """Settings of this class that a run ignores, for a graph with its own models and context."""

    model: str | SkipJsonSchema[InstanceOf[Runnable[Any, Any]]] | None = setting(
        "Model",
        None,
        "the model: offline:extractive, gguf:FILE, openai:NAME, PROVIDER:NAME, or a LangChain chat model; "
        f"default: HOPGRAPH_MODEL, else {DEFAULT_MODEL}",
    )
    models: dict[str, str | SkipJsonSchema[InstanceOf[Runnable[Any, Any]]]] = Field(
        default_factory=dict[str, str | Runnable[Any, Any]],
        description="other models for individual roles: role (migres/decide) or prefix of roles (migres) → model",
        json_schema_extra={"group": "Model"},
    )
    temperature: float | None = setting("Model", 0.0, "sampling temperature. Default: the model's own", ge=0.0, le=2.0)
    seed: int | None = setting("Model", None, "sampling seed, for models that accept one", ge=0)
    max_output_tokens: int | None = setting(
        "Model",
        None,
        "maximum tokens per reply, sent with each request; truncated replies are retried. Default: the "
        "model's own limit, else 300 to 2,000 depending on the reply's schema",
        ge=1,
    )
    parse_retries: int = setting(
        "Model", 2, "retries after a reply that cannot be parsed, before the step's fallback is used", ge=0, le=10
    )
    prompts_dir: str | None = setting(
        "Model",
        None,
        "folder of prompt files that override the method's own (see `hopgraph prompts`)",
    )
    demonstrations: str | None = setting(
        "Model",
        None,
        "few-shot examples for the prompts: a built-in family (multi_hop, open_domain, yes_no) or a folder of "
        "STEP.jsonl files; a family's files in prompts_dir take precedence. Default: zero-shot",
    )
    retriever: str | SkipJsonSchema[InstanceOf[Runnable[Any, Any]]] | None = setting(
        "Retrieval",
        None,
        "where passages come from: sample, an index's folder, bm25:DIR, faiss:DIR, hybrid:DIR, "
        "colbert:DIR, milvus:URI#COLLECTION, elasticsearch:URL#INDEX, web:wikipedia, web:serper, "
        "web:community:CLASS, or a LangChain retriever; default: HOPGRAPH_RETRIEVER, else the sample corpus",
    )
    second_retriever: str | SkipJsonSchema[InstanceOf[Runnable[Any, Any]]] | None = setting(
        "Retrieval", None, "a second retriever, searched in parallel; the reranker sees both results (Table 9)"
    )
    top_k: int = setting("Retrieval", 5, "passages retrieved for each query", ge=1, le=1000)
    links: bool = setting(
        "Retrieval",
        True,
        "follow links between passages: passages whose title is mentioned by the best hits or by the query "
        "are ranked higher, and scores become relative. Indexes built by `hopgraph index` have links",
    )
    exclude_question_text: bool = setting(
        "Retrieval",
        False,
        "exclude passages that contain the question's text and retrieve others instead (contamination "
        "control; RA-ISF, section 4.3)",
    )
    reranker: str | SkipJsonSchema[InstanceOf[Reranker]] = setting(
        "Retrieval",
        "lexical",
        "scores passages and sentences against a query: lexical, bge:NAME, cross-encoder:NAME, "
        "http://HOST/rerank, model:SPEC, or an object",
    )
    entailment: str | SkipJsonSchema[InstanceOf[EntailmentChecker]] = setting(
        "Retrieval",
        "lexical",
        "checks that passages entail a statement: lexical, t5-nli:NAME, nli:NAME, minicheck:NAME, "
        "http://HOST/predict, model:SPEC, or an object",
    )
    review_queries: bool = setting(
        "Review",
        False,
        "pause before each search so that a person can approve, edit or reject its queries; needs a checkpointer",
    )
    review_evidence: bool = setting(
        "Review",
        False,
        "pause before answering so that a person can approve, edit or reject the evidence; needs a checkpointer",
    )
    answer_type: AnswerType = method_setting(
        "short",
        "yes_no: the answer must be yes or no (StrategyQA); sentence: a further call rewrites the short answer as a "
        "sentence with citation marks [1], [2]; full: a further call writes a long answer in Markdown from the "
        "retrieved passages; auto: full if the question asks for an explanation, summary, comparison or list, else "
        "short",
    )
    check_statements: bool = method_setting(
        False,
        "with a full answer: check each statement against the passages it cites (`entailment`), and mark unsupported "
        "ones [?], as those without citations are; disables streaming",
    )
    answer_instructions: str | None = method_setting(
        None,
        "instructions on form, tone or language of the answer, with answer_type sentence or full; only the step that "
        "writes it sees them",
        max_length=MAX_STYLE,
    )
    abstain: bool = method_setting(
        True,
        'answer "unanswerable" when the evidence is insufficient; if false (as in the papers), always answer, '
        "if necessary from the model's own knowledge, which is then cited as such",
    )
    max_llm_calls: int | None = setting(
        "Limits", None, "budget: maximum model calls per question, retries included", ge=1
    )
    max_tokens: int | None = setting("Limits", None, "budget: maximum prompt and completion tokens per question", ge=1)
    deadline_seconds: float | None = setting(
        "Limits", None, "budget: maximum seconds per question", gt=0, allow_inf_nan=False
    )
    max_parallel_calls: int = setting("Operation", 16, "maximum concurrent calls per model", ge=1, le=256)
    request_timeout: float = setting(
        "Operation",
        60.0,
        "timeout in seconds for a model request, including its whole reply; ten times as long if the reply is "
        "streamed or the model is not an openai: or gguf: spec",
        gt=0,
        allow_inf_nan=False,
    )
    request_retries: int = setting(
        "Operation",
        4,
        "retries of a request after a rate limit, a server error or a lost connection",
        ge=0,
        le=20,
    )
    allow_changed_settings: bool = setting(
        "Operation",
        False,
        "allow a run to be resumed, or forked from a checkpoint, with settings other than those it started with",
    )
    cache_dir: str | None = setting(
        "Operation", None, "folder of the reply cache, which answers repeated prompts; Default: no caching"
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        own = (each.method for each in cls.__mro__ if issubclass(each, Context) and each.method)
        LINEAGES[cls.method] = tuple(dict.fromkeys(own))

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the steps' prompts to the class's fields before pydantic collects them."""
        super().__init_subclass__(**options)
        nodes = {SENTENCE_STEP: (LAST_NODE,), FULL_STEP: (LAST_NODE,), **cls.step_nodes}
        for step in cls.all_steps():
            cls.__annotations__[f"{PROMPT}{step}"] = str
            setattr(cls, f"{PROMPT}{step}", _prompt_setting(f"{cls.method}/{step}", nodes.get(step, (step,))))

    if not TYPE_CHECKING:  # type checkers and editors already know the fields

        def __init__(self, **values: Any) -> None:
            """Make the settings; a SettingsError describes an invalid one in one line."""
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise SettingsError(describe_invalid(type(self), error)) from None

        __init__.__pydantic_base_init__ = True  # `model_validate` does not need it

    @property
    def required_resources(self) -> frozenset[Resource]:
        """Return the resources that a run with these settings needs; only these are opened before the run."""
        return frozenset(self.resources)

    @property
    def missing(self) -> str:
        """Return a message about required resources that these settings lack, or ""."""
        return ""

    @property
    def prompt_folders(self) -> tuple[str, ...]:
        """Return the folders searched before the built-in prompts: `prompts_dir`, then the method's own."""
        return (*([self.prompts_dir] if self.prompts_dir else []), *own_prompt_folders(type(self)))

    def prompt_of(self, step: str) -> str:
        """Return the text that replaces a step's prompt file; empty if the file is used."""
        text: str = getattr(self, f"{PROMPT}{step}", "")
        return text if text.strip() else ""

    @classmethod
    def all_steps(cls) -> tuple[str, ...]:
        """Return the method's steps, including those that all methods share; empty if it declares none."""
        return (*cls.steps, SENTENCE_STEP, FULL_STEP) if cls.steps else ()

    @classmethod
    def preset(cls, family: str, **settings: Any) -> Self:
        """Return the paper's settings for a family of data sets, with overrides; SettingsError if there are none."""
        if family not in cls.presets:
            known = ", ".join(cls.presets) or "none"
            raise SettingsError(f"preset {family!r} is unknown for {cls.method}; it has: {known}")
        return make_settings(cls, {**cls.presets[family], **settings})


LINEAGES: dict[str, tuple[str, ...]] = {}
"""Each method whose Context was imported → its name and those of the methods that this is a subclass of."""


def method_lineage(method: str) -> tuple[str, ...]:
    """Return a method's name and those of the methods that its Context is a subclass of, whose prompts it shares."""
    return LINEAGES.get(method) or (method,)


def settings_in_use(cls: type[Context]) -> set[str]:
    """Return the names of the settings that a method reads."""
    return cls.model_fields.keys() - cls.unused_settings


@cache
def own_prompt_folders(cls: type[Context]) -> tuple[str, ...]:
    """List the `prompts` folders next to the files of a class and its bases, except hopgraph's own."""
    own = (each.__module__ for each in cls.__mro__ if issubclass(each, Context))
    modules = (sys.modules.get(name) for name in own if not name.startswith("hopgraph."))
    files = filter(None, (getattr(module, "__file__", None) for module in modules))
    folders = (Path(file).resolve().parent / "prompts" for file in files)
    return tuple(dict.fromkeys(str(folder) for folder in folders if folder.is_dir()))


_SCORERS: dict[str, type[Any]] = {"reranker": Reranker, "entailment": EntailmentChecker}
"""Settings that accept an object with certain members, and which members."""
_RETRIEVER = "a LangChain retriever (a vector store's as_retriever())"
_MODEL = "a LangChain chat model"
_OBJECTS = {"model": _MODEL, "models": _MODEL, "retriever": _RETRIEVER, "second_retriever": _RETRIEVER}
"""Settings that accept an instance of a class, and which class."""


def make_settings(cls: type[ContextT], values: Mapping[str, Any]) -> ContextT:
    """Make a method's settings from named values; a SettingsError describes an invalid one in one line."""
    try:
        return cls.model_validate(dict(values))
    except ValidationError as error:
        raise SettingsError(describe_invalid(cls, error)) from None


@lru_cache(maxsize=1_000)
def setting_like(name: str, cls: type[Context]) -> str:
    """Return the setting that a name is, or is a misspelling of; empty for none."""
    return misspelling_of(name, cls.model_fields)


def explicit_settings(settings: Context) -> dict[str, Any]:
    """Return the fields that were set explicitly; the others follow the environment and the defaults."""
    return {name: getattr(settings, name) for name in settings.model_fields_set}


def describe_invalid(cls: type[Context], error: ValidationError, what: str = "setting {name}") -> str:
    """Describe the first validation error in one line; `what` names the subject, with {name} or {NAME}."""
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return format_error(error)  # settings that are incompatible
    name = str(first["loc"][0])
    subject = what.format(name=f"{name!r:.80}", NAME=name.upper())
    if first["type"] == "extra_forbidden":
        return describe_unknown(cls, name, subject)
    if (protocol := _SCORERS.get(name)) and not isinstance(first["input"], str):
        members = sorted(get_protocol_members(protocol))
        missing = [member for member in members if not hasattr(first["input"], member)]
        kind = type(first["input"]).__name__
        return f"{subject}: {kind} has no {' and no '.join(missing)}; it needs {', '.join(members)}"
    if (wanted := _OBJECTS.get(name)) and first["loc"][-1] == "str":
        return f"{subject}: expected a spec or {wanted}, got {type(first['input']).__name__}"
    return format_error(error, subject, got=True)


def describe_unknown(cls: type[Context], name: str, subject: str) -> str:
    """Describe an unknown setting in one line, with a suggestion."""
    return f"{subject} is unknown for {cls.method or cls.__name__}{did_you_mean(name, cls.model_fields)}"
