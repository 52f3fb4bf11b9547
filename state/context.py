"""Settings: one immutable model, with a subclass for each method."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, TypeVar

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, JsonValue, ValidationError
from pydantic.json_schema import SkipJsonSchema

from hopgraph.state.errors import SettingsError
from hopgraph.state.protocols import EntailmentChecker, Reranker

DEFAULT_MODEL = "offline:extractive"
DEFAULT_RETRIEVER = "sample"


ContextT = TypeVar("ContextT", bound="Context")

Resource = Literal["retriever", "reranker", "entailment"]
"""What some methods need beside a model."""


def settings_group(name: str) -> dict[str, JsonValue]:
    """Put a field under a heading of the settings panel."""
    return {"group": name}


class Context(BaseModel):
    """The settings that every method has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: ClassVar[str] = ""
    """The method's name: the first part of its roles."""
    steps: ClassVar[tuple[str, ...]] = ()
    """The second parts of its roles."""
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    """The paper's settings by family of data sets."""

    model: str | SkipJsonSchema[InstanceOf[BaseChatModel]] | None = Field(
        default=None,
        description="the model: offline:extractive, openai:NAME, PROVIDER:NAME, or a LangChain chat model; "
        f"none: HOPGRAPH_MODEL, else {DEFAULT_MODEL}",
        json_schema_extra=settings_group("Model"),
    )
    models: dict[str, str | SkipJsonSchema[InstanceOf[BaseChatModel]]] = Field(
        default_factory=dict[str, str | BaseChatModel],
        description="another model for some roles: role (migres/decide) or prefix of roles (migres) → model",
        json_schema_extra=settings_group("Model"),
    )
    temperature: float | None = Field(
        default=0.0,
        ge=0.0,
        le=2.0,
        description="sampling temperature; none: the model's own default",
        json_schema_extra=settings_group("Model"),
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        description="sampling seed, for models that take one",
        json_schema_extra=settings_group("Model"),
    )
    parse_retries: int = Field(
        default=2,
        ge=0,
        le=10,
        description="how often an unusable reply is asked for again before the role's fallback is taken",
        json_schema_extra=settings_group("Model"),
    )
    prompts_dir: str | None = Field(
        default=None,
        description="a folder with prompt files that replace the built-in ones (see `hopgraph prompts`)",
        json_schema_extra=settings_group("Model"),
    )
    demonstrations: str | None = Field(
        default=None,
        description="worked examples in the prompts: a built-in family (multi_hop, open_domain, yes_no) or a "
        "folder with STEP.jsonl files; a family's files in prompts_dir come first; none: zero-shot",
        json_schema_extra=settings_group("Model"),
    )
    retriever: str | SkipJsonSchema[InstanceOf[BaseRetriever]] | None = Field(
        default=None,
        description="where passages come from: sample, an index's folder, bm25:DIR, faiss:DIR, hybrid:DIR, "
        "colbert:DIR, milvus:URI#COLLECTION, elasticsearch:URL#INDEX, web:wikipedia, web:serper, "
        "web:community:CLASS, or a LangChain retriever; none: HOPGRAPH_RETRIEVER, else the sample corpus",
        json_schema_extra=settings_group("Retrieval"),
    )
    second_retriever: str | SkipJsonSchema[InstanceOf[BaseRetriever]] | None = Field(
        default=None,
        description="a second retriever asked side by side; both results go to the reranker (Table 9)",
        json_schema_extra=settings_group("Retrieval"),
    )
    passages_per_query: int = Field(
        default=5,
        ge=1,
        le=1000,
        description="passages retrieved for each query",
        json_schema_extra=settings_group("Retrieval"),
    )
    leave_out_question: bool = Field(
        default=False,
        description="against contamination: leave out passages that contain the question's text "
        "(RA-ISF, section 4.3), and retrieve others instead",
        json_schema_extra=settings_group("Retrieval"),
    )
    reranker: str | SkipJsonSchema[InstanceOf[Reranker]] = Field(
        default="lexical",
        description="what scores passages and sentences against a query: lexical, bge:NAME, cross-encoder:NAME, "
        "http://HOST/rerank, model:SPEC, or an object",
        json_schema_extra=settings_group("Retrieval"),
    )
    entailment: str | SkipJsonSchema[InstanceOf[EntailmentChecker]] = Field(
        default="lexical",
        description="what checks that passages entail a statement: lexical, t5-nli:NAME, nli:NAME, "
        "minicheck:NAME, http://HOST/predict, model:SPEC, or an object",
        json_schema_extra=settings_group("Retrieval"),
    )
    review_queries: bool = Field(
        default=False,
        description="pause before each search until a person has approved, edited or rejected its queries; "
        "needs a checkpointer",
        json_schema_extra=settings_group("Review"),
    )
    review_evidence: bool = Field(
        default=False,
        description="pause before an answer is made until a person has approved, edited or rejected what it is "
        "made of; needs a checkpointer",
        json_schema_extra=settings_group("Review"),
    )
    answer_type: Literal["short", "yes_no"] = Field(
        default="short",
        description="yes_no: the answer must be yes or no (StrategyQA)",
        json_schema_extra=settings_group("Method"),
    )
    max_llm_calls: int | None = Field(
        default=None,
        ge=1,
        description="budget: model calls per question, re-asks included",
        json_schema_extra=settings_group("Limits"),
    )
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        description="budget: prompt and completion tokens per question",
        json_schema_extra=settings_group("Limits"),
    )
    deadline_seconds: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="budget: seconds per question",
        json_schema_extra=settings_group("Limits"),
    )
    max_parallel_calls: int = Field(
        default=32,
        ge=1,
        le=256,
        description="model calls under way at once, per model",
        json_schema_extra=settings_group("Operation"),
    )
    request_timeout: float = Field(
        default=60.0,
        gt=0,
        allow_inf_nan=False,
        description="seconds until one model request is given up",
        json_schema_extra=settings_group("Operation"),
    )
    request_retries: int = Field(
        default=4,
        ge=0,
        le=20,
        description="how often a request is sent again after a rate limit, server error or lost connection",
        json_schema_extra=settings_group("Operation"),
    )
    cache_dir: str | None = Field(
        default=None,
        description="a folder that keeps replies and gives them back for the same prompt; none: no cache",
        json_schema_extra=settings_group("Operation"),
    )

    @property
    def uses(self) -> frozenset[Resource]:
        """What a run with these settings needs beside its model; only that is opened before the run."""
        return frozenset({"retriever"})

    @classmethod
    def preset(cls, family: str, **settings: Any) -> Self:
        """Make the paper's settings for a family of data sets, with some replaced.

        Raises:
            SettingsError: no such family, or a bad setting.
        """
        return make_settings(cls, {**preset_values(cls, family), **settings})


