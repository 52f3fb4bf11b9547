"""Run methods as stages that reuse earlier findings: in turn until an answer is accepted, or a single one."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Protocol, cast

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langgraph.runtime import Runtime
from pydantic import BeforeValidator, Field, InstanceOf, SkipValidation

from hopgraph.nodes.core.ask import ModelCall, ask, calls_of
from hopgraph.nodes.core.budget import is_exhausted, limits_left
from hopgraph.nodes.core.carried import Carried, carrying
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.evidence_review import REVIEWER_SOURCE
from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.human_review import step_start_time
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.reply_text import MODEL_SOURCE, ReplyModel, read_name
from hopgraph.nodes.core.search import to_passages
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.prepare import check_settings
from hopgraph.nodes.self_knowledge import JudgedTrue
from hopgraph.state import (
    BudgetState,
    Call,
    Citation,
    Context,
    Evidence,
    Passage,
    SettingsError,
    Update,
    Usage,
    empty_call,
)
from hopgraph.state.cascade import (
    AdaptiveRagContext,
    CascadeContext,
    CascadeState,
    Search,
    StagesContext,
    StagesState,
    read_stage,
)
from hopgraph.state.context import OWNER_SETTINGS_OF_METHODS, PROMPT, explicit_settings, make_settings
from hopgraph.state.environment import with_environment
from hopgraph.state.events import Routed, StageEnded
from hopgraph.tools.resources import get_entailment_checker, get_retriever
from hopgraph.tools.retrieval.async_retriever import AsyncRetriever
from hopgraph.tools.retrieval.joined_retriever import fetch_documents
from hopgraph.tools.retrieval.passage_metadata import INDEX

_FROM_STAGE = 1000
"""Prefix of a stage's evidence ids, followed by its number, so that they never clash with a method's own."""


class StageMethod(Protocol):
    """The parts of a method that a stage uses."""

    @property
    def graph(self) -> CompiledMethod:
        """The compiled graph."""
        ...

    @property
    def takes_gold_passages(self) -> bool:
        """Return whether the caller must supply the passages."""
        ...


class Stage(NamedTuple):
    """A stage: its method and settings."""

    name: str
    graph: CompiledMethod
    settings: Context


class SupportVerdict(ReplyModel):
    """A reply of the role `judge_support`."""

    supported: JudgedTrue


class ComplexityReply(ReplyModel):
    """A reply of the role `judge_complexity`."""

    searches: Annotated[Literal["none", "one", "several"], BeforeValidator(read_name)]


_CAREFUL = ComplexityReply(searches="several")
_STAGE_FOR = {
    "none": (0, "it needs no search"),
    "one": (1, "one search can answer it"),
    "several": (2, "it needs several searches"),
}
"""Searches that a question needs → the index of its stage, and the reason for choosing it."""


def make_classify_node(methods: Mapping[str, StageMethod]) -> Node:
    """Return the node that asks how many searches the question needs, and so which stage runs (Adaptive-RAG).

    Without a usable reply, or a call to spare for it, assume several: a method that can do more than needed beats one
    that cannot. Writes `stage`, the index of that stage.
    """

    async def classify(state: StagesState, runtime: Runtime[AdaptiveRagContext]) -> Update:
        settings = runtime.context
        await _check_stages(settings, methods)
        wanted = ModelCall("judge_complexity", {"question": state["question"]}, ComplexityReply, _CAREFUL)
        answered = await ask(runtime, state, wanted, reserve_calls=1)
        stage, why = _STAGE_FOR[answered.record.searches]
        emit(runtime, Routed(kind="question", method=read_stage(settings.stages[stage])[0], why=why))
        return {"stage": stage, "iteration": 0, "calls": calls_of([answered])}

    return classify


class RememberingRetriever(AsyncRetriever):
    """Searches with another retriever, once per query; a result of fewer documents is the start of a longer one."""

    retriever: InstanceOf[Runnable[str, Any]]
    found: SkipValidation[dict[str, Search]] = Field(exclude=True)  # from the serialized form, as it grows
    """Results by query, extended by each search."""

    async def search(self, query: str, k: int) -> list[Document]:
        """Return the first k of earlier results; search only if those are fewer and there may be more."""
        known = self.found.get(query)
        if known is None or (known["wanted"] < k and len(known["passages"]) == known["wanted"]):
            documents = await fetch_documents(self.retriever, query, k)
            known = Search(wanted=k, passages=to_passages(documents, type(self.retriever).__name__, 1))
            self.found[query] = known
        return [_as_document(each) for each in known["passages"][:k]]


def _as_document(passage: Passage) -> Document:
    """Return the document that converts back to this passage."""
    carried, source = passage.get("metadata", {}), passage["source"]
    origin = {} if "source" in carried else {"source": source, INDEX: source}
    metadata = {**origin, **carried, "title": passage["title"], "score": passage["score"]}
    return Document(id=passage["id"], page_content=passage["text"], metadata=metadata)


def make_run_stage_node(methods: Mapping[str, StageMethod], *, alone: bool = False) -> Node:
    """Return the node that runs the next stage, one of these methods, unmodified.

    It gets the remaining limits and the findings of earlier stages: their evidence, and their search
    results. Writes its answer, and `stage`, `searched` and everything it found; a stage that runs `alone`
    remembers no search.
    """

    async def run_stage(state: StagesState, runtime: Runtime[StagesContext]) -> Update:
        """Run the next method with the remaining budget and the findings of earlier ones."""
        given, number = runtime.context.stages, state["stage"]
        if not number:
            await _check_stages(runtime.context, methods)
        stage, searched = make_stage(given[number], runtime.context, methods), dict(state["searched"])
        left = limits_left(runtime.context, state, step_start_time(runtime))
        limits = {name: getattr(left, name) for name in ("max_llm_calls", "max_tokens", "deadline_seconds")}
        settings = stage.settings.model_copy(update={**limits, **await _remembering(stage.settings, searched)})
        # Its own checkpoints, which need an async checkpointer, are only for a stage that a review may pause.
        pauses = settings.review_queries or settings.review_evidence
        graph = stage.graph if pauses else stage.graph.copy({"checkpointer": False})
        result = await _result_of(graph, state, settings, runtime)
        return {**_taken_over(state, result, stage), "searched": {} if alone else searched}

    return run_stage


async def _check_stages(settings: StagesContext, methods: Mapping[str, StageMethod]) -> None:
    """Check all stages before the first call costs anything."""
    for each in settings.stages:
        await check_settings(make_stage(each, settings, methods).settings)


def make_stage(given: str, settings: StagesContext, methods: Mapping[str, StageMethod]) -> Stage:
    """Return a stage's method with its settings: its own, else the cascade's; SettingsError if they do not fit.

    Its own settings are those specific to its method, `top_k` and `links`: models, retrievers, files and limits are
    the cascade's. A stage answers briefly: the cascade itself writes the sentence if one is requested.
    """
    name, own = read_stage(given)
    method = methods.get(name)
    cls = cast("type[Context]", method.graph.context_schema) if method else None
    if not (method and cls) or method.takes_gold_passages or issubclass(cls, StagesContext):
        raise SettingsError(f"stages: method {name!r:.80} cannot be a stage; use one of: {', '.join(methods)}")
    if refused := sorted(own.keys() & cls.model_fields.keys() - _settings_of_stages(cls)):
        raise SettingsError(f"stages: {given:.200}: {refused[0]!r} applies to all stages and cannot be set for one")
    shared = {key: value for key, value in explicit_settings(settings).items() if key in Context.model_fields}
    if settings.answer_type != "yes_no":
        shared["answer_type"] = "short"
    try:
        return Stage(name, method.graph, with_environment(make_settings(cls, {**shared, **own})))
    except SettingsError as error:
        raise SettingsError(f"stages: {given:.200}: {error}") from None


def _settings_of_stages(cls: type[Context]) -> set[str]:
    own = cls.model_fields.keys() - Context.model_fields.keys() - OWNER_SETTINGS_OF_METHODS
    return {*(name for name in own if not name.startswith(PROMPT)), "top_k", "links"}


async def _remembering(settings: Context, searched: dict[str, dict[str, Search]]) -> dict[str, RememberingRetriever]:
    """Return the retrievers of a stage, which record their results in `searched`."""
    if "retriever" not in settings.required_resources:
        return {}
    given = {"retriever": settings.retriever, "second_retriever": settings.second_retriever}
    made: dict[str, RememberingRetriever] = {}
    for name, each in given.items():
        if each is not None or name == "retriever":
            kind = name if settings.links else f"{name} without links"
            searched[kind] = dict(searched.get(kind, {}))
            retriever = await get_retriever(each, links=settings.links)
            made[name] = RememberingRetriever(retriever=retriever, found=searched[kind])
    return made


async def _result_of(
    graph: CompiledMethod, state: StagesState, settings: Context, runtime: Runtime[StagesContext]
) -> Mapping[str, Any]:
    """Run a stage, pass on its events, and return its final state."""
    stream = graph.astream(
        {"question": state["question"]},
        carrying(_carried(state)),
        context=settings,
        stream_mode=["custom", "values"],
        subgraphs=True,
    )
    last, depth = dict[str, Any](), None
    async for namespace, mode, chunk in cast("Any", stream):
        if mode == "custom":
            runtime.stream_writer(chunk)
        elif depth is None or len(namespace) <= depth:  # not of its subgraphs
            last, depth = chunk, len(namespace)
    return last


def _carried(state: StagesState) -> Carried:
    """Return the evidence to pass on, its passages, and the queries that found some of it."""
    cited = {key for each in state["evidence"] for key in each["passage_ids"]}
    searches = [search for searched in state["searched"].values() for search in searched.items()]
    settled = [query for query, found in searches if any(each["id"] in cited for each in found["passages"])]
    passages = [each for each in state["passages"] if each["id"] in cited]
    return Carried(state["evidence"], passages, [query for query in settled if query != state["question"]])


def _taken_over(state: StagesState, result: Mapping[str, Any], stage: Stage) -> Update:
    """Return a stage's result as the cascade's: its evidence and its citations, under their own ids."""
    number, passages = state["stage"] + 1, passages_by_id(result["passages"])
    before = {each["id"] for each in state["evidence"]}
    found = [each for each in result.get("evidence", []) if each["id"] not in before]
    kept = [each for each in found if {*each["passage_ids"]} <= passages.keys()]  # own knowledge is not a passage
    resting = [_resting_on(each, f"{_FROM_STAGE + number}.0.{place}") for place, each in enumerate(result["citations"])]
    spoken = [_own_words(each) for each in result["citations"] if each["passage_id"] not in passages]
    return {
        **{key: result[key] for key in ("answer", "explanation", "stop_reason", "citations")},
        "passages": [*result["passages"], *spoken],
        "evidence": [*({**each, "id": f"{_FROM_STAGE + number}.{each['id']}"} for each in kept), *resting],
        "used": [each["id"] for each in resting],
        "calls": result.get("calls") or {f"{_FROM_STAGE + number}": _as_call(stage.name, result["usage"])},
        "iteration": result["usage"]["iterations"] + (state["iteration"] if number > 1 else 0),
        "stage": number,
    }


def _resting_on(citation: Citation, key: str) -> Evidence:
    said = citation["quote"]
    return Evidence(id=key, statement=said, passage_ids=[citation["passage_id"]], quote=said, verified=False)


def _own_words(citation: Citation) -> Passage:
    """Return a passage of the model's or a reviewer's own words, for citations of them."""
    source = REVIEWER_SOURCE if citation["kind"] == "reviewer" else MODEL_SOURCE
    return Passage(
        id=citation["passage_id"], title=citation["title"], text=citation["quote"], score=0.0, source=source, hop=1
    )


def _as_call(method: str, usage: Usage) -> Call:
    """Sum up the usage of an external graph, which does not report single calls, as one call."""
    spent = {"attempts": usage["llm_calls"], **{key: usage[key] for key in ("prompt_tokens", "completion_tokens")}}
    return cast("Call", {**empty_call("model", method), **spent})


async def accept_stage(state: CascadeState, runtime: Runtime[CascadeContext]) -> Update:
    """Accept an answer that cites passages and passes the check that the setting `verify` names.

    The last stage's answer is always accepted. Writes `accepted`, and why the next stage runs. At the end it
    clears `searched`.
    """
    settings = runtime.context
    name, _ = read_stage(settings.stages[state["stage"] - 1])
    is_last = state["stage"] == len(settings.stages)
    problem, calls = "", dict[str, Call]()
    if not is_last:
        problem, calls = await _problem_with(state, runtime)
    spent = BudgetState(calls={**state["calls"], **calls}, started_at=state["started_at"])
    stops = bool(problem) and is_exhausted(settings, spent, 1)
    said: dict[str, Any] = {"number": state["stage"], "method": name, "answer": state["answer"], "why": problem}
    ended = StageEnded(**said, accepted=not problem, last=is_last or stops)
    emit(runtime, ended)
    limit: Update = {"stop_reason": "budget"} if stops else {} if not problem else {"stop_reason": None}
    ends: Update = {"searched": {}} if not problem or stops else {}  # so that the final state holds each text once
    return {"accepted": not problem or stops, "calls": calls, **limit, **ends}


async def _problem_with(state: CascadeState, runtime: Runtime[CascadeContext]) -> tuple[str, Mapping[str, Call]]:
    """Return why the answer of a stage is not accepted; empty if it is."""
    cited = [each["passage_id"] for each in state["citations"] if each["kind"] == "passage"]
    if not state["answer"]:
        return "it found no answer", {}
    if not cited:
        return "its answer cites no passage", {}
    passages = passages_by_id(state["passages"])
    if runtime.context.verify == "entailment":
        premise = "\n\n".join(with_title(passages[key]) for key in cited)
        checker = await get_entailment_checker(runtime.context)
        [score], calls = await score_pairs(runtime, checker, [(premise, f"{state['question']} {state['answer']}")])
        return "" if score >= checker.threshold else "the passages do not entail its answer", calls
    if runtime.context.verify == "model":
        shown = [{"title": passages[key]["title"], "text": passages[key]["text"]} for key in cited]
        variables = {"passages": shown, "question": state["question"], "short_answer": state["answer"]}
        answered = await ask(
            runtime, state, ModelCall("judge_support", variables, SupportVerdict, SupportVerdict(supported=False))
        )
        said = "the budget is used up" if answered.outcome == "budget" else "the model does not consider it supported"
        return "" if answered.record.supported else said, calls_of([answered])
    return "", {}


def route_stage(state: CascadeState) -> Literal["accepted", "next stage"]:
    """Route to the end once an answer is accepted, else to the next stage."""
    return "accepted" if state["accepted"] else "next stage"
