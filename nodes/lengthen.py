"""Add all newly retrieved paragraphs to the one path of a chain."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import passages_by_id
from hopgraph.nodes.prune import grow_tree, parents_of
from hopgraph.nodes.review_tree.paths import make_child, passages_on_path
from hopgraph.state import Update
from hopgraph.state.tree_of_reviews import ReviewContext, ReviewNode, ReviewTreeState


async def lengthen(state: ReviewTreeState, runtime: Runtime[ReviewContext]) -> Update:
    """Add to `tree` one node of all retrieved paragraphs that are not on the path yet, if any (CoR, section 4.4)."""
    grown: list[ReviewNode] = []
    for parent, found in zip(parents_of(state), state["candidates"], strict=True):
        known = passages_on_path(state["tree"], parent)
        new = [key for key in found["passage_ids"] if key not in known]
        grown += [make_child(parent, 1, new)] if new else []
    return grow_tree(state, grown, passages_by_id(state["passages"]), runtime)
