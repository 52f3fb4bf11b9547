"""Choose the questions of a tree that can be worked on now."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.budget import share_among_branches
from hopgraph.nodes.question_tree.branch import parts_of, reserved_by_branch
from hopgraph.nodes.question_tree.settlement import evidence_under, settle_root
from hopgraph.state.question_tree import ROOT, Branch, QuestionNode
from hopgraph.state.ra_isf import RaIsfContext, RaIsfState


async def frontier(state: RaIsfState, runtime: Runtime[RaIsfContext]) -> Mapping[str, Any]:
    """List what can be worked on side by side: open questions, and split ones whose parts are all settled.

    Writes `branches`, in the order of the tree, as many as the budget allows; the rest wait. When the
    root is settled: no branches, but `answer`, `explanation`, `used` and `stop_reason`. No branches and the
    stop reason `budget` without an answer mean that one last call gives a best-effort answer. `iteration`
    counts the levels of the tree that were worked on.
    """
    tree, settings = state["tree"], runtime.context
    reached = max(node["depth"] for node in tree.values() if node["depth"] <= settings.max_depth)
    update: dict[str, Any] = {"iteration": reached + 1, "branches": []}
    root = tree[ROOT]
    if root["how"] == "budget":
        return {**update, "stop_reason": "budget"}
    if root["how"]:
        limit = "budget" if state["cut_off"] else None
        return {**update, **settle_root(tree, evidence_under(tree, ROOT), limit=limit)}
    ready = [node for node in tree.values() if _is_ready(tree, node)]
    reserved = share_among_branches(settings, state, [_needs(node, settings) for node in ready])
    branches = [
        Branch(id=node["id"], step="solve" if node["status"] == "open" else "compose", reserved=each)
        for node, each in zip(ready, reserved, strict=False)
    ]
    return {**update, "branches": branches, "stop_reason": None if branches else "budget"}


def _is_ready(tree: Mapping[str, QuestionNode], node: QuestionNode) -> bool:
    if node["status"] == "split":
        return all(part["how"] for part in parts_of(tree, node["id"]))
    return node["status"] == "open"


def _needs(node: QuestionNode, settings: RaIsfContext) -> tuple[int, int]:
    """Count the fewest and the most model calls of a branch, with those that it leaves over.

    The root starts in any case, to find passages.
    """
    if node["depth"] > settings.max_depth:
        return 0, 0
    if node["status"] == "split":
        return 1 + reserved_by_branch(node), 1 + reserved_by_branch(node)
    judgements = settings.passages_per_query if settings.judge == "each" else 1
    most = 3 + (judgements if settings.passage_relevance else 0)  # know, answer or decompose, one left over
    return (2 + reserved_by_branch(node) if node["parent"] else 0), most
