"""Turn any compiled LangGraph graph with a `question` input and an `answer` output into a method.

It runs in one node and keeps its own models, retriever and context; a callback counts its model calls and keeps them
within `max_llm_calls` and `max_tokens`, and `deadline_seconds` ends it. What it writes to the `custom` stream becomes
step events. Its interrupts pause the run, and it resumes with the run's resume value.
"""

import asyncio
import json
from dataclasses import MISSING, is_dataclass
from dataclasses import Field as DataclassField
from dataclasses import fields as fields_of_dataclass
from itertools import count
from typing import Annotated, Any, ClassVar, Literal, cast, get_type_hints

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.outputs import LLMResult
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from typing_extensions import TypedDict, override

from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.human_review import check_checkpointer
from hopgraph.nodes.core.method_graph import MethodGraph, Node
from hopgraph.nodes.core.search import to_passages
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.core.step_function import state_keys
from hopgraph.nodes.finish import total
from hopgraph.nodes.prepare import prepare_for
from hopgraph.state import (
    AnswerOutput,
    Citation,
    Context,
    MethodState,
    ModelError,
    Passage,
    QuestionInput,
    SpecError,
    StopReason,
    Update,
    Usage,
)
from hopgraph.state.context import Presets, explicit_settings
from hopgraph.state.errors import format_error
from hopgraph.state.events import Answered, UnknownEvent, is_step_event

AnyGraph = CompiledStateGraph[Any, Any, Any, Any]

RUN_GRAPH = "run_graph"
_NO_NAME = "LangGraph"  # what LangGraph calls a graph that was compiled without a name
_LIMITS = frozenset({"max_llm_calls", "max_tokens", "deadline_seconds"})
"""Settings that apply to every graph."""
_GRAPH_LIMIT = 25  # LangGraph's default step limit, used by a graph that sets none


def _to_passages(given: Any) -> Any:
    if isinstance(given, list) and given and all(isinstance(each, Document) for each in cast("list[object]", given)):
        return to_passages(cast("list[Document]", given), "graph", 1)
    return cast("object", given) or []


_Text = Annotated[str, BeforeValidator(lambda given: "" if given is None else given)]


class _HostedOutput(TypedDict, total=False):
    """Keys read from the graph's final state."""

    answer: _Text
    explanation: _Text
    citations: list[Citation]
    passages: Annotated[list[Passage], BeforeValidator(_to_passages)]
    """Or LangChain documents."""
    stop_reason: StopReason | Literal[""] | None
    usage: dict[str, int]
    """Some of the keys of `Usage`."""


_OUTPUT = TypeAdapter(_HostedOutput)


class _BudgetSpentError(ModelError):
    """Raised in the graph by a model call beyond the budget; the graph may catch it and answer without the call."""


class HostedContext(Context):
    """The settings of a graph without ours: those of its context."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    resources = ()
    presets: ClassVar[Presets] = {}
    given: ClassVar[frozenset[str]] = frozenset()
    """The settings passed into its context."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a process that has hosted the same graph restore the settings; their class is not in any module."""
        return _restored, (self.method, self.__getstate__())


_made: dict[str, type[HostedContext]] = {}


def _restored(method: str, state: Any) -> HostedContext:
    settings = object.__new__(_made[method])
    settings.__setstate__(state)
    return settings


def keys_of(graph: AnyGraph, end: Literal["input", "output"]) -> list[str]:
    """List the keys of a graph's input or output."""
    schema: Any = graph.builder.input_schema if end == "input" else graph.builder.output_schema
    return [*state_keys(schema)]


def host_graph(graph: AnyGraph, name: str) -> CompiledMethod:
    """Return a graph as a method of this name; SpecError if it has no `question` input or no `answer` output."""
    for key, verb, keys in (
        ("question", "takes", keys_of(graph, "input")),
        ("answer", "gives", keys_of(graph, "output")),
    ):
        if key not in keys:
            raise SpecError(f"method {name!r} {verb} no `{key}`; its graph {verb} {', '.join(keys)}")
    context = graph.context_schema
    if not (isinstance(context, type) and issubclass(context, Context)):
        context = _settings_of(context, name)
    builder = MethodGraph(MethodState, context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(MethodState))
    builder.add_node(RUN_GRAPH, _run(graph, name))
    builder.chain(START, "prepare", RUN_GRAPH, END)
    title = str(graph.get_name())
    return builder.compile(name=name if title == _NO_NAME else title)


def _settings_of(schema: type[Any] | None, name: str) -> type[HostedContext]:
    """Make settings from the fields of a graph's own context: a dataclass, a pydantic model or a TypedDict."""
    given = _fields_of(schema) if schema else {}
    made: Any = cast("Any", create_model)(
        f"{name}_context",
        __base__=HostedContext,
        **{
            key: (kind, Field(default, json_schema_extra={"group": "Method"}))
            for key, (kind, default) in given.items()
            if key not in Context.model_fields
        },
    )
    made.method, made.given = name, frozenset(given)
    made.unused_settings = frozenset(Context.model_fields) - made.given - _LIMITS
    _made[name] = made
    return cast("type[HostedContext]", made)


