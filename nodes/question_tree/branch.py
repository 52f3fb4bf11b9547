"""Where a task stands that works on one question of a question tree."""

from collections.abc import Mapping
from typing import Any

from hopgraph.state import BudgetState, Passage, Query
from hopgraph.state.question_tree import Branch, QuestionNode
from hopgraph.state.ra_isf import RaIsfState


class BranchState(BudgetState):
    """Keys that every step within a branch reads."""

    branch: Branch
    tree: dict[str, QuestionNode]


class ReadingState(BranchState):
    """Keys read by a step that answers the branch's question."""

    passages: list[Passage]


def question_of(state: BranchState) -> QuestionNode:
    """Get the question that the branch works on."""
    return state["tree"][state["branch"]["id"]]


def question_in_branch(state: BranchState) -> str:
    """Get the text of the question that the branch works on."""
    return question_of(state)["question"]


def reserved_by_branch(node: QuestionNode) -> int:
    """Count the calls that the work on a question leaves over: the root's answer, unless that is what it is."""
    return 1 if node["parent"] else 0


def parts_of(tree: Mapping[str, QuestionNode], key: str) -> list[QuestionNode]:
    """List the questions that a question was broken down into, in their order; empty for one that was not."""
    return [node for node in tree.values() if node["parent"] == key]


def path_to(tree: Mapping[str, QuestionNode], key: str) -> list[QuestionNode]:
    """List a question and those that it is a part of, the root first."""
    path: list[QuestionNode] = []
    while key:
        path.insert(0, tree[key])
        key = tree[key]["parent"]
    return path


def branch_input(state: RaIsfState, branch: Branch) -> dict[str, Any]:
    """Make what a parallel task gets."""
    shared: dict[str, Any] = {"branch": branch, "calls": state["calls"]}
    shared |= {"started_at": state["started_at"], "settings": state["settings"]}
    if branch["step"] == "compose":
        return {**shared, "tree": state["tree"], "evidence": state["evidence"], "passages": state["passages"]}
    path = path_to(state["tree"], branch["id"])
    return {
        **shared,
        "question": state["question"],
        "tree": {node["id"]: node for node in path},
        "queries": [Query(text=path[-1]["question"], why=path[-2]["question"] if len(path) > 1 else "")],
        "asked": [],
        "excluded": [],
        "iteration": len(path),
        "known": False,
        "cut_off": False,
    }