def preset_values(cls: type[Context], family: str) -> dict[str, Any]:
    """Look a preset up.

    Raises:
        SettingsError: the method has no preset of this name.
    """
    if family not in cls.presets:
        known = ", ".join(cls.presets) or "none"
        raise SettingsError(f"preset {family!r} is unknown for {cls.method}; it has: {known}")
    return cls.presets[family]


def make_settings(cls: type[ContextT], values: Mapping[str, Any]) -> ContextT:
    """Make the settings of a method from named values.

    Raises:
        SettingsError: an unknown name or a value out of range, by name, in one line.
    """
    try:
        return cls.model_validate(dict(values))
    except ValidationError as error:
        raise SettingsError(describe_invalid(cls, error, "setting {name}")) from None


def explicit_settings(settings: Context) -> dict[str, Any]:
    """Return the fields that were set explicitly; the others follow the environment and the defaults."""
    return {name: getattr(settings, name) for name in settings.model_fields_set}


def describe_invalid(cls: type[Context], error: ValidationError, what: str) -> str:
    """Say in one line what the first error of a validation is; `what` names the subject, with {name} or {NAME}."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "?"
    subject = what.format(name=repr(name), NAME=name.upper())
    if first["type"] == "extra_forbidden":
        return describe_unknown(cls, subject)
    return f"{subject}: {first['msg']}, got {first['input']!r:.80}"


def describe_unknown(cls: type[Context], subject: str) -> str:
    """Say in one line that a method has no such setting, and which it has."""
    return f"{subject} is unknown for {cls.method or cls.__name__}; it has: {', '.join(cls.model_fields)}"
