"""The rule that chooses a method for a turn."""

from typing import Any

import pytest

from hopgraph.nodes.chat.route import MULTI_HOP_CALLS, MULTI_HOP_TOKENS, method_for
from hopgraph.state import BudgetState
from hopgraph.state.chat import ChatContext
from support.node_inputs import model_call, spent


@pytest.mark.parametrize(
    ("kind", "settings", "used", "method"),
    [
        ("single_hop", {}, spent(), "one_step"),
        ("bridge", {}, spent(), "cascade"),
        ("comparison", {}, spent(), "cascade"),
        ("bridge", {"max_llm_calls": MULTI_HOP_CALLS + 1}, spent(model_call()), "cascade"),
        ("bridge", {"max_llm_calls": MULTI_HOP_CALLS + 1}, spent(model_call(attempts=2)), "one_step"),
        ("bridge", {"max_tokens": MULTI_HOP_TOKENS + 100}, spent(model_call(prompt_tokens=95)), "cascade"),
        ("comparison", {"max_tokens": MULTI_HOP_TOKENS + 100}, spent(model_call(prompt_tokens=96)), "one_step"),
    ],
)
def test_the_rule_of_auto(kind: Any, settings: Any, used: BudgetState, method: str) -> None:
    chosen, why = method_for(kind, ChatContext(**settings), used)
    assert chosen == method
    assert why
