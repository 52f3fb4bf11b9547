"""Grow a question tree: plant the question, and break a question down into its parts."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree.branch import BranchState, path_to, question_of
from hopgraph.nodes.question_tree.decomposition import (
    decomposition_ask,
    read_sub_questions,
    referred_numbers,
    with_answers,
)
from hopgraph.nodes.question_tree.settlement import settle
from hopgraph.state import Context, QuestionInput, Update
from hopgraph.state.events import Decomposed, Planted, SubQuestion
from hopgraph.state.question_tree import ROOT_QUESTION, QuestionNode
from hopgraph.state.ra_isf import RaIsfContext


async def init_tree(state: QuestionInput, runtime: Runtime[Context]) -> Update:
    """Make the question the root of the tree; writes `tree`."""
    root = _open(state["question"], ROOT_QUESTION, parent="", depth=0)
    emit(runtime, Planted(id=ROOT_QUESTION, question=root["question"]))
    return {"tree": {ROOT_QUESTION: root}}


async def split(state: BranchState, runtime: Runtime[RaIsfContext]) -> Update:
    """Ask for the sub-questions of the branch's question and plant them; writes `tree`.

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
