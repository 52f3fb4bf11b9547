"""An agent that looks up passages by calling tools: LangChain's own, with our models, budget and citations."""

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any, Literal, NamedTuple, cast

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse, hook_config
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import Field, JsonValue

from hopgraph.nodes.cascade import RememberingRetriever
from hopgraph.nodes.core.ask import CallResult, ModelCall, answer_type_variable, ask, calls_of
from hopgraph.nodes.core.budget import seconds_left
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, whole_excerpt
from hopgraph.nodes.core.human_review import Item, approve_evidence, review_queries
from hopgraph.nodes.core.reply_text import short_answer
from hopgraph.nodes.core.search import SearchRequest, distinguish_texts, retrieval_calls, search_all, to_passages
from hopgraph.nodes.core.step_events import emit, node_position
from hopgraph.nodes.core.step_function import state_keys
from hopgraph.nodes.hops.hop_history import observed_lines, open_hop
from hopgraph.nodes.hops.next_step import Action
from hopgraph.nodes.reading import reading_update
from hopgraph.state import Draft, Evidence, MethodState, Passage, Query, StopReason, Update
from hopgraph.state.baselines import AgentContext, AgentRunState
from hopgraph.state.events import QuerySent, Retrieved
from hopgraph.state.hops import Hop
from hopgraph.state.records import UNANSWERABLE
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.models.offline import RuleBasedModel
from hopgraph.tools.models.tool_calls import ToolCall, ToolsRefusedError, ToolTurn, takes_tools
from hopgraph.tools.prompts import format_attribute, format_block, unescape
from hopgraph.tools.resources import get_model, get_retriever, get_retrievers

_UNCITED = "uncited"
"""The artifact of the single reply that asks for citations."""
MOST_PASSAGES = 50
"""Maximum passages per search, or per section or document read; the rest follows at another `offset`."""
_runtime: ContextVar[ToolRuntime[AgentContext, AgentRunState]] = ContextVar("hopgraph_tool_runtime")
"""The runtime of the current tool call; as a tool's argument, LangChain would validate and copy all of it."""


async def search(
    query: Annotated[str, Field(min_length=1, max_length=2_000, description="what to look for: one fact, by name")],
    k: Annotated[int | None, Field(ge=1, le=MOST_PASSAGES, description="number of passages; may be omitted")] = None,
) -> Command[Any]:
    """Find passages in the documents."""
    runtime = _runtime.get()
    settings, state, hop = runtime.context, runtime.state, _turns(runtime.state["messages"])
    retrievers = await get_retrievers(settings)
    emit(cast("Any", runtime), QuerySent(query=query, why="", hop=hop))
    leave_out = state["question"] if settings.exclude_question_text else ""
    request = SearchRequest(query, k or settings.top_k, frozenset(state["excluded"]), hop, leave_out)
    found = await search_all(retrievers, request, seconds_left(settings, state))
    passages = distinguish_texts(found.passages, passages_by_id(state["passages"]))
    emit(cast("Any", runtime), Retrieved.of(query, passages, found.left_out))
    calls = retrieval_calls(str(runtime.tool_call_id), retrievers, len(passages))
    return _observed(runtime, passages, calls=calls)


async def read(
    id: Annotated[str, Field(description="the id of a passage")],  # noqa: A002 - the model's name for it
    offset: Annotated[int, Field(description="passages to skip forward from there, or back if negative")] = 0,
    whole: Annotated[
        Literal["section", "document"] | None,
        Field(description="start at the beginning of its section or document, and show all of it"),
    ] = None,
) -> Command[Any]:
    """Show the document that a passage is from, starting there, or its whole section or document."""
    from hopgraph.tools.retrieval.linked_index import read_document  # here, as it imports NumPy

    runtime = _runtime.get()
    known = _known(runtime.state)
    if id not in known:
        return _said(runtime, f"no passage {id!r:.80} was shown; available: {', '.join(known) or 'none'}", wrong=True)
    passage = known[id]
    settings, key = runtime.context, passage["id"]
    count = MOST_PASSAGES if whole else settings.top_k
    for given in (settings.retriever, *filter(None, [settings.second_retriever])):
        retriever = await get_retriever(given)
        if isinstance(retriever, RememberingRetriever):
            retriever = retriever.retriever
        if documents := await read_document(retriever, key, offset, count, whole):
            passages = to_passages(documents, type(retriever).__name__, _turns(runtime.state["messages"]))
            return _observed(runtime, distinguish_texts(passages, passages_by_id(runtime.state["passages"])))
    if offset:
        return _said(runtime, "there is no more of this document", wrong=True)
    return _observed(runtime, [passage])


