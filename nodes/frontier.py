"""Choose the questions of a tree that can be worked on now."""

from collections.abc import Mapping

from langgraph.runtime import Runtime

from hopgraph.nodes.core.budget import is_exhausted
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree.branch import parts_of, reserved_by_branch
from hopgraph.nodes.question_tree.decomposition import parts_waited_for, with_answers
from hopgraph.nodes.question_tree.settlement import evidence_under, reached_limit, settle, settle_root
from hopgraph.nodes.solve_question import at_hand
from hopgraph.state import Update
from hopgraph.state.events import ReferencesFilled
from hopgraph.state.question_tree import ROOT_QUESTION, Branch, QuestionNode
from hopgraph.state.ra_isf import RaIsfContext, RaIsfState


async def frontier(state: RaIsfState, runtime: Runtime[RaIsfContext]) -> Update:
    """List what can be worked on side by side: open questions, and split ones whose parts are all settled.

    A question that refers to parts opens when these are settled, with their answers in it; it is unknown without a call
    where one of them is (the question above asked for as much and was not solved), and beyond `max_questions`. Writes
    `tree` with those, and `branches`, in the order of the tree, as many as the budget allows. When the root is settled:
    no branches, but the keys of a final answer; where it is left unsolved, `knowledge` for a best effort. `iteration`
    counts the levels of the tree that were worked on.
    """
    tree, settings = dict(state["tree"]), runtime.context
    changed = _release(tree, runtime)
    reached = max(node["depth"] for node in tree.values() if node["depth"] <= settings.max_depth)
    update: Update = {"iteration": reached + 1, "branches": [], "tree": changed}
    root = tree[ROOT_QUESTION]
    limit = "budget" if state["cut_off"] else None
    if root["how"] and is_left_unsolved(root, settings):
        return {**update, "stop_reason": limit or reached_limit(tree), "knowledge": [at_hand(state, settings)]}
    if root["how"]:
        return {**update, **settle_root(tree, evidence_under(tree, ROOT_QUESTION), limit=limit)}
    ready = [node for node in tree.values() if _is_ready(tree, node)]
    branches = [
        Branch(id=node["id"], step="solve" if node["status"] == "open" else "compose")
        for node in ready
        if not is_exhausted(settings, state, _needs(node, settings))
    ]
    if not branches:
        return {**update, "stop_reason": "budget", "knowledge": [at_hand(state, settings)]}
    return {**update, "branches": branches, "stop_reason": None}


def is_left_unsolved(root: QuestionNode, settings: RaIsfContext) -> bool:
    """Return whether a best effort follows (*ours*): no module answered; without QDM it stays unknown (Table 2)."""
    return root["how"] in ("", "budget") or (root["how"] == "unsolved" and settings.decomposition)


def _release(tree: dict[str, QuestionNode], runtime: Runtime[RaIsfContext]) -> dict[str, QuestionNode]:
    """Open the questions that wait for nothing any more, and settle those beyond `max_questions`, in the tree itself.

    Returns the questions that it changed. One pass is enough: only earlier parts are referred to.
    """
    begun = [node for node in tree.values() if node["status"] == "split" or node["how"] not in ("", "questions")]
    room, changed = runtime.context.max_questions - len(begun), dict[str, QuestionNode]()
    for key, node in tree.items():
        named = parts_waited_for(tree, node) if node["status"] == "waiting" else {}
        if named and all(part["answer"] for part in named.values()):
            changed[key] = tree[key] = with_answers(node, named)
            emit(runtime, ReferencesFilled(id=key, question=tree[key]["question"]))
        elif named and all(part["how"] for part in named.values()):
            changed[key] = tree[key] = settle(runtime, node, "unsolved")["tree"][key]
        if tree[key]["status"] == "open":
            room -= 1
            if room < 0:
                changed[key] = tree[key] = settle(runtime, tree[key], "questions")["tree"][key]
    return changed


def _is_ready(tree: Mapping[str, QuestionNode], node: QuestionNode) -> bool:
    if node["status"] == "split":
        return all(part["how"] for part in parts_of(tree, node["id"]))
    return node["status"] == "open"


def _needs(node: QuestionNode, settings: RaIsfContext) -> int:
    """Count the fewest calls of a branch, with those it leaves over; the root starts in any case."""
    if node["status"] == "split":
        return 1 + reserved_by_branch(node)
    return 2 + reserved_by_branch(node) if node["parent"] and node["depth"] <= settings.max_depth else 0
