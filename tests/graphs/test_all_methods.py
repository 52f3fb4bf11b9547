"""What holds for every method: how it is called, embedded, resumed and drawn."""

import json
import operator
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from hopgraph.graphs import METHODS, Method
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.state import AnswerOutput, SettingsError
from support.every_method import NAMES, baselines_slow
from support.sample import read_sample_passages

QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
ANSWER = "Guadalajara"
GOLD = [
    {"title": each["title"], "text": each["text"]}
    for each in read_sample_passages()
    if each["id"] in {"pans-labyrinth", "guillermo-del-toro"}
]


class HostState(TypedDict):
    question: str
    answer: str
    notes: Annotated[list[str], operator.add]


@pytest.fixture(params=NAMES)
def method(request: pytest.FixtureRequest) -> Method:
    return METHODS[request.param]


RUNS = pytest.mark.parametrize("method", baselines_slow(), indirect=True)
"""What takes several runs of a method, and shows what the graphs of all of them share."""


@pytest.fixture(autouse=True)
def gold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the method that reads given passages two of the sample's."""
    monkeypatch.setenv("HOPGRAPH_GOLD_PASSAGES", json.dumps(GOLD))


@cache
def plain_answer(name: str) -> str:
    """What a method answers with the offline model when it is called plainly; empty where that finds nothing."""
    return METHODS[name].graph.invoke({"question": QUESTION})["answer"]


@pytest.fixture
def answer(method: Method) -> str:
    return plain_answer(method.Context.method)


def test_a_module_offers_graph_build_and_context(method: Method) -> None:
    assert isinstance(method.build(), MethodGraph)
    assert method.Context.method in METHODS
    assert method.graph.get_name()
    assert method.__doc__


def test_it_runs_without_any_setting(method: Method) -> None:
    result = method.graph.invoke({"question": QUESTION})
    assert result["stop_reason"]
    assert method is not METHODS["migres"] or result["answer"] == ANSWER
    assert set(AnswerOutput.__annotations__) <= set(result)


def test_the_input_form_asks_for_a_question_only(method: Method) -> None:
    schema = method.graph.get_input_jsonschema()
    more = ["gold_passages"] if method is METHODS["gold_passages"] else []
    assert list(schema["properties"]) == ["question", *more]
    assert schema["required"] == ["question"]


def test_every_channel_is_declared(method: Method) -> None:
    builder = method.build()
    declared = set(builder.state_schema.__annotations__)
    for base in _bases(builder.state_schema):
        declared |= set(getattr(base, "__annotations__", {}))
    assert set(builder.channels) == declared


def _bases(schema: Any) -> Iterator[Any]:
    for base in getattr(schema, "__orig_bases__", ()):
        yield base
        yield from _bases(base)


def test_every_setting_has_a_description_a_group_and_a_default(method: Method) -> None:
    for name, field in method.Context.model_fields.items():
        assert field.description, name
        assert isinstance(field.json_schema_extra, dict), name
        assert field.json_schema_extra["group"], name
        assert not field.is_required(), name
    assert "additionalProperties" in method.Context.model_json_schema()


def _in_a_host(graph: Any, host_context: Any) -> list[str]:
    builder: Any = StateGraph(HostState)
    builder.add_node("ours", graph)
    builder.add_node("after", lambda state: {"notes": [f"got {state['answer']}"]})
    builder.add_edge(START, "ours")
    builder.add_edge("ours", "after")
    builder.add_edge("after", END)
    return builder.compile().invoke({"question": QUESTION}, context=host_context)["notes"]


@RUNS
def test_it_is_a_subgraph_of_a_host(method: Method, answer: str) -> None:
    assert _in_a_host(method.graph, None) == [f"got {answer}"]


@pytest.mark.parametrize("host_context", [{"user": "ann"}, object(), {"hopgraph": {"max_llm_calls": 500}}])
@pytest.mark.parametrize("name", ["migres", "ra_isf", "blendfilter"])
def test_a_host_may_have_a_context_of_its_own(name: str, host_context: Any) -> None:
    assert _in_a_host(METHODS[name].graph, host_context) == [f"got {plain_answer(name)}"]


def test_a_host_that_mixes_its_settings_with_ours_is_told(method: Method) -> None:
    builder: Any = StateGraph(HostState)
    builder.add_node("ours", method.graph)
    builder.add_edge(START, "ours")
    with pytest.raises(SettingsError, match="'user' is unknown"):
        builder.compile().invoke({"question": QUESTION}, context={"user": "ann", "max_llm_calls": 9})


