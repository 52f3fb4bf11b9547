"""The answer of the accepted path, taken without a call."""

from typing import Any

from hopgraph.nodes.fuse import accept_chain_answer
from hopgraph.state.tree_of_reviews import ReviewContext
from support.node_inputs import evidence, node_runtime, review_node, review_tree


async def test_the_accepted_path_answers() -> None:
    piece = {**evidence(1, "It is Lima.", "p0.1"), "id": "0.1"}
    state: Any = {
        "tree": review_tree(review_node("0.1", "accept", answer="Lima", analysis="It is Lima.")),
        "evidence": [piece],
        "stop_reason": None,
    }
    update = await accept_chain_answer(state, node_runtime(ReviewContext()))
    assert (update["answer"], update["explanation"], update["used"]) == ("Lima", "It is Lima.", ["0.1"])
    state["evidence"] = []
    none = await accept_chain_answer(state, node_runtime(ReviewContext()))
    assert (none["answer"], none["evidence"], none["stop_reason"]) == ("", [], "unanswerable")
