"""Add retrieved paragraphs to the review tree, and prune those that need no review."""

from collections.abc import Collection, Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.review_tree import ReviewTree, make_child, make_root, passages_on_path
from hopgraph.state import Passage, QuestionError, Update
from hopgraph.state.events import Grown, Pruned, TreeNode
from hopgraph.state.tree_of_reviews import ROOT, ReviewContext, ReviewNode, ReviewTreeState, TreeOfReviewsContext
from hopgraph.tools.text.comparison import lexical_similarity


async def prune(state: ReviewTreeState, runtime: Runtime[TreeOfReviewsContext]) -> Update:
    """Make a node for each retrieved paragraph (section 3.1), open or pruned (section 3.4); writes `tree`.

    With `prune_repetitive`, a paragraph is pruned if it is in the evidence pool or on its own path, or if another path
    has the same paragraphs: a review judges them as a whole (Table 7), so their order does not matter. A path whose
    review could not be parsed does not count. The pool is the one before this retrieval, so that in breadth search the
    order of reviews within a level does not matter. Pruned paragraphs are not replaced.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    parents = parents_of(state)
    pool = list(dict.fromkeys(key for piece in state["evidence"] for key in piece["passage_ids"]))
    rejected = {node["passage_ids"][-1] for node in state["tree"].values() if node["verdict"] == "reject"}
    paths = _paths_to_review_once(state["tree"])
    grown: list[ReviewNode] = []
    for parent, found in zip(parents, state["candidates"], strict=True):
        own = passages_on_path(state["tree"], parent)
        kept: list[str] = []
        for number, key in enumerate(found["passage_ids"], start=1):
            why = ""
            if settings.prune_repetitive:
                why = _repeats(key, own, pool, paths)
            if not why and settings.remember_rejected and key in rejected:
                why = "rejected before"
            if not why and settings.prune_similar is not None:
                why = _similar(passages, settings.prune_similar, key, [*pool, *own, *kept])
            grown.append(make_child(parent, number, [key], why=why))
            if not why:
                kept.append(key)
                paths.add(frozenset([*own, key]))
    return grow_tree(state, grown, passages, runtime)


def _paths_to_review_once(tree: ReviewTree) -> set[frozenset[str]]:
    return {
        frozenset(passages_on_path(tree, node))
        for node in tree.values()
        if node["status"] != "pruned" and node["verdict"] != "unread"
    }


def _repeats(key: str, own: list[str], pool: Collection[str], paths: Collection[frozenset[str]]) -> str:
    if key in pool:
        return "in the evidence pool"
    if key in own:
        return "on its own path"
    return "same paragraphs as another path" if frozenset([*own, key]) in paths else ""


def _similar(passages: Mapping[str, Passage], least: float, key: str, others: list[str]) -> str:
    text = with_title(passages[key])
    for other in others:
        if lexical_similarity(text, with_title(passages[other])) >= least:
            return f"similar to {other}"
    return ""


def parents_of(state: ReviewTreeState) -> list[ReviewNode]:
    """List the nodes whose queries were searched, in the order of the candidates; at first the root.

    QuestionError if their numbers differ because queries were edited into the state.
    """
    if not state["tree"]:
        return [make_root(state["question"])]
    parents, searched = state["frontier"], len(state["candidates"])
    if len(parents) != searched:  # somebody wrote other queries into the state
        raise QuestionError(f"queries: {searched} for the {len(parents)} paths in 'frontier'; write one for each")
    return [state["tree"][key] for key in parents]


def grow_tree(
    state: ReviewTreeState, grown: list[ReviewNode], passages: Mapping[str, Passage], runtime: Runtime[Any]
) -> Update:
    """Return a node's update with new tree nodes, and report them."""
    for event, status in ((Grown, "open"), (Pruned, "pruned")):
        nodes = [
            TreeNode(
                id=node["id"],
                parent=node["parent"],
                passage_ids=node["passage_ids"],
                titles=[passages[key]["title"] for key in node["passage_ids"]],
                **({"why": node["why"]} if node["why"] else {}),
            )
            for node in grown
            if node["status"] == status
        ]
        if nodes:
            emit(runtime, event(nodes=nodes))
    first: ReviewTree = {} if state["tree"] else {ROOT: make_root(state["question"])}
    return {"tree": {**first, **{node["id"]: node for node in grown}}, "frontier": []}


async def extend_chain(state: ReviewTreeState, runtime: Runtime[ReviewContext]) -> Update:
    """Add to `tree` one node with all retrieved paragraphs not yet on the path, if any (CoR, section 4.4)."""
    grown: list[ReviewNode] = []
    for parent, found in zip(parents_of(state), state["candidates"], strict=True):
        known = passages_on_path(state["tree"], parent)
        new = [key for key in found["passage_ids"] if key not in known]
        grown += [make_child(parent, 1, new)] if new else []
    return grow_tree(state, grown, passages_by_id(state["passages"]), runtime)
