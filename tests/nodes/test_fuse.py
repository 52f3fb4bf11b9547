"""One answer from the evidence of all accepted paths."""

import json
from typing import Any

import pytest

from hopgraph.nodes.fuse import fuse
from hopgraph.state import Evidence
from hopgraph.state.tree_of_reviews import TreeOfReviewsContext
from support.node_inputs import node_runtime, passage, review_node, review_tree, spent
from support.servers.scripted_model import ScriptedChatModel


def fusing() -> Any:
    """Two of three accepted paths answer Oslo."""
    answers = {"0.1": "Lima", "0.2": "Oslo", "0.3": "oslo"}
    return {
        "question": "Where?",
        "tree": review_tree(*(review_node(key, "accept", answer=answer) for key, answer in answers.items())),
        "passages": [passage(f"p{key}") for key in answers],
        "evidence": [
            Evidence(id=key, statement=f"It is {answer}.", passage_ids=[f"p{key}"], quote="", verified=False)
            for key, answer in answers.items()
        ],
        "stop_reason": None,
        **spent(),
    }


@pytest.mark.parametrize("fusion", ["evidence", "analysis"])
async def test_assertions_that_were_not_shown_are_ignored(fusion: Any) -> None:
    reply = json.dumps({"answer": "Lima", "used_assertions": [4, 1, 0, 1]})
    settings = TreeOfReviewsContext(model=ScriptedChatModel(replies=[reply]), fusion=fusion)
    update = await fuse(fusing(), node_runtime(settings))
    assert (update["answer"], update["used"], update["stop_reason"]) == ("Lima", ["0.1"], "answered")


async def test_without_a_usable_reply_the_majority_answers() -> None:
    model = ScriptedChatModel(replies=["what?"])
    update = await fuse(fusing(), node_runtime(TreeOfReviewsContext(model=model, parse_retries=0)))
    assert (update["answer"], update["used"]) == ("Oslo", ["0.2", "0.3"])


async def test_the_majority_answers_where_the_budget_does_not_reach() -> None:
    settings = TreeOfReviewsContext(model=ScriptedChatModel(replies=[]), max_tokens=1)
    update = await fuse(fusing(), node_runtime(settings))
    assert (update["answer"], update["used"], update["stop_reason"]) == ("Oslo", ["0.2", "0.3"], "budget")


async def test_an_unanswerable_fusion_rests_on_nothing() -> None:
    reply = json.dumps({"answer": "unanswerable", "used_assertions": [1]})
    update = await fuse(fusing(), node_runtime(TreeOfReviewsContext(model=ScriptedChatModel(replies=[reply]))))
    assert (update["answer"], update["used"], update["stop_reason"]) == ("", [], "unanswerable")


async def test_paragraphs_that_pieces_share_take_their_room_once() -> None:
    long = " ".join(["word"] * 50)
    state = fusing()
    state["passages"] = [passage("a", long), *(passage(key, "Short.") for key in "bcd")]
    for piece, key in zip(state["evidence"], "bcd", strict=True):
        piece["passage_ids"] = ["a", key]
    events: list[Any] = []
    model = ScriptedChatModel(replies=[json.dumps({"answer": "Oslo", "used_assertions": [3]})])
    settings = TreeOfReviewsContext(model=model, reader_tokens=100)
    assert (await fuse(state, node_runtime(settings, events)))["used"] == ["0.3"]
    (fused,) = (event["data"] for event in events if event["event"] == "fused")
    assert fused["left_out"] == []
