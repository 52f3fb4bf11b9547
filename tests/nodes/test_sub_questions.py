"""A question broken down into parts."""

from typing import Any

import pytest

from hopgraph.nodes.parts import make_sub_questions_node
from hopgraph.state.baselines import GenReadContext
from support.node_inputs import node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ('{"sub_questions": ["Who?", "When was #1 born?", "Why?"]}', ["Who?", "When was #1 born?"]),
        ('{"sub_questions": ["where?"]}', []),  # the question itself is no part of it
        ("?", []),
    ],
)
async def test_the_parts_are_in_the_models_order(reply: str, parts: list[str]) -> None:
    settings = GenReadContext(model=ScriptedChatModel(replies=[reply]), max_sub_questions=2, parse_retries=0)
    state: Any = {"question": "Where?", "stop_reason": None, **spent()}
    update = await make_sub_questions_node()(state, node_runtime(settings))
    assert update["sub_questions"] == parts
    assert update["stop_reason"] is None
