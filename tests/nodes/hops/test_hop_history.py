"""How many calls are left over when a hop is read."""

from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import asks_whole_question, calls_after_hop, open_hop
from hopgraph.state.baselines import SelfAskContext
from hopgraph.state.genground import GengroundContext


@pytest.mark.parametrize(
    ("question", "settings", "calls"),
    [("Who?", {}, 1), ("where", {}, 0), ("Who?", {"deduction": False}, None)],
)
def test_calls_to_leave_over_after_a_hop(question: str, settings: dict[str, Any], calls: int | None) -> None:
    hop = open_hop(1, question)
    assert asks_whole_question(hop, "Where?") is (question == "where")
    assert calls_after_hop(hop, "Where?", GengroundContext(**settings)) == calls
    assert calls_after_hop(hop, "Where?", SelfAskContext()) == (0 if question == "where" else 1)
