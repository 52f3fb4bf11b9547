"""Choose the next question of a tree that is answered part by part, in order."""

from typing import Literal

from langgraph.runtime import Runtime

from hopgraph.nodes.core.budget import is_exhausted
from hopgraph.nodes.question_tree.branch import only_branch, parts_of
from hopgraph.nodes.question_tree.settlement import evidence_under, settle, settle_root
from hopgraph.state import Context, Query, Update
from hopgraph.state.baselines import LeastToMostContext
from hopgraph.state.question_tree import ROOT, DecomposingState, QuestionNode


async def next_part(state: DecomposingState, runtime: Runtime[Context]) -> Update:
    """Take up the first part that is still open, and after the last one the question itself.

    The `branch`'s only query has the answers before it, since later parts build on them. Where the budget has but one
    call left, open parts are settled as unknown. When the question is settled: the keys of a final answer. Writes
    `branch`.
    """
    tree, root = dict(state["tree"]), state["tree"][ROOT]
    parts = parts_of(tree, ROOT)
    if root["how"]:
        own = [ROOT] if root["passage_ids"] else []
        used = [key for part in parts for key in evidence_under(tree, part["id"])] + own
        return settle_root(tree, used, limit=state["stop_reason"])
    waiting = [part for part in parts if not part["how"]]
    skipped: dict[str, QuestionNode] = {}
    if waiting and is_exhausted(runtime.context, state, 2):
        for part in waiting:
            skipped |= settle(runtime, part, "budget")["tree"]
        waiting = []
    chosen = waiting[0] if waiting else root
    known = [part["answer"] for part in parts if part["answer"]]
    return {
        "tree": skipped,
        "branch": only_branch(chosen["id"], "solve" if waiting else "compose"),
        "queries": [Query(text=" ".join([chosen["question"], *known]), why=root["question"] if waiting else "")],
        "iteration": 1 + sum(bool(part["how"]) for part in parts),
    }


def route_next_part(
    state: DecomposingState, runtime: Runtime[LeastToMostContext]
) -> Literal["whole", "look up", "from knowledge", "settled"]:
    """Break the question down first, then answer each part and the question, with passages or without."""
    root = state["tree"][ROOT]
    if root["how"]:
        return "settled"
    if root["status"] == "open":
        return "whole"
    return "look up" if runtime.context.retrieval else "from knowledge"
