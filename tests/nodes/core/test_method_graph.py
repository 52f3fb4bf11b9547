"""A node of a method's graph is one run of LangChain."""

import asyncio
from collections import Counter
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from typing_extensions import override

from hopgraph.graphs import migres
from hopgraph.state import StepEvent

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