async def answer(
    answer: Annotated[str, Field(max_length=10_000, description="the answer, in as few words as possible")],
    citations: Annotated[list[str] | None, Field(description="the ids of the passages that support it")] = None,
) -> Command[Any]:
    """End with the answer to the question."""
    runtime = _runtime.get()
    state, settings = runtime.state, runtime.context
    known = _known(state)
    ids = [each["id"] for each in _cited(known, citations)]
    text = short_answer(answer, yes_no=settings.answer_type == "yes_no")
    first = not any(each.artifact == _UNCITED for each in _results(state))
    if text and known and not ids and first and not is_last_turn(state, settings):
        said = f"cite the passages that support it, by id: {', '.join(known)}"
        return _said(runtime, said, wrong=True, artifact=_UNCITED)
    statement = f"{state['question']} {text}"
    resting = Evidence(id="1.1.1", statement=statement, passage_ids=ids, quote="", verified=False)
    thought = next((each.text for each in reversed(state["messages"]) if isinstance(each, AIMessage)), "")
    reading = Draft(reasoning=str(thought), answer=text, evidence=[resting] if text and ids else [])
    return _said(runtime, "done", **reading_update(reading, cast("Any", runtime), limit=state["stop_reason"]))


def _observed(runtime: ToolRuntime[Any, Any], passages: Sequence[Passage], **update: Any) -> Command[Any]:
    """Return passages to the model with their ids, as data that cannot escape its delimiters."""
    shown = [{"id": each["id"], "title": each["title"], "text": each["text"]} for each in passages]
    ids = [each["id"] for each in passages]
    return _said(runtime, format_block("passages", shown), artifact=ids, passages=list(passages), **update)


def _known(state: AgentRunState) -> dict[str, Passage]:
    """Return the passages that were shown, by id: as stored, as shown, and as shown with entities unescaped."""
    passages, known = passages_by_id(state["passages"]), dict[str, Passage]()
    for key in _order(state):
        seen = format_attribute(key)
        known |= dict.fromkeys((key, unescape(seen), seen), passages[key])
    return known


def _cited(known: Mapping[str, Passage], given: object) -> list[Passage]:
    """Return the passages that an answer cites, each once; `given` is unvalidated model output."""
    names = cast("list[object]", given) if isinstance(given, list) else []
    cited = [known[each] for each in names if isinstance(each, str) and each in known]
    return list({each["id"]: each for each in cited}.values())


def _said(
    runtime: ToolRuntime[Any, Any], content: str, *, wrong: bool = False, artifact: Any = None, **update: Any
) -> Command[Any]:
    message = ToolMessage(
        content, tool_call_id=runtime.tool_call_id or "", status="error" if wrong else "success", artifact=artifact
    )
    return Command(update={**update, "messages": [message]})


class _Turns(AgentMiddleware[Any, AgentContext]):
    """Calls the model like every other step, within the budget, and ends the run with the answer."""

    state_schema = AgentRunState

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Runtime[AgentContext]) -> dict[str, Any] | None:
        """End if there is an answer or the budget is spent."""
        del runtime
        return {"jump_to": "end"} if state["stop_reason"] else None

    def wrap_model_call(self, request: ModelRequest[AgentContext], handler: Any) -> Any:
        return run_in_background(self.awrap_model_call(request, handler))

    async def awrap_model_call(self, request: ModelRequest[AgentContext], handler: Any) -> Any:
        """Ask for the next turn; the request's own model is never called."""
        del handler
        with node_position(get_config()):
            message, update = await _next_turn(cast("AgentRunState", request.state), cast("Any", request.runtime))
        return ExtendedModelResponse(ModelResponse([message]), Command(update=update))

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Runtime[AgentContext]) -> dict[str, Any] | None:
        """Let a person review the next searches, or the passages that an answer would cite."""
        return run_in_background(self.aafter_model(state, runtime))

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Runtime[AgentContext]) -> dict[str, Any] | None:
        with node_position(get_config()):
            return await _reviewed(state, runtime)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Run a tool at its position among the run's steps."""
        with _place_of(request.runtime):
            return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        with _place_of(request.runtime):
            return await handler(request)


