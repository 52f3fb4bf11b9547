"""Rerankers and entailment checkers as one function over pairs of texts."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hopgraph.state import Call
from hopgraph.tools.io.background import run_in_background

ThresholdT = TypeVar("ThresholdT", bound=float | None)
Pair = tuple[str, str]
"""A query and a text, or a premise and a hypothesis."""


@dataclass(frozen=True)
class PairScorer(Generic[ThresholdT]):
    """Scores pairs with a local model or a server; a reranker's threshold is None, a checker's a probability."""

    name: str
    threshold: ThresholdT
    score_batch: Callable[[Sequence[Pair]], Awaitable[list[float]]]
    """Returns one score per pair, in order."""

    async def ascore(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs without blocking the event loop or a thread of its pool; see `score`."""
        return await self.score_batch(pairs) if pairs else []

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs; from a thread that is not the background loop's.

        Returns:
            One score per pair, in order; an empty list for no pairs.

        Raises:
            ModelError: the server or the model failed.
        """
        return run_in_background(self.ascore(pairs)) if pairs else []


@dataclass(frozen=True)
class JudgeScorer(Generic[ThresholdT]):
    """Scores pairs with a language model, and returns its calls too."""

    name: str
    threshold: ThresholdT
    judge_pairs: Callable[[Sequence[Pair]], Awaitable[tuple[list[float], list[Call]]]]

    async def score_with_calls(self, pairs: Sequence[Pair]) -> tuple[list[float], list[Call]]:
        """Score pairs, and return the model calls; see `score`."""
        return await self.judge_pairs(pairs)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs; from a thread that is not the background loop's.

        Returns:
            One score per pair, in order; 0.0 where no reply could be used.

        Raises:
            ModelError: a request failed for good.
        """
        return run_in_background(self.score_with_calls(pairs))[0]
