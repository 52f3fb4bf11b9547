"""The next sentence of a chain of thought, and when the chain ends."""

import json
from typing import Any

import pytest

from hopgraph.nodes.next_thought import next_thought
from hopgraph.state.baselines import IrcotContext
from support.node_inputs import knowledge, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


@pytest.mark.parametrize(
    ("thought", "settings", "thoughts", "queries", "reason"),
    [
        ("Ada was\n a director. She was born.", {}, 2, ["Ada was a director."], None),
        ("The first one!", {}, 1, [], None),
        ("", {}, 1, [], None),
        ("So the Answer is: Lima.", {}, 2, [], None),
        ("So the answer is unanswerable.", {}, 2, ["The first one."], None),
        ("Thus, she was born in Lima.", {}, 2, ["The first one."], None),
        ("The answer is not given in the passages.", {}, 2, ["The answer is not given in the passages."], None),
        ("So the answer is: unknown.", {"max_thoughts": 2}, 2, [], "max_iterations"),
        ("So the answer is: Not Given Lightly.", {}, 2, [], None),
        ("Ada was born.", {"max_thoughts": 2}, 2, [], "max_iterations"),
        ("So the answer is: Lima.", {"max_thoughts": 2}, 2, [], None),
        ("", {"max_tokens": 1}, 1, [], "budget"),
    ],
)
async def test_a_new_thought_becomes_the_next_query(
    thought: str, settings: dict[str, Any], thoughts: int, queries: list[str], reason: str | None
) -> None:
    model = ScriptedChatModel(replies=lambda *_: json.dumps({"thought": thought}))
    state: Any = {
        "question": "Where?",
        "thoughts": ["The first one."],
        "knowledge": [knowledge("q", "a")],
        "passages": [passage("a")],
        "iteration": 1,
        "stop_reason": None,
        **spent(),
    }
    update = await next_thought(state, node_runtime(IrcotContext(model=model, **settings)))
    assert (len(update["thoughts"]), [query["text"] for query in update["queries"]]) == (thoughts, queries)
    assert (update["iteration"], update["stop_reason"]) == (2 if queries else 1, reason)
