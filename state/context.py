"""Settings: one immutable model, with a subclass for each method.

A value comes from the call, else from the environment (`HOPGRAPH_<FIELD>`), else from the default.
`resolve_settings` is the only place where these meet.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeVar, cast, get_args

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, JsonValue, ValidationError
from pydantic.json_schema import SkipJsonSchema

from hopgraph.state.errors import SettingsError
from hopgraph.state.protocols import EntailmentChecker, Reranker

DEFAULT_MODEL = "offline:extractive"
DEFAULT_RETRIEVER = "sample"

_PASSWORD = re.compile(r"://[^/@\s]*@")
"""Name and password in an address."""

ContextT = TypeVar("ContextT", bound="Context")

Resource = Literal["retriever", "reranker", "entailment"]
"""What some methods need beside a model."""


def settings_group(name: str) -> dict[str, JsonValue]:
    """Put a field under a heading of the settings panel."""
    return {"group": name}


UNRECORDED = (settings_group("Limits"), settings_group("Operation"))
"""The groups of settings that may change when a run is resumed."""


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
        raise SettingsError(_one_line(cls, error, "setting {name}")) from None


def resolve_settings(given: object, cls: type[ContextT]) -> ContextT:
    """Turn whatever a node finds in `runtime.context` into the method's settings.

    * None, or an object of a host application: the environment and the defaults;
    * the method's own Context: as it is;
    * another method's Context: the fields that both have;
    * a dict: its fields, if they are ours; a host's dict may carry ours under the key `hopgraph`;
    * a host's object may carry ours as its attribute `hopgraph`.

    Unset fields come from the environment.

    Raises:
        SettingsError: a dict that mixes our settings with unknown names, or a bad value.
    """
    if given is not None and not isinstance(given, Mapping | Context):
        given = getattr(given, "hopgraph", None)
    if isinstance(given, Mapping):
        given = _from_mapping(cast("Mapping[str, Any]", given), cls)
    if given is None:
        return with_environment(cls())
    if isinstance(given, cls):
        return with_environment(given)
    if isinstance(given, Context):
        shared = {name: value for name, value in explicit_settings(given).items() if name in cls.model_fields}
        return with_environment(make_settings(cls, shared))
    raise SettingsError(f"context of type {type(given).__name__} is not {cls.__name__}, a dict or None")


def _from_mapping(given: Mapping[str, Any], cls: type[ContextT]) -> ContextT | Context | None:
    if "hopgraph" in given:
        nested = given["hopgraph"]
        if nested is None or isinstance(nested, Context):
            return nested
        if not isinstance(nested, Mapping):
            raise SettingsError(f"context under the key 'hopgraph': expected a dict, got {type(nested).__name__}")
        return make_settings(cls, cast("Mapping[str, Any]", nested))
    unknown = sorted(given.keys() - cls.model_fields.keys())
    if unknown and len(unknown) == len(given):
        return None  # a host application's own settings
    if unknown:
        raise SettingsError(
            f"setting {unknown[0]!r} is unknown for {cls.method}; "
            'put ours under the key "hopgraph" if the rest belongs to your application'
        )
    return make_settings(cls, given)


def explicit_settings(settings: Context) -> dict[str, Any]:
    """Take the fields that somebody set; the others follow the environment and the defaults."""
    return {name: getattr(settings, name) for name in settings.model_fields_set}


@cache
def _variables(cls: type[Context]) -> tuple[tuple[str, str], ...]:
    """List the fields with their environment variables; made once, as every node of a run asks."""
    return tuple((name, f"HOPGRAPH_{name.upper()}") for name in cls.model_fields)


def with_environment(settings: ContextT) -> ContextT:
    """Fill the fields that were not set from `HOPGRAPH_<FIELD>`; the only reader of the environment.

    Lists and maps are written as JSON; an empty variable counts as not set.

    Raises:
        SettingsError: a variable with a bad value, by its name.
    """
    cls = type(settings)
    given_names, variables = settings.model_fields_set, os.environ
    found = {
        name: value
        for name, variable in _variables(cls)
        if name not in given_names and (value := variables.get(variable))
    }
    if not found:
        return settings
    given = explicit_settings(settings)
    try:
        parsed = {
            name: parse_setting(cls, name, value, f"environment variable HOPGRAPH_{name.upper()}")
            for name, value in found.items()
        }
        return cls.model_validate({**given, **parsed})
    except ValidationError as error:
        raise SettingsError(_one_line(cls, error, "environment variable HOPGRAPH_{NAME}")) from None


def parse_setting(cls: type[Context], name: str, text: str, subject: str = "setting {name!r}") -> object:
    """Read a setting's value as people write it: `none` where a setting may be none, JSON for maps and lists.

    `subject` is what an error calls the setting.

    Raises:
        SettingsError: an unknown name, or a map or a list that is not JSON.
    """
    field = cls.model_fields.get(name)
    if field is None:
        raise SettingsError(_unknown(cls, subject.format(name=name)))
    if text.lower() in {"none", "null"} and type(None) in get_args(field.annotation):
        return None
    if field.default_factory is None:
        return text
    try:
        return json.loads(text)
    except ValueError:
        kind = "object" if isinstance(field.get_default(call_default_factory=True), Mapping) else "list"
        raise SettingsError(f"{subject.format(name=name)}: write a JSON {kind}, got {text!r:.80}") from None


def record_settings(settings: Context, without: Sequence[dict[str, JsonValue]] = UNRECORDED) -> dict[str, JsonValue]:
    """Write down the settings that shape a result, as plain data; without those of some groups.

    Objects are written as their class name. Order: the order of the fields.
    """
    record: dict[str, JsonValue] = {}
    for name, field in type(settings).model_fields.items():
        extra = field.json_schema_extra
        if extra in without:
            continue
        record[name] = _plain(getattr(settings, name))
    return record


def _plain(value: object) -> JsonValue:
    if isinstance(value, str):
        return _PASSWORD.sub("://", value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return {key: _plain(entry) for key, entry in entries.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in cast("Sequence[object]", value)]
    return f"<{type(value).__name__}>"


def check_same_settings(recorded: Mapping[str, JsonValue], settings: Context) -> None:
    """Refuse to go on with a run under settings other than those it began with.

    Raises:
        SettingsError: names the first setting that differs. Nothing recorded: passes.
    """
    for name, now in record_settings(settings).items():
        if name in recorded and recorded[name] != now:
            raise SettingsError(
                f"this run began with {name} = {recorded[name]!r} and was resumed with {now!r}; "
                "give the same context again, or start a new run"
            )


def _one_line(cls: type[Context], error: ValidationError, what: str) -> str:
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "?"
    subject = what.format(name=repr(name), NAME=name.upper())
    if first["type"] == "extra_forbidden":
        return _unknown(cls, subject)
    return f"{subject}: {first['msg']}, got {first['input']!r:.80}"


def _unknown(cls: type[Context], subject: str) -> str:
    return f"{subject} is unknown for {cls.method or cls.__name__}; it has: {', '.join(cls.model_fields)}"
