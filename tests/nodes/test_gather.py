"""What a reader falls back on when the search has ended."""

from typing import Any

import pytest

from hopgraph.nodes.gather import gather, passages_of, within
from hopgraph.state.review_tree import ReviewContext
from hopgraph.tools.models.tokens import count_tokens
from support.node_inputs import evidence, node_runtime, passage, review_node, review_tree


@pytest.mark.parametrize(("most", "chosen"), [(100, [0, 1, 2]), (2, [0, 2]), (0, [0])])
def test_texts_are_chosen_while_they_fit_and_the_first_always(most: int, chosen: list[int]) -> None:
    texts = ["one", "one two three four", "two"]
    assert [count_tokens(text) for text in texts] == [1, 4, 1]
    assert within(texts, most) == chosen
    assert within([], most) == []


def test_passages_are_listed_once() -> None:
    nodes = [review_node("0.1", passage_ids=["a", "b"]), review_node("0.2", passage_ids=["b", "c"])]
    assert passages_of(nodes) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("verdicts", "reason", "kept", "ended"),
    [
        (["search", "reject", ""], None, ["p0.1"], None),
        (["reject", "reject", ""], "budget", ["p0.3"], "budget"),
        (["reject", "reject", ""], None, [], None),
    ],
)
async def test_a_reader_falls_back_on_what_is_relevant_or_unreviewed(
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
    update = await gather(state, node_runtime(ReviewContext()))
    assert [each["passage_id"] for each in update["knowledge"][0]["excerpts"]] == kept
    assert update["iteration"] == 1
    assert update.get("stop_reason", reason) == ended


@pytest.mark.parametrize(("accepted", "reason"), [(False, "max_depth"), (True, None)])
async def test_the_depth_limit_is_named_when_no_path_was_accepted(accepted: bool, reason: str | None) -> None:
    state: Any = {
        "question": "Who?",
        "tree": review_tree(review_node("0.1", "search")),
        "passages": [passage("p0.1")],
        "evidence": [evidence(1, "s", "p0.1")] if accepted else [],
        "stop_reason": None,
    }
    update = await gather(state, node_runtime(ReviewContext(max_depth=1)))
    assert update.get("stop_reason") == reason
