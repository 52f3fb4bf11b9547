"""The sentences that are nearest to a query."""

from collections.abc import Sequence
from typing import Any

from hopgraph.nodes.selection import nearest_sentences
from hopgraph.state import Candidates
from hopgraph.state.revising import VerifyAndEditContext
from support.node_inputs import node_runtime, passage


class Longest:
    """A reranker that scores a sentence by its length, and below any threshold."""

    name = "longest"
    threshold: float | None = 0.0

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [len(text) - 1000.0 for _, text in pairs]


async def test_the_best_of_all_passages_are_kept_whatever_they_score() -> None:
    passages = [passage("a", "Cats purr. Dogs bark at night. Yes."), passage("b", "Lima is the capital of Peru.")]
    candidates = [
        Candidates(query="q", passage_ids=["a", "b"], scores=[2.0, 1.0]),
        Candidates(query="r", passage_ids=[], scores=[]),
    ]
    events: list[Any] = []
    settings = VerifyAndEditContext(reranker=Longest(), nearest_sentences=3)
    state: Any = {"candidates": candidates, "passages": passages}
    update = await nearest_sentences(state, node_runtime(settings, events))
    assert [[(each["passage_id"], each["spans"]) for each in entry["excerpts"]] for entry in update["knowledge"]] == [
        [("b", [[0, 28]]), ("a", [[0, 10], [11, 30]])],
        [],
    ]
    assert [event["data"]["sentences_in"] for event in events] == [4, 0]