@contextmanager
def _place_of(runtime: ToolRuntime[AgentContext, AgentRunState]) -> Generator[None]:
    token = _runtime.set(runtime)
    try:
        with node_position(runtime.config):
            yield
    finally:
        _runtime.reset(token)


def _turns(messages: Sequence[AnyMessage]) -> int:
    return sum(isinstance(each, AIMessage) for each in messages)


def is_last_turn(state: AgentRunState, settings: AgentContext) -> bool:
    """Return whether the current or next turn is the last."""
    return _turns(state["messages"]) >= settings.max_turns


async def _next_turn(state: AgentRunState, runtime: Runtime[AgentContext]) -> tuple[AIMessage, Update]:
    """Ask what to do next; in the last turn, or with the last call of the budget, only `answer` is available."""
    number = _turns(state["messages"]) + 1
    is_last = number >= runtime.context.max_turns
    turn, spent = await _asked(state, runtime, ends=is_last)
    limit: StopReason | None = "budget" if turn.outcome == "budget" else "max_iterations" if is_last else None
    if turn.outcome == "budget" and not state["messages"]:
        limit = None  # the question itself is searched for, which needs no call
    elif turn.outcome == "budget" and not is_last:
        final, more = await _asked(state, runtime, ends=True)
        turn, spent = final, {**spent, **more}
    ending = [each for each in turn.record.calls if each.name == "answer"][:1]
    wanted = enumerate(ending or ([] if is_last or limit == "budget" else turn.record.calls), start=1)
    calls = [_as_tool_call(each.name, each.args, f"{number}.{place}") for place, each in wanted]
    update: Update = {"stop_reason": limit} if limit else {}
    return AIMessage(turn.record.text, tool_calls=calls), {"calls": spent, "iteration": number, **update}


async def _reviewed(state: AgentRunState, runtime: Runtime[AgentContext]) -> Update | None:
    """Replace the calls of the last turn with what a person approved; None without a review.

    The model is told about each rejected search; if all calls were rejected, it takes its next turn at once.
    """
    said = cast("AIMessage", state["messages"][-1])
    searches = [each for each in said.tool_calls if each["name"] == "search" and _query(each)]
    answers = [each for each in said.tool_calls if each["name"] == "answer"]
    if searches and runtime.context.review_queries:
        queries = [Query(text=_query(each), why="") for each in searches]
        told = {"question": state["question"], "queries": queries, "iteration": _turns(state["messages"])}
        update = await review_queries(told, runtime)
        approved: list[Query | None] = update.pop("approved")
        calls = [each for each in said.tool_calls if each not in searches]
        for place, query in enumerate(approved):
            old = searches[place] if place < len(searches) else None
            args = {**(old["args"] if old else {}), "query": query["text"]} if query else {}
            key = old["id"] if old else f"{said.tool_calls[-1]['id']}.{place}"
            calls += [_as_tool_call("search", args, key)] if query else []
        rejected = [each for each, query in zip(searches, approved, strict=False) if query is None]
        messages = [said.model_copy(update={"tool_calls": [*calls, *rejected]}), *map(_rejected, rejected)]
        return {**update, "messages": messages, **({} if calls else {"jump_to": "model"})}
    if answers and runtime.context.review_evidence:
        call = answers[0]
        cited = _cited(_known(state), call["args"].get("citations"))
        items = [Item(each["id"], each["text"], [each["title"]], editable=False) for each in cited]
        kept, update = approve_evidence(items, runtime, question=state["question"], hop=_turns(state["messages"]))
        changed = {"citations": [*kept], **({} if kept or not items else {"answer": UNANSWERABLE})}
        reviewed = _as_tool_call("answer", {**call["args"], **changed}, call["id"])
        return {**update, "messages": [said.model_copy(update={"tool_calls": [reviewed]})]}
    return None


def _query(call: Any) -> str:
    """Return what a call searches for; empty if its arguments do not say, which its tool will refuse."""
    query = call["args"].get("query")
    return query if isinstance(query, str) and query.strip() else ""


def _as_tool_call(name: str, args: dict[str, Any], key: str | None) -> Any:
    return {"name": name, "args": args, "id": key, "type": "tool_call"}


def _rejected(call: Any) -> ToolMessage:
    return ToolMessage("a reviewer rejected this search", tool_call_id=call["id"], name="search", status="error")


class _Turn(NamedTuple):
    """The model's next action."""

    record: ToolTurn
    outcome: str


