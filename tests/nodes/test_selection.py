"""Candidates sorted by the reranker."""

from collections.abc import Sequence
from typing import Any

import pytest

from hopgraph.nodes.selection import rerank
from hopgraph.state import Candidates, ModelError
from hopgraph.state.baselines import RerankedContext
from support.node_inputs import node_runtime, passage


class Longest:
    """Scores a text by its length."""

    name, threshold = "longest", None

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(len(text)) for _, text in pairs]


def reranking() -> Any:
    passages = [passage(key, text, title="") for key, text in {"a": "xx", "b": "xxxx", "c": "yy"}.items()]
    return {
        "passages": passages,
        "candidates": [
            Candidates(query="q1", passage_ids=["a", "b", "c"], scores=[3.0, 2.0, 1.0]),
            Candidates(query="q2", passage_ids=[], scores=[]),
        ],
    }


@pytest.mark.parametrize(
    "scores", [[float("nan")] * 3, [1.0, None, 2.0], ["a"] * 3, [1.0, float("inf"), 2.0], [1.0], [1.0] * 4, None]
)
async def test_a_score_that_is_no_number_is_one_clear_error(scores: Any) -> None:
    class Broken(Longest):
        def score(self, pairs: Sequence[tuple[str, str]]) -> Any:
            return scores

    with pytest.raises(ModelError, match=r"^longest: expected a finite number for each of 3 pairs, got .{4,80}$"):
        await rerank(reranking(), node_runtime(RerankedContext(reranker=Broken())))
