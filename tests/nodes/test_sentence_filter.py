"""The relevance threshold of the sentence filter."""

from collections.abc import Sequence
from typing import Any

import pytest

from hopgraph.nodes.sentence_filter import relevance_threshold
from hopgraph.state.migres import MigresContext
from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, LexicalReranker().threshold),
        ({"threshold": 0.25}, 0.25),
        ({"threshold": 3.0, "threshold_for": "bge"}, LexicalReranker().threshold),
        ({"threshold": 3.0, "threshold_for": "lexical"}, 3.0),
    ],
)
def test_a_threshold_counts_for_the_reranker_it_was_found_for(settings: dict[str, Any], expected: float) -> None:
    assert relevance_threshold(MigresContext(**settings), LexicalReranker()) == expected


def test_no_threshold_anywhere_keeps_everything() -> None:
    class Uncalibrated:
        name, threshold = "new", None

        def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return [0.0] * len(pairs)

    assert relevance_threshold(MigresContext(), Uncalibrated()) == float("-inf")
