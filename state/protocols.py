"""Interfaces of rerankers and entailment checkers, which share one way of scoring pairs.

A node calls them once per step with all pairs of all queries, so that a neural model sees one large batch. Only `score`
is required; it runs in a worker thread, and may run concurrently. A scorer that waits for a server or for its own
thread, or runs a little Python code, also has `ascore`, and one that calls a language model `score_with_calls`;
nodes then await that method (`hopgraph.nodes.core.pair_scoring`).
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from hopgraph.state.records import Call


class _PairScorer(Protocol):
    @property
    def name(self) -> str:
        """The spec it was made from, e.g. `lexical` or `bge:BAAI/bge-reranker-base`."""
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
    """A reranker that lowers its δ for a query for which no text scores high."""

    def adapted_threshold(self, best: float) -> float:
        """Return δ for a query whose best passage scores `best`."""
        ...


@runtime_checkable
class EntailmentChecker(_PairScorer, Protocol):
    """Scores whether a premise entails a hypothesis, from (premise, hypothesis) pairs: a probability in [0, 1]."""

    @property
    def threshold(self) -> float:
        """The minimum probability at which a pair counts as entailed."""
        ...


class AsyncScorer(Protocol):
    """A reranker or an entailment checker that can be awaited, without blocking a thread."""

    async def ascore(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score pairs as `score` does."""
        ...


class CountedScorer(_PairScorer, Protocol):
    """A reranker or an entailment checker that calls a language model and reports the cost."""

    async def score_with_calls(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[float], list[Call]]:
        """Score pairs as `score` does, and return the model calls too."""
        ...
