"""Rerankers and entailment checkers as functions over pairs of texts, and what they share."""

import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hopgraph.state import Call, ModelError
from hopgraph.tools.io.background import LONG_SPLIT, maybe_to_thread, run_in_background

ThresholdT = TypeVar("ThresholdT", bound=float | None)
Pair = tuple[str, str]
"""A query and a text, or a premise and a hypothesis."""
QueryGroup = tuple[str, list[str]]
"""A query and some of its texts."""
_ENTAILS = frozenset({"entailment", "entails", "entailed", "entail", "supported", "supports", "support", "consistent"})
"""Names of the entailment label in models, in lower case: MNLI, ANLI, FEVER, summary checkers."""


@dataclass(frozen=True)
class PairScorer(Generic[ThresholdT]):
    """Scores pairs with a local model or a server. A checker's threshold is a probability, a reranker's mostly None."""

    name: str
    threshold: ThresholdT
    score_batch: Callable[[Sequence[Pair]], Awaitable[list[float]]]
    """Returns one score per pair, in order."""

    async def ascore(self, pairs: Sequence[Pair]) -> list[float]:
        """Return one score per pair, in order, without blocking the event loop or a thread of its pool."""
        return await self.score_batch(pairs) if pairs else []

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs as `ascore` does, from any thread but the background loop's; ModelError if that fails."""
        return run_in_background(self.ascore(pairs)) if pairs else []


@dataclass(frozen=True)
class JudgeScorer(Generic[ThresholdT]):
    """Scores pairs with a language model, and also returns its calls."""

    name: str
    threshold: ThresholdT
    score_with_calls: Callable[[Sequence[Pair]], Coroutine[Any, Any, tuple[list[float], list[Call]]]]
    """Returns one score per pair, in order, 0.0 if no reply could be used, and the calls."""

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return only the scores, from any thread but the background loop's; ModelError if a request fails."""
        return run_in_background(self.score_with_calls(pairs))[0]


async def score_by_code(score: Callable[[Sequence[Pair]], list[float]], pairs: Sequence[Pair]) -> list[float]:
    """Score pairs with plain Python code, in a thread if long texts would block the event loop."""
    return await maybe_to_thread(sum(len(first) + len(second) for first, second in pairs) > LONG_SPLIT, score, pairs)


def check_scores(scorer: str, scores: Iterable[Any], pairs: int) -> list[float]:
    """Return a scorer's output as floats; ModelError unless it is one finite number for each pair."""
    try:
        numbers = [float(each) for each in scores]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if len(numbers) != pairs or not all(map(math.isfinite, numbers)):
        raise ModelError(f"{scorer}: expected a finite number for each of {pairs} pairs, got {scores!r:.80}")
    return numbers


def group_by_query(pairs: Sequence[Pair], size: int) -> list[QueryGroup]:
    """Group the distinct texts of each query, at most `size` to a group, in the order of the pairs."""
    texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for query, text in pairs:
        texts[query][text] = None
    distinct = ((query, list(each)) for query, each in texts.items())
    return [(query, each[first : first + size]) for query, each in distinct for first in range(0, len(each), size)]


def scores_of_pairs(
    pairs: Sequence[Pair], groups: Sequence[QueryGroup], scores: Iterable[Sequence[float]]
) -> list[float]:
    """Return each pair's score; `scores` has a list for each group, with a score for each of its texts."""
    known = {
        (query, text): score
        for (query, texts), values in zip(groups, scores, strict=True)
        for text, score in zip(texts, values, strict=True)
    }
    return [known[pair] for pair in pairs]


def entailing_label(labels: Sequence[str], wanted: str | None = None) -> int:
    """Return the index of the label for entailment: the `wanted` one, else the one whose name says so.

    ValueError, which lists the labels, unless exactly one fits.
    """
    names = [label.strip().casefold().replace("-", "_") for label in labels]
    positive = {wanted.strip().casefold().replace("-", "_")} if wanted else _ENTAILS
    found = [index for index, name in enumerate(names) if name in positive]
    if len(found) != 1:
        raise ValueError(f"{'no' if not found else 'more than one'} label means entailment: {', '.join(labels)}")
    return found[0]
