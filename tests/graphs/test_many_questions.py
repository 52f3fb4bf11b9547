"""Every method on real training questions with the offline model: all finish, and again in the same way.

The papers' methods are asked 16, or as many as HOPGRAPH_QUESTIONS says, the others a fourth of them.

The second run asks a fourth of them in another order, eight at a time and in another process, where strings hash
differently.
`make slow` runs the papers' methods, `make long` the others; a clone without the training samples skips it and says so.
"""

import json
import multiprocessing
import os
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.state import StopReason
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.retrieval import build_index, open_index
from support.many_questions import ask_in

pytestmark = pytest.mark.slow

FILE = "hotpotqa/train_100.json"
QUESTIONS = int(os.environ.get("HOPGRAPH_QUESTIONS", "16"))
PAPERS = {"migres", "blendfilter", "genground", "ra_isf", "tree_of_reviews"}


@dataclass(frozen=True)
class Samples:
    """The questions as a caller gives them, and where their passages are."""

    inputs: list[dict[str, Any]]
    gold: list[list[dict[str, str]]]
    """For each question its gold passages."""
    retriever: str


@pytest.fixture(scope="module")
def samples(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    index = tmp_path_factory.mktemp("index") / "hotpotqa"
    build_index(shared_data / FILE, index)
    stored: Any = open_index(index).passages
    passages = {each.id: {"id": each.id, "title": each.title, "text": each.text} for each in stored}
    questions = list(read_questions(shared_data / FILE))
    return Samples(
        inputs=[{"question": each.question} for each in questions],
        gold=[[passages[key] for key in each.gold] for each in questions],
        retriever=f"bm25:{index}",
    )


@pytest.fixture(scope="module")
def another_process() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, marks=() if method in PAPERS else pytest.mark.long)
        for method in sorted(METHODS.keys() - ALIASES.keys())
    ],
)
def test_all_finish_and_again_in_the_same_way(
    method: str, samples: Samples, another_process: ProcessPoolExecutor
) -> None:
    given = samples.inputs
    if method == "gold_passages":
        given = [{**each, "gold_passages": gold} for each, gold in zip(samples.inputs, samples.gold, strict=True)]
    in_order = list(range(QUESTIONS if method in PAPERS else QUESTIONS // 4))
    shuffled = random.Random(11).sample(in_order, len(in_order) // 4)
    second = another_process.submit(ask_in, shuffled, 8, method, given, samples.retriever)
    first = ask_in(in_order, 1, method, given, samples.retriever)
    assert len(first) == len(in_order)
    for ran in first.values():
        assert_it_finished(json.loads(ran)["state"])
    for number, ran in second.result().items():
        assert ran == first[number], f"came out differently: {given[number]['question']}"


def assert_it_finished(state: dict[str, Any]) -> None:
    texts = {passage["id"]: passage["text"] for passage in state["passages"]}
    assert state["stop_reason"] in set(get_args(StopReason)) - {"budget"}
    assert state["stop_reason"] != "answered" or state["answer"]
    assert state["usage"]["llm_calls"] > 0
    assert state["usage"]["parse_failures"] == 0
    assert state["answer"] or not state["citations"]
    for citation in state["citations"]:
        if not citation["passage_id"].startswith("model:"):
            text = texts[citation["passage_id"]]
            assert text[citation["start"] : citation["end"]] == citation["quote"] != ""