async def _asked(state: AgentRunState, runtime: Runtime[AgentContext], *, ends: bool) -> tuple[_Turn, dict[str, Any]]:
    settings = runtime.context
    reserve = None if ends else 1
    handle = await get_model(settings, "agent/use_tools")
    nothing = ToolTurn.model_construct(text="", calls=[])
    searched = ToolTurn(calls=[ToolCall(name="search", args={"query": state["question"]})])
    fallback = nothing if ends or state["messages"] else searched
    if takes_tools(handle):
        tools = [TOOLS["answer"]] if ends else list(TOOLS.values())
        variables = {"question": state["question"], **answer_type_variable(settings)}
        wanted = ModelCall("use_tools", variables, ToolTurn, fallback, tools=tools, history=state["messages"])
        try:
            answered: CallResult[Any] = await ask(runtime, state, wanted, reserve_calls=reserve)
            return _Turn(answered.record, answered.outcome), calls_of([answered])
        except ToolsRefusedError:
            pass
    acted = await ask(runtime, state, _act(state, settings, ends=ends), reserve_calls=reserve)
    record = fallback if acted.outcome == "budget" else _as_turn(acted.record, state, ends=ends)
    return _Turn(record, acted.outcome), calls_of([acted])


def _act(state: AgentRunState, settings: AgentContext, *, ends: bool) -> ModelCall[Action]:
    """Ask a model that does not support tools for ReAct's actions."""
    hops, results = list[Hop](), {each.tool_call_id: each for each in _results(state)}
    for said in (each for each in state["messages"] if isinstance(each, AIMessage)):
        for call in (each for each in said.tool_calls if each["name"] == "search"):
            hop = open_hop(len(hops) + 1, str(call["args"].get("query", "")), thought=str(said.text))
            hops.append({**hop, "passage_ids": _found(results.get(call["id"] or ""))})
    passages = passages_by_id(state["passages"])
    excerpts = [whole_excerpt(passages[key], 0.0) for key in _order(state)]
    variables = {
        "passages": prompt_passages(excerpts, passages),
        "history": observed_lines(hops, excerpts),
        "question": state["question"],
        **answer_type_variable(settings),
    }
    fallback = f"finish[{UNANSWERABLE}]" if ends or state["messages"] else f"search[{state['question']}]"
    return ModelCall("act", variables, Action, Action(action=fallback))


def _order(state: AgentRunState) -> list[str]:
    """List the ids of the passages that tools returned, in order."""
    return list(dict.fromkeys(key for result in _results(state) for key in _found(result)))


def _results(state: AgentRunState) -> list[ToolMessage]:
    return [each for each in state["messages"] if isinstance(each, ToolMessage)]


def _found(result: ToolMessage | None) -> list[str]:
    """Return the ids of the passages in a tool's result; empty if there are none or no result."""
    return cast("list[str]", result.artifact) if result and isinstance(result.artifact, list) else []


def _as_turn(action: Action, state: AgentRunState, *, ends: bool) -> ToolTurn:
    """Convert an action to a tool call; if the run must end, another search finds nothing."""
    wish, order = action.deduction(), _order(state)
    if wish.final is None and not ends:
        return ToolTurn(text=wish.thought, calls=[ToolCall(name="search", args={"query": wish.question})])
    used = wish.final.used_passages if wish.final else []
    ids = [order[number - 1] for number in used if 1 <= number <= len(order)]
    said = wish.final.answer if wish.final else UNANSWERABLE
    args: dict[str, JsonValue] = {"answer": said, "citations": [*ids]}
    return ToolTurn(text=action.thought, calls=[ToolCall(name="answer", args=args)])


def _as_tool(function: Callable[..., Coroutine[Any, Any, Command[Any]]]) -> BaseTool:
    @wraps(function)
    def blocking(**args: Any) -> Command[Any]:
        return run_in_background(function(**args))

    return StructuredTool.from_function(blocking, function)


TOOLS: dict[str, BaseTool] = {each.__name__: _as_tool(each) for each in (search, read, answer)}
"""The tools available to the model, by name."""


def tool_agent() -> Runnable[Any, Any]:
    """Build LangChain's agent with these tools; only the middleware calls its model.

    The conversation stays inside: LangGraph would stream a returned one as the messages of the run.
    """
    made = create_agent(
        RuleBasedModel(),  # a placeholder for the configured model, which the middleware calls
        list(TOOLS.values()),
        middleware=[_Turns()],
        context_schema=AgentContext,
        name="Agent with tools",
    )
    return CompiledMethod.of(cast("Any", made)).pick([*state_keys(MethodState)])
