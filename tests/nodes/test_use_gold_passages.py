"""Passages that the caller gives, and what is refused."""

from typing import Any

import pytest

from hopgraph.nodes.use_gold_passages import check_given, use_gold_passages
from hopgraph.state import SettingsError
from hopgraph.state.baselines import GoldPassagesContext
from support.node_inputs import node_runtime


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no gold passages are given"),
        ("text", "gold_passages: "),
        ([{"text": "a"}, {"title": "T"}], "gold_passages 2 text: "),
        ([{"text": "a"}, {"text": " \u200b"}], "gold_passages 2 has no text"),
    ],
)
def test_unusable_passages_are_named(given: object, message: str) -> None:
    with pytest.raises(SettingsError, match=f"^{message}") as caught:
        check_given(given)
    assert "\n" not in str(caught.value)


async def test_given_passages_keep_their_order() -> None:
    state: Any = {"question": "Who?", "gold_passages": [{"text": "a"}, {"id": "x", "title": "T", "text": "b"}]}
    update = await use_gold_passages(state, node_runtime(GoldPassagesContext()))
    assert [(each["id"], each["title"], each["score"]) for each in update["passages"]] == [
        ("given:1", "", 1.0),
        ("x", "T", 0.5),
    ]
    assert [each["passage_id"] for each in update["knowledge"][0]["excerpts"]] == ["given:1", "x"]
    assert update["gold_passages"] == []


async def test_ids_must_differ() -> None:
    state: Any = {"question": "Who?", "gold_passages": [{"id": "given:2", "text": "a"}, {"text": "b"}]}
    with pytest.raises(SettingsError, match="two have the id 'given:2'"):
        await use_gold_passages(state, node_runtime(GoldPassagesContext()))
