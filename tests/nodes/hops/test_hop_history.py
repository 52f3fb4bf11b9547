"""Hops as prompts show them, and how an answer rests on them."""

from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import (
    asks_whole_question,
    calls_after_hop,
    open_hop,
)
from hopgraph.state.genground import GengroundContext
from hopgraph.state.hops import Hop


def hop(number: int, question: str, **fields: Any) -> Hop:
    made: Any = {**open_hop(number, question), **fields}
    return made


@pytest.mark.parametrize(
    ("question", "settings", "calls"),
    [("Who?", {}, 1), ("where", {}, 0), ("Who?", {"deduction": False}, None)],
)
def test_calls_to_leave_over_after_a_hop(question: str, settings: dict[str, Any], calls: int | None) -> None:
    assert asks_whole_question(hop(1, question), "Where?") is (question == "where")
    assert calls_after_hop(hop(1, question), "Where?", GengroundContext(**settings)) == calls
