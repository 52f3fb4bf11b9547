"""Interfaces of rerankers and entailment checkers; every implementation serves both ways.

A node calls them once per step with all pairs of all queries, so that a neural model sees one large batch. `score` is
all that is needed; it runs in a worker thread, and several at the same time. What waits for a server or for a thread of
its own, or scores by a little Python code, also has `ascore`, and what asks a language model `score_with_calls`;
then nodes await that (`hopgraph.nodes.core.pair_scoring`).
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from hopgraph.state.records import Call


class _PairScorer(Protocol):
    @property
    def name(self) -> str:
        """The spec it came from, e.g. `lexical` or `bge:BAAI/bge-reranker-base`."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return one score per pair of texts, in order; an empty list for no pairs."""
        ...


@runtime_checkable
class Reranker(_PairScorer, Protocol):
    """Scores how relevant a text is to a query, from (query, text) pairs: on any scale, higher is more relevant."""

    @property
    def threshold(self) -> float | None:
        """Its calibrated relevance threshold δ (MIGRES, Table 11); None when it has none."""
        ...


class AdaptiveReranker(Protocol):
    """A reranker that lowers its δ for a query on which no text scores high."""

    def adapted_threshold(self, best: float) -> float:
        """Return δ for a query whose best passage scores `best`."""
        ...


@runtime_checkable
class EntailmentChecker(_PairScorer, Protocol):
    """Scores whether a premise entails a hypothesis, from such pairs: a probability in [0, 1]."""

    @property
    def threshold(self) -> float:
        """The probability from which a pair counts as entailed."""
        ...


class AsyncScorer(Protocol):
    """A reranker or an entailment checker that can be awaited, so that no thread waits for it."""

    async def ascore(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score pairs as `score` does."""
        ...


class CountedScorer(_PairScorer, Protocol):
    """A reranker or an entailment checker that asks a language model, and says what that cost."""

    async def score_with_calls(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[float], list[Call]]:
        """Score pairs as `score` does, and return the model calls too."""
        ...
