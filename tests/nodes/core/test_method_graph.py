"""A node of a method's graph is one run of LangChain."""

import asyncio
from collections import Counter
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START
from typing_extensions import override

from hopgraph.graphs import genground, migres
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.state import MethodState, StepEvent

QUESTION = {"question": "In which city was the director of the film Pan's Labyrinth born?"}


class Runs(BaseCallbackHandler):
    """Counts the runs that callbacks are told of, by name."""

    def __init__(self) -> None:
        self.begun = Counter[str]()

    @override
    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.begun[kwargs["name"]] += 1


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


def test_a_path_is_the_edges_from_each_node_to_the_next() -> None:
    by_path, by_edges = (MethodGraph(MethodState, migres.Context) for _ in range(2))
    by_path.add_path(START, "a", "b", END)
    for edge in ((START, "a"), ("a", "b"), ("b", END)):
        by_edges.add_edge(*edge)
    assert by_path.edges == by_edges.edges
