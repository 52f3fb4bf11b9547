"""The limits that are left for the method of a turn."""

import pytest

from hopgraph.nodes.chat.run_method import limits_left
from hopgraph.state import Context
from support.node_inputs import model_call, spent


def test_the_method_gets_what_is_left_of_the_limits() -> None:
    so_far = spent(model_call(attempts=2, prompt_tokens=295))
    limits = Context(max_llm_calls=9, max_tokens=1_000, deadline_seconds=60)
    left = limits_left(limits, so_far, now=so_far["started_at"] + 20)
    assert (left.max_llm_calls, left.max_tokens) == (7, 700)
    assert left.deadline_seconds == pytest.approx(40)
    nothing = limits_left(Context(max_llm_calls=2, max_tokens=10), spent(model_call(attempts=5, prompt_tokens=295)))
    assert (nothing.max_llm_calls, nothing.max_tokens) == (1, 1)
    assert limits_left(Context(), spent(model_call(attempts=5))) == Context()
