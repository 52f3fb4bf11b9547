"""Grow a question tree: start with the question, decompose it into parts, and choose what to work on next."""

from collections.abc import Mapping, Sequence

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.budget import is_exhausted
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree import (
    BranchState,
    decomposition_ask,
    evidence_under,
    parts_of,
    parts_waited_for,
    path_to,
    question_of,
    reached_limit,
    read_sub_questions,
    referred_numbers,
    reserved_by_branch,
    settle,
    settle_root,
    with_answers,
)
from hopgraph.nodes.solve_question import at_hand
from hopgraph.state import Context, QuestionInput, Update
from hopgraph.state.events import Decomposed, ReferencesResolved, SubQuestion, TreeStarted
from hopgraph.state.question_tree import ROOT_QUESTION, Branch, QuestionNode
from hopgraph.state.ra_isf import RaIsfContext, RaIsfState


async def init_tree(state: QuestionInput, runtime: Runtime[Context]) -> Update:
    """Make the question the root of the tree; writes `tree`."""
    root = _open(state["question"], ROOT_QUESTION, parent="", depth=0)
    emit(runtime, TreeStarted(id=ROOT_QUESTION, question=root["question"]))
    return {"tree": {ROOT_QUESTION: root}}


async def split(state: BranchState, runtime: Runtime[RaIsfContext]) -> Update:
    """Ask for the sub-questions of the branch's question and add them; writes `tree`.

    Without any the question is unknown (RA-ISF, section 3.1). Where parts are `in_order` (*ours*) they may refer to the
    answers of earlier ones, and wait for them; else they are asked with their questions in the places of their answers.
    Those that repeat the question or one that it is a part of are dropped (*ours*: they would be broken down again in
    the same way).
    """
    node, most, in_order = (
        question_of(state),
        runtime.context.max_sub_questions,
        runtime.context.part_order == "in_order",
    )
    known = [each["question"] for each in path_to(state["tree"], node["id"])]
    wanted = decomposition_ask(node["question"], most=most, in_order=in_order)
    answered = await ask(runtime, state, wanted)
    questions, calls = read_sub_questions(answered.record, most=most, known=known), calls_of([answered])
    if not questions:
        return {**settle(runtime, node, "budget" if answered.outcome == "budget" else "unsolved"), "calls": calls}
    parts = _parts(node, questions, in_order)
    listed = [SubQuestion(id=part["id"], question=part["question"]) for part in parts]
    emit(runtime, Decomposed.from_record(node, sub_questions=listed))
    waiting = QuestionNode({**node, "status": "split"})
    return {"tree": {each["id"]: each for each in (waiting, *parts)}, "calls": calls}


def _parts(node: QuestionNode, questions: Sequence[str], ordered: bool) -> list[QuestionNode]:
    parts: list[QuestionNode] = []
    for number, text in enumerate(questions, start=1):
        part = _open(text, f"{node['id']}.{number}", parent=node["id"], depth=node["depth"] + 1)
        named = referred_numbers(text, before=number, whole=node["question"])
        if named and ordered:
            part["status"] = "waiting"
        elif named:
            part = with_answers(part, {each: parts[each - 1] for each in named})
        parts.append(part)
    return parts


def _open(question: str, key: str, *, parent: str, depth: int) -> QuestionNode:
    return QuestionNode(
        id=key,
        parent=parent,
        depth=depth,
        question=question,
        status="open",
        answer="",
        how="",
        explanation="",
        passage_ids=[],
    )


async def frontier(state: RaIsfState, runtime: Runtime[RaIsfContext]) -> Update:
    """List what can be worked on in parallel: open questions, and split ones whose parts are all settled.

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
    """Open the questions that no longer wait, and settle those beyond `max_questions`, modifying the tree itself.

    Returns the questions that it changed. One pass is enough: only earlier parts are referred to.
    """
    begun = [node for node in tree.values() if node["status"] == "split" or node["how"] not in ("", "questions")]
    room, changed = runtime.context.max_questions - len(begun), dict[str, QuestionNode]()
    for key, node in tree.items():
        named = parts_waited_for(tree, node) if node["status"] == "waiting" else {}
        if named and all(part["answer"] for part in named.values()):
            changed[key] = tree[key] = with_answers(node, named)
            emit(runtime, ReferencesResolved(id=key, question=tree[key]["question"]))
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
    """Return the minimum calls of a branch, including its reserve; the root starts in any case."""
    if node["status"] == "split":
        return 1 + reserved_by_branch(node)
    return 2 + reserved_by_branch(node) if node["parent"] and node["depth"] <= settings.max_depth else 0
