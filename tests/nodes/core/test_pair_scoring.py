"""Pairs scored by what is at hand: a function, a coroutine, or a counted model."""

from collections.abc import Sequence

from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.state import Context
from support.node_inputs import node_runtime


class Lengths:
    name = "lengths"
    threshold = 0.0
    given: Sequence[float] | None = None

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(len(text)) for _, text in pairs] if self.given is None else list(self.given)


class Awaited(Lengths):
    async def ascore(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [-score for score in self.score(pairs)]


PAIRS = [("q", "a"), ("q", "abc")]


async def test_a_scorer_is_awaited_where_it_can_be() -> None:
    runtime = node_runtime(Context())
    assert await score_pairs(runtime, Lengths(), PAIRS) == ([1.0, 3.0], {})
    assert await score_pairs(runtime, Awaited(), PAIRS) == ([-1.0, -3.0], {})
    assert await score_pairs(runtime, Lengths(), []) == ([], {})
