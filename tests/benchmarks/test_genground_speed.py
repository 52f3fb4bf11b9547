"""How long GenGround takes compared with its longest chain of dependent calls."""

import json
import statistics
import time
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from pytest_benchmark.fixture import BenchmarkFixture

from hopgraph.graphs import genground
from support.servers.scripted_model import ScriptedChatModel
from support.walks import FixedRetriever

pytestmark = pytest.mark.benchmark

LATENCY = 0.3
"""Seconds of each model call."""
OVER_CRITICAL_PATH = 1.15
PASSAGES = {f"p{number}": (f"Thing {number}", f"Thing number {number} is a thing.") for number in range(10)}


def reply(role: str, messages: list[BaseMessage]) -> str:
    """Go two hops; in each, the third batch of four is cited."""
    prompt = messages[-1].text
    if role.endswith("deduce"):
        hops = prompt.count("<item")
        asked = {"sub_question": f"Thing {hops}?", "answer": "x", "final_answer": ""}
        return json.dumps(asked if hops < 2 else {"final_answer": "x"})
    cited = "Thing number 6" in prompt
    return json.dumps({"ref": "Thing number 6 is a thing." if cited else "Empty", "revise": "6" if cited else ""})


@pytest.mark.parametrize(("speculative", "path"), [(False, 9), (True, 5)], ids=["in order", "at once"])
def test_wall_time_over_critical_path(benchmark: BenchmarkFixture, speculative: bool, path: int) -> None:
    ratios: list[float] = []

    def run() -> None:
        model: Any = ScriptedChatModel(replies=reply, latency=LATENCY)
        context = genground.Context(
            model=model, retriever=FixedRetriever(found={"": PASSAGES}), speculative_batches=speculative
        )
        began = time.perf_counter()
        result = genground.graph.invoke({"question": "What is it?"}, context=context)
        ratios.append((time.perf_counter() - began) / (LATENCY * path))
        assert result["usage"]["llm_calls"] == (11 if speculative else 9)

    benchmark.pedantic(run, rounds=3, warmup_rounds=1)
    median = statistics.median(ratios)
    benchmark.extra_info["wall_over_critical_path"] = round(median, 3)
    assert median <= OVER_CRITICAL_PATH
