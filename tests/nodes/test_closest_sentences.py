"""The sentences of what was found that are closest to their query."""

from typing import Any

import pytest

from hopgraph.nodes.closest_sentences import closest_sentences
from hopgraph.state import Candidates
from hopgraph.state.revising import VerifyAndEditContext
from support.baselines_script import Rated
from support.node_inputs import node_runtime, passage

FOUND = [passage("a", "One is 1. Four is 4."), passage("b", "Three is 3. Two is 2."), passage("c", "")]


def by_number(text: str) -> float:
    return float(text.split()[-1].rstrip("."))


@pytest.mark.parametrize(
    ("most", "kept"),
    [
        (1, [("a", [[10, 20]])]),
        (3, [("a", [[10, 20]]), ("b", [[0, 11], [12, 21]])]),
        (9, [("a", [[0, 9], [10, 20]]), ("b", [[0, 11], [12, 21]])]),
    ],
)
async def test_passages_come_by_their_best_sentence_with_their_spans_in_order(most: int, kept: list[Any]) -> None:
    candidates = [
        Candidates(query="q", passage_ids=["b", "a", "c"], scores=[3.0, 2.0, 1.0]),
        Candidates(query="nothing", passage_ids=[], scores=[]),
    ]
    settings = VerifyAndEditContext(reranker=Rated(by_number), closest_sentences=most)
    update = await closest_sentences({"candidates": candidates, "passages": FOUND}, node_runtime(settings))
    first, second = update["knowledge"]
    assert [(each["passage_id"], each["spans"]) for each in first["excerpts"]] == kept
    assert (second["query"], second["excerpts"], update["calls"]) == ("nothing", [], {})
