"""What a reader falls back on when the search has ended."""

from typing import Any

import pytest

from hopgraph.nodes.gather import collect_evidence, passages_of, within
from hopgraph.state.tree_of_reviews import ReviewContext
from hopgraph.tools.models.tokens import count_tokens
from support.node_inputs import evidence, node_runtime, passage, review_node, review_tree


@pytest.mark.parametrize(("most", "chosen"), [(100, [0, 1, 2]), (2, [0, 2]), (0, [0])])
def test_texts_are_chosen_while_they_fit_and_the_first_always(most: int, chosen: list[int]) -> None:
    texts = ["one", "one two three four", "two"]
    assert [count_tokens(text) for text in texts] == [1, 4, 1]
    assert within([{text: text} for text in texts], most) == chosen
    assert within([], most) == []


def test_what_pieces_share_is_counted_once_and_equal_texts_are_not() -> None:
    own = ("three", "four", "five six")
    assert within([{"a": "one two", text: text} for text in own], 4) == [0, 1]
    assert within([{str(number): "one two"} for number in range(3)], 4) == [0, 1]


def test_the_passages_of_paths_are_listed_once() -> None:
    nodes = [review_node("0.1", passage_ids=["a", "b"]), review_node("0.1.1", passage_ids=["b", "c"])]
    assert passages_of(review_tree(*nodes), nodes) == passages_of(review_tree(*nodes), nodes[1:]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("verdicts", "reason", "kept", "ended"),
    [
        (["search", "reject", ""], None, ["p0.1"], None),
        (["reject", "reject", ""], "budget", ["p0.3"], "budget"),
        (["reject", "reject", "unread"], None, ["p0.1", "p0.2", "p0.3"], None),
        ([], None, [], None),
    ],
)
async def test_a_reader_falls_back_on_what_is_relevant_or_unreviewed_or_all(
    verdicts: list[str], reason: str | None, kept: list[str], ended: str | None
) -> None:
    nodes = [review_node(f"0.{number}", verdict) for number, verdict in enumerate(verdicts, start=1)]
    state: Any = {
        "question": "Who?",
        "tree": review_tree(*nodes),
        "passages": [passage(f"p{node['id']}") for node in nodes],
        "evidence": [],
        "stop_reason": reason,
    }
    update = await collect_evidence(state, node_runtime(ReviewContext()))
    assert [each["passage_id"] for each in update["knowledge"][0]["excerpts"]] == kept
    assert update["iteration"] == 1
    assert update.get("stop_reason", reason) == ended


async def test_the_whole_path_that_was_found_relevant_is_read() -> None:
    state: Any = {
        "question": "Who?",
        "tree": review_tree(review_node("0.1", "reject"), review_node("0.1.1", "search")),
        "passages": [passage("p0.1"), passage("p0.1.1")],
        "evidence": [],
        "stop_reason": None,
    }
    update = await collect_evidence(state, node_runtime(ReviewContext()))
    assert [each["passage_id"] for each in update["knowledge"][0]["excerpts"]] == ["p0.1", "p0.1.1"]


@pytest.mark.parametrize(
    ("accepted", "verdict", "settings", "reason"),
    [
        (False, "search", {}, "max_depth"),
        (True, "search", {}, None),
        (False, "reject", {}, None),
        (False, "reject", {"prune_relevance": False}, "max_depth"),
    ],
)
async def test_the_depth_limit_is_named_when_no_path_was_accepted(
    accepted: bool, verdict: str, settings: dict[str, Any], reason: str | None
) -> None:
    state: Any = {
        "question": "Who?",
        "tree": review_tree(review_node("0.1", verdict)),
        "passages": [passage("p0.1")],
        "evidence": [evidence(1, "s", "p0.1")] if accepted else [],
        "stop_reason": None,
    }
    update = await collect_evidence(state, node_runtime(ReviewContext(max_depth=1, **settings)))
    assert update.get("stop_reason") == reason