@RUNS
async def test_a_host_node_may_call_it_with_settings_of_its_own(method: Method, answer: str) -> None:
    async def ours(state: HostState) -> dict[str, Any]:
        result = await method.graph.ainvoke({"question": state["question"]}, context=method.Context(max_llm_calls=300))
        return {"answer": result["answer"]}

    builder: Any = StateGraph(HostState)
    builder.add_node("ours", ours)
    builder.add_edge(START, "ours")
    assert (await builder.compile().ainvoke({"question": QUESTION}))["answer"] == answer


@pytest.mark.slow
def test_batches_and_chains_do_not_cut_it_off(method: Method, answer: str) -> None:
    graph = method.graph
    questions = [{"question": QUESTION}] * 3
    assert [result["answer"] for result in graph.batch(questions)] == [answer] * 3
    chain: Any = RunnableLambda(lambda text: {"question": text}) | graph
    assert chain.invoke(QUESTION)["answer"] == answer
    with pytest.raises(GraphRecursionError, match="limit of 3"):
        graph.invoke({"question": QUESTION}, {"recursion_limit": 3})


@pytest.mark.slow
def test_a_thread_that_answered_before_begins_anew(method: Method, tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        graph = method.build().compile(checkpointer=saver)
        thread: Any = {"configurable": {"thread_id": "one"}}
        graph.invoke({"question": "Who wrote the opera Fidelio, and where was he baptised?"}, thread)
        again = graph.invoke({"question": QUESTION}, thread)
    assert again == method.graph.invoke({"question": QUESTION})


@RUNS
def test_a_run_goes_on_where_it_was_interrupted(method: Method, answer: str) -> None:
    graph = method.build().compile(checkpointer=InMemorySaver(), interrupt_after=["prepare"])
    thread: Any = {"configurable": {"thread_id": "one"}}
    graph.invoke({"question": QUESTION}, thread)
    for _ in range(20):
        if not graph.get_state(thread).next:
            break
        graph.invoke(None, thread)
    assert graph.get_state(thread).values["answer"] == answer


@RUNS
def test_a_run_is_not_resumed_under_other_settings(method: Method) -> None:
    graph = method.build().compile(checkpointer=InMemorySaver(), interrupt_after=["prepare"])
    thread: Any = {"configurable": {"thread_id": "one"}}
    graph.invoke({"question": QUESTION}, thread, context=method.Context(top_k=7))
    with pytest.raises(SettingsError, match="started with top_k = 7 and was resumed with 9"):
        graph.invoke(None, thread, context=method.Context(top_k=9))
    resumed = method.Context(top_k=7, max_llm_calls=400)
    graph.invoke(None, thread, context=resumed)  # limits may change


@RUNS
def test_unset_settings_come_from_the_environment(method: Method, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_RETRIEVER", "bm25:/nowhere")
    if "retriever" in method.Context().required_resources:
        with pytest.raises(Exception, match="/nowhere"):
            method.graph.invoke({"question": QUESTION})
    else:  # what is not needed is not opened
        assert method.graph.invoke({"question": QUESTION})["answer"] == answer
    assert method.graph.invoke({"question": QUESTION}, context=method.Context(retriever="sample"))["answer"] == answer
    monkeypatch.setenv("HOPGRAPH_MAX_LLM_CALLS", "many")
    with pytest.raises(SettingsError, match="HOPGRAPH_MAX_LLM_CALLS"):
        method.graph.invoke({"question": QUESTION}, context=method.Context(retriever="sample"))


class Noted:
    """A reranker and an entailment checker that notes whether it was asked."""

    name = "noted"
    threshold = 0.0

    def __init__(self) -> None:
        self.asked = False

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.asked = True
        return [1.0 for _ in pairs]


@RUNS
def test_what_a_run_uses_is_what_its_settings_say(method: Method) -> None:
    reranker, entailment = Noted(), Noted()
    settings = method.Context(reranker=reranker, entailment=entailment)
    usage = method.graph.invoke({"question": QUESTION}, context=settings)["usage"]
    used = {"retriever": usage["retrievals"] > 0, "reranker": reranker.asked, "entailment": entailment.asked}
    assert {name for name, was in used.items() if was} == settings.required_resources


@pytest.mark.parametrize(
    ("name", "switch"), [("ra_isf", {"passage_relevance": False}), ("migres", {"verify": False}), ("least_to_most", {})]
)
def test_a_switch_may_leave_something_unused(name: str, switch: dict[str, bool]) -> None:
    usual, settings = METHODS[name].Context(), METHODS[name].Context(**switch)
    assert settings.required_resources < usual.required_resources or (
        not switch and settings.required_resources < METHODS[name].Context(retrieval=True).required_resources
    )
    missing = (
        {"retriever": "bm25:/nowhere"}
        if "retriever" not in settings.required_resources
        else {"entailment": "none:such"}
    )
    assert METHODS[name].graph.invoke({"question": QUESTION}, context=METHODS[name].Context(**switch, **missing))
