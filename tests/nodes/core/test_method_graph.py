"""A node of a method's graph is one run of LangChain."""

import asyncio
import traceback
from contextvars import ContextVar
from typing import Any, cast

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from typing_extensions import override

from hopgraph.graphs import genground, migres
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.state import AnswerOutput, HopgraphError, MethodState, QuestionInput, SettingsError, StepEvent
from support.chain_runs import Runs

QUESTION: QuestionInput = {"question": "In which city was the director of the film Pan's Labyrinth born?"}


async def test_a_node_is_one_run() -> None:
    streamed: list[StepEvent] = [event async for event in migres.graph.astream(QUESTION, stream_mode="custom")]
    steps = {(event["node"], event["step"]) for event in streamed}
    decided = sum(node == "decide" for node, _ in steps)
    awaited, called = Runs(), Runs()
    await migres.graph.ainvoke(QUESTION, {"callbacks": [awaited]})
    await asyncio.to_thread(migres.graph.invoke, QUESTION, {"callbacks": [called]})
    assert awaited.begun == called.begun
    assert awaited.begun["decide"] == decided > 0
    assert awaited.begun["prepare"] == awaited.begun["finish"] == 1


def test_a_router_reads_the_recorded_settings_after_an_edit_at_a_breakpoint() -> None:
    graph = genground.build().compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke(QUESTION, thread, context=genground.Context(deduction=False), interrupt_after=["prepare"])
    graph.update_state(thread, {"question": "Who wrote Frankenstein?"}, as_node="prepare")
    assert graph.get_state(thread).next == ("generate",)


async def test_settings_in_the_configurable_values_are_refused() -> None:
    config: Any = {"configurable": {"thread_id": "1", "max_iterations": 3, "model": "offline:extractive"}}
    said = r"'max_iterations' is a setting; pass it as context=MigresContext\(max_iterations=…\)"
    with pytest.raises(SettingsError, match=said):
        migres.graph.invoke({"question": "Who painted Guernica?"}, config)
    with pytest.raises(SettingsError, match=said):
        await migres.graph.ainvoke({"question": "Who painted Guernica?"}, config)
    copied: Any = {"max_iterations": 3, "model": "offline:extractive"}  # as a LangGraph server does
    assert migres.graph.invoke({"question": "Who painted Guernica?"}, config, context=copied)["answer"]
    host: Any = StateGraph(QuestionInput, output_schema=AnswerOutput)
    host.add_node("look_up", migres.graph).add_edge(START, "look_up")
    assert host.compile().invoke({"question": "Who painted Guernica?"}, {"configurable": {"model": "the host's"}})


async def test_an_error_is_short() -> None:
    for context in (migres.Context(retriever="bm25:nowhere"), {"max_iter": 3}):
        with pytest.raises(HopgraphError) as caught:
            migres.graph.invoke({"question": "Who?"}, context=cast("Any", context))
        with pytest.raises(HopgraphError) as awaited:
            await migres.graph.ainvoke({"question": "Who?"}, context=cast("Any", context))
        for error in (caught, awaited):
            lines = "".join(traceback.format_exception(error.value)).splitlines()
            assert sum(line.startswith("  File ") for line in lines) < 10, lines
            assert lines[-1] == f"{type(error.value).__module__}.{type(error.value).__name__}: {error.value}"


@pytest.mark.parametrize(("context", "named"), [(migres.Context, "the class MigresContext"), ("x", "str"), (5, "int")])
def test_a_context_of_another_kind_is_refused(context: Any, named: str) -> None:
    with pytest.raises(SettingsError, match=rf"^context must be a MigresContext, a dict or None, not {named}$"):
        migres.graph.invoke(QUESTION, context=context)


TENANT = ContextVar("TENANT", default="unset")


class Tenant(BaseRetriever):
    """Finds who asks, as the caller's context says."""

    @override
    def _get_relevant_documents(self, query: str, *, run_manager: Any, **_: Any) -> list[Document]:
        return [Document(f"{TENANT.get()} wrote Frankenstein.", metadata={"title": "Frankenstein"})]


class SyncSaver(InMemorySaver):
    """A checkpointer without a coroutine, as LangGraph's `SqliteSaver`."""

    aget_tuple: Any = BaseCheckpointSaver.aget_tuple  # raises NotImplementedError


def ask_as(tenant: str, graph: Any, config: Any = None) -> Any:
    token = TENANT.set(tenant)
    try:
        return graph.invoke({"question": "Who wrote Frankenstein?"}, config, context={"retriever": Tenant()})
    finally:
        TENANT.reset(token)


def test_invoke_runs_in_the_context_of_its_caller_with_and_without_a_checkpointer() -> None:
    thread = {"configurable": {"thread_id": "1"}}
    for graph, config in ((migres.graph, None), (migres.build().compile(checkpointer=SyncSaver()), thread)):
        found = ask_as("Mary Shelley", graph, config)
        assert [each["text"] for each in found["passages"]] == ["Mary Shelley wrote Frankenstein."]


def test_invoke_in_a_function_of_another_graph() -> None:
    def look_up(state: AnswerOutput) -> Any:
        return {"answer": ask_as("Ann Radcliffe", migres.graph)["answer"]}

    host: Any = StateGraph(AnswerOutput).add_node(look_up).add_edge(START, "look_up").add_edge("look_up", END)
    for compiled in (host.compile(), host.compile(checkpointer=InMemorySaver())):
        assert compiled.invoke({"answer": ""}, {"configurable": {"thread_id": "1"}})["answer"] == "Ann Radcliffe"


async def test_a_stream_that_is_left_ends_its_run() -> None:
    steps = migres.graph.astream({"question": "Who painted Guernica?"}, stream_mode="updates")
    async for _ in steps:
        break
    await cast("Any", steps).aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_a_path_is_the_edges_from_each_node_to_the_next() -> None:
    by_path, by_edges = (MethodGraph(MethodState, migres.Context) for _ in range(2))
    by_path.chain(START, "a", "b", END)
    for edge in ((START, "a"), ("a", "b"), ("b", END)):
        by_edges.add_edge(*edge)
    assert by_path.edges == by_edges.edges


async def mistyped(state: Any, runtime: Any) -> dict[str, str]:
    return {"anwser": state["question"]}


async def unannotated(state: Any, runtime: Any) -> dict[str, str]:
    return {"answer": state["question"].upper()}


unannotated.__annotations__.clear()


async def mistyped_command(state: Any, runtime: Any) -> Any:
    return [Command(update={"answer": "Yes."}), Command(update={"anwser": "Yes."})]


@pytest.mark.parametrize("node", [mistyped, mistyped_command, unannotated])
async def test_a_node_of_others(node: Any) -> None:
    """Its keys must be the state's, and it gets all of the state where it names no type."""
    builder = MethodGraph(MethodState, migres.Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("mine", node)
    builder.add_edge(START, "mine")
    graph = builder.add_edge("mine", END).compile()
    if node is unannotated:
        assert (await graph.ainvoke({"question": "who?"}))["answer"] == "WHO?"
        return
    with pytest.raises(InvalidUpdateError, match=r"^node mine: the graph's state has no 'anwser'"):
        await graph.ainvoke({"question": "who?"})
