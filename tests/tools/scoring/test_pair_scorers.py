"""Scoring pairs by Python code on the event loop."""

import asyncio
import sys
import threading
import time
from collections.abc import Sequence

import pytest

from hopgraph.tools.io.background import LONG_SPLIT
from hopgraph.tools.scoring.entailment.lexical import LexicalEntailment
from hopgraph.tools.scoring.pair_scorers import score_in_turns
from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker

PAIRS = [
    ("Who directed Night Harbour?", "Night Harbour\nNight Harbour is a film by Ada Brink."),
    ("Who directed Night Harbour?", "Ada Brink\nShe was born in Tallinn."),
    ("Night Harbour\nNight Harbour is a film by Ada Brink.", "Ada Brink made Night Harbour."),
]


@pytest.mark.parametrize("scorer", [LexicalReranker(), LexicalEntailment()], ids=lambda scorer: type(scorer).__name__)
async def test_in_turns_the_scores_are_those_of_one_batch(scorer: LexicalReranker | LexicalEntailment) -> None:
    pairs = [*PAIRS, ("Night", "Night\n" + "Night falls. " * (LONG_SPLIT // 12))]
    assert await scorer.ascore(PAIRS) == scorer.score(PAIRS)
    assert await scorer.ascore(pairs) == scorer.score(pairs)
    assert await scorer.ascore([]) == []


async def test_others_get_their_turn_between_slow_pairs() -> None:
    turns: list[int] = []

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        time.sleep(2 * sys.getswitchinterval())
        return [0.0] * len(pairs)

    async def count() -> None:
        while True:
            turns.append(len(turns))
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await score_in_turns(score, [("a", "b" * 16_000)] * 10)
    counting.cancel()
    assert len(turns) >= 10


@pytest.mark.parametrize(
    ("first", "second", "on_the_loop"),
    [(1, 10, True), (1, LONG_SPLIT + 1, False), (LONG_SPLIT // 2 + 1, LONG_SPLIT // 2, False)],
)
async def test_long_texts_are_scored_in_a_thread(first: int, second: int, on_the_loop: bool) -> None:
    threads: list[threading.Thread] = []

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        threads.append(threading.current_thread())
        return [1.0] * len(pairs)

    assert await score_in_turns(score, [("a" * first, "b" * second)]) == [1.0]
    assert (threads == [threading.current_thread()]) == on_the_loop
