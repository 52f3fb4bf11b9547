"""The relevance threshold of the sentence filter, and what it shows of a passage."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hopgraph.nodes.sentence_filter import relevance_threshold, sentence_filter
from hopgraph.state import Candidates
from hopgraph.state.migres import MigresContext
from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker
from support.node_inputs import node_runtime, passage


class Scored:
    """A reranker that scores a text by its last word; without a threshold of its own."""

    threshold = None

    def __init__(self, name: str, scores: Mapping[str, float]) -> None:
        self.name, self.scores = name, scores

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [self.scores.get(text.rstrip(".").split()[-1], 0.0) for _, text in pairs]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, LexicalReranker().threshold),
        ({"threshold": 0.25}, 0.25),
        ({"threshold": 3.0, "threshold_reranker": "bge"}, LexicalReranker().threshold),
        ({"threshold": 3.0, "threshold_reranker": "lexical"}, 3.0),
    ],
)
def test_a_threshold_counts_for_the_reranker_it_was_found_for(settings: dict[str, Any], expected: float) -> None:
    assert relevance_threshold(MigresContext(**settings), LexicalReranker(), best=3.0) == expected


@pytest.mark.parametrize(("best", "expected"), [(3.0, 0.5), (0.6, 0.36), (0.1, 0.06), (0.0, 0.5)])
def test_the_lexical_threshold_falls_where_no_text_stands_out(best: float, expected: float) -> None:
    assert relevance_threshold(MigresContext(), LexicalReranker(), best) == pytest.approx(expected)
    assert relevance_threshold(MigresContext(threshold=1.0), LexicalReranker(), best) == 1.0


def test_a_reranker_without_a_threshold_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for best in (1.0, 2.0):
            assert relevance_threshold(MigresContext(), Scored("http://host/rerank?a=1", {}), best) == float("-inf")
    assert [record.getMessage() for record in caplog.records] == [
        "the reranker http://host/rerank?a=1 has no calibrated threshold, so every passage counts as relevant: set "
        "`threshold`; for a reranker that is named by a spec, `hopgraph calibrate QUESTIONS --corpus DIR --reranker "
        "'http://host/rerank?a=1'` finds one"
    ]


async def test_passages_pass_where_scores_are_flat() -> None:
    """None reaches 0.5; without the lower threshold the model would be left to its memory."""
    query = "Which company made the turbines of the old plant that the valley took its name from?"
    texts = {"a": "The turbines were old.", "b": "A valley with a plant.", "c": "Nothing of it."}
    state: Any = {
        "candidates": [Candidates(query=query, passage_ids=[*texts], scores=[3.0, 2.0, 1.0])],
        "passages": [passage(key, text, title="") for key, text in texts.items()],
    }
    assert max(LexicalReranker().score([(query, text) for text in texts.values()])) < LexicalReranker.threshold
    update = await sentence_filter(state, node_runtime(MigresContext()))
    assert [each["passage_id"] for each in update["knowledge"][0]["excerpts"]] == ["b", "a"]


TEXT = "The one. The two. The three."


@pytest.mark.parametrize(
    ("shown", "spans"),
    [
        ([], [[9, 17], [18, 28]]),
        ([[9, 17]], [[9, 17], [18, 28]]),
        ([[9, 17], [0, 28]], [[18, 28]]),
        ([[9, 17], [9, 17]], [[18, 28]]),
        ([[0, 28], [0, 28]], None),
    ],
)
async def test_only_sentences_that_two_queries_showed_are_left_out(shown: list[Any], spans: Any) -> None:
    state: Any = {
        "candidates": [Candidates(query="q", passage_ids=["a"], scores=[1.0])],
        "passages": [passage("a", TEXT)],
        "shown": {"a": shown},
    }
    settings = MigresContext(reranker=Scored("s", {"one": -1.0, "two": 5.0, "three": 4.0}), threshold=0.0)
    update = await sentence_filter(state, node_runtime(settings))
    kept = update["knowledge"][0]["excerpts"]
    assert [each["spans"] for each in kept] == ([spans] if spans else [])


async def test_what_is_left_of_a_passage_never_counts_as_the_whole() -> None:
    class Longest:
        name, threshold = "longest", 0.0

        def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return [float(len(text)) for _, text in pairs]

    state: Any = {
        "candidates": [Candidates(query="q", passage_ids=["a"], scores=[1.0])],
        "passages": [passage("a", TEXT)],
        "shown": {"a": [[0, 8], [0, 8]]},
    }
    update = await sentence_filter(state, node_runtime(MigresContext(reranker=Longest())))
    assert update["knowledge"][0]["excerpts"][0]["spans"] == [[9, 17], [18, 28]]