def _fields_of(schema: type[Any]) -> dict[str, tuple[Any, Any]]:
    """List the fields of a context: name → (type, default); `...` if required."""
    hints = get_type_hints(schema, include_extras=True)
    if issubclass(schema, BaseModel):
        fields = schema.model_fields.items()
        return {
            name: (hints[name], ... if field.is_required() else field.get_default(call_default_factory=True))
            for name, field in fields
        }
    if is_dataclass(schema):
        return {each.name: (hints[each.name], _default_of(each)) for each in fields_of_dataclass(schema)}
    return {name: (kind | None, None) for name, kind in hints.items()}


def _default_of(field: "DataclassField[Any]") -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return ... if field.default is MISSING else field.default


class _CallCounter(BaseCallbackHandler):
    """Counts the model calls of a run, and their tokens if the model reports them; refuses calls beyond the budget."""

    run_inline = True
    raise_error = True

    def __init__(self, settings: Context) -> None:
        self._settings, self._begun = settings, count()
        self.used = {"llm_calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self.is_spent = False

    @override
    def on_llm_start(self, *_: Any, **__: Any) -> None:
        calls, tokens = self._settings.max_llm_calls, self._settings.max_tokens
        spent = self.used["prompt_tokens"] + self.used["completion_tokens"]
        if (calls is not None and next(self._begun) >= calls) or (tokens is not None and spent >= tokens):
            self.is_spent = True
            raise _BudgetSpentError("the budget of the run is spent; raise max_llm_calls or max_tokens")

    on_chat_model_start = on_llm_start

    @override
    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        self.used["llm_calls"] += 1
        for generation in (each for choices in response.generations for each in choices):
            usage: dict[str, int] = getattr(getattr(generation, "message", None), "usage_metadata", None) or {}
            self.used["prompt_tokens"] += usage.get("input_tokens", 0)
            self.used["completion_tokens"] += usage.get("output_tokens", 0)


def _run(graph: AnyGraph, name: str) -> Node:
    limit = (graph.config or {}).get("recursion_limit", _GRAPH_LIMIT)

    async def run_graph(state: QuestionInput, runtime: Runtime[Context]) -> Update:
        """Run the graph; writes the output of every method, leaving empty what the graph does not provide."""
        settings, limits = runtime.context, Context()
        context: Any = settings
        if isinstance(settings, HostedContext):
            limits = settings  # our own methods keep to theirs
            context = {key: value for key, value in explicit_settings(settings).items() if key in settings.given}
        counter = _CallCounter(limits)
        stream = graph.astream(
            {"question": state["question"]},
            {"callbacks": [counter], "recursion_limit": limit},
            context=context,
            stream_mode=["custom", "values"],
            subgraphs=True,
        )
        last: object = {}
        depth: int | None = None
        deadline = asyncio.timeout(limits.deadline_seconds)
        try:
            async with deadline:
                async for namespace, mode, chunk in cast("Any", stream):
                    if mode == "custom":
                        _report(runtime, chunk)
                    elif len(namespace) <= (depth := len(namespace) if depth is None else depth):  # not of subgraphs
                        last = chunk
        except (TimeoutError, _BudgetSpentError):
            if not (counter.is_spent or deadline.expired()):
                raise
            counter.is_spent = True
        except GraphInterrupt:
            check_checkpointer(f"method {name!r}", "`ask`")
            raise
        return _read(last, name, counter, runtime)

    return run_graph


def _report(runtime: Runtime[Any], written: object) -> None:
    """Report what the graph wrote to its `custom` stream; our own nodes in it already write step events."""
    if is_step_event(written):
        runtime.stream_writer(written)
        return
    plain = json.loads(json.dumps(written, default=str, skipkeys=True))
    data = cast("dict[str, Any]", plain) if isinstance(plain, dict) else {"value": plain}
    emit(runtime, UnknownEvent(name=str(data.pop("event", "custom")), data=data))


def _read(last: object, name: str, counter: _CallCounter, runtime: Runtime[Any]) -> Update:
    try:
        found = _OUTPUT.validate_python(last)
    except ValidationError as error:
        raise SpecError(f"method {name!r}: the output of its graph cannot be used: {format_error(error)}") from None
    answer = found.get("answer", "")
    passages, citations = found.get("passages", []), found.get("citations", [])
    usage = cast("Usage", {**total([], iterations=1), **counter.used, **cast("Any", found).get("usage", {})})
    stop_reason = found.get("stop_reason") or ("answered" if answer else "unanswerable")
    stop_reason = "budget" if counter.is_spent else stop_reason
    ended = Answered(
        answer=answer,
        explanation=found.get("explanation", ""),
        stop_reason=stop_reason,
        citations=citations,
        usage=usage,
    )
    emit(runtime, ended)
    return {**vars(ended), "passages": passages}
