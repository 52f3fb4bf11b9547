"""Scoring pairs by Python code, on the event loop or in a thread."""

import threading
from collections.abc import Sequence

import pytest

from hopgraph.tools.io.background import LONG_SPLIT
from hopgraph.tools.scoring.entailment.lexical import LexicalEntailment
from hopgraph.tools.scoring.pair_scorers import score_by_code
from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker

PAIRS = [
    ("Who directed Night Harbour?", "Night Harbour\nNight Harbour is a film by Ada Brink."),
    ("Who directed Night Harbour?", "Ada Brink\nShe was born in Tallinn."),
    ("Night Harbour\nNight Harbour is a film by Ada Brink.", "Ada Brink made Night Harbour."),
]


@pytest.mark.parametrize("scorer", [LexicalReranker(), LexicalEntailment()], ids=lambda scorer: type(scorer).__name__)
async def test_off_the_loop_the_scores_are_those_of_one_batch(scorer: LexicalReranker | LexicalEntailment) -> None:
    pairs = [*PAIRS, ("Night", "Night\n" + "Night falls. " * (LONG_SPLIT // 12))]
    assert await scorer.ascore(PAIRS) == scorer.score(PAIRS)
    assert await scorer.ascore(pairs) == scorer.score(pairs)
    assert await scorer.ascore([]) == []


@pytest.mark.parametrize(
    ("first", "second", "on_the_loop"),
    [(1, 10, True), (1, LONG_SPLIT + 1, False), (LONG_SPLIT // 2 + 1, LONG_SPLIT // 2, False)],
)
async def test_long_texts_are_scored_in_a_thread(first: int, second: int, on_the_loop: bool) -> None:
    threads: list[threading.Thread] = []

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        threads.append(threading.current_thread())
        return [1.0] * len(pairs)

    assert await score_by_code(score, [("a" * first, "b" * second)]) == [1.0]
    assert (threads == [threading.current_thread()]) == on_the_loop
