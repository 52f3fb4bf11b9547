"""Answer the parts of a question in order, each with the answers that came before it, and then the question."""

from collections.abc import Mapping
from typing import Any, Literal

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import read_answer, reader_ask
from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.budget import is_exhausted
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages
from hopgraph.nodes.question_tree.branch import (
    calls_after_question,
    only_branch,
    parts_of,
    question_in_branch,
    question_of,
    settings_for,
    spent_in,
)
from hopgraph.nodes.question_tree.settlement import evidence_under, format_sub_answers, settle, settle_root
from hopgraph.state import Context, Query
from hopgraph.state.baselines import LeastToMostContext
from hopgraph.state.events import Composed, Solved
from hopgraph.state.question_tree import ROOT, DecomposingContext, DecomposingState, QuestionNode


@with_passage_review("candidates", question_in_branch)
async def answer_in_turn(state: DecomposingState, runtime: Runtime[DecomposingContext]) -> Mapping[str, Any]:
    """Answer the branch's question in one call, from the parts answered before it and what was retrieved.

    Without passages and without earlier answers the model answers from what it knows. Writes `tree` and
    `evidence`, the passages that the reply names; without a usable answer the question is unknown.
    """
    node, passages = question_of(state), passages_by_id(state["passages"])
    settings = settings_for(node, runtime.context)
    excerpts = candidate_excerpts(state["candidates"], passages, runtime.context.passage_tokens)
    earlier = [part for part in parts_of(state["tree"], ROOT) if part["how"] not in ("", "budget")]
    wanted = reader_ask(
        node["question"],
        settings,
        passages=prompt_passages(excerpts, passages) or None,
        sub_answers=format_sub_answers(earlier) or None,
    )
    answered = await ask(runtime, spent_in(state), wanted, reserve_calls=calls_after_question(node))
    reading = read_answer(answered, settings, excerpts, evidence_id=node["id"], question=node["question"])
    if not reading.answer:
        how = "budget" if answered.outcome == "budget" else "unsolved"
    elif excerpts:
        how = "passages"
    else:
        how = "composed" if earlier else "known"
    update = settle(runtime, node, how, reading=reading, event=Solved if node["parent"] else Composed)
    return {**update, "calls": calls_of([answered])}


async def next_part(state: DecomposingState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Take up the first part that is still open, and after the last one the question itself.

    Writes the `branch` and its only query, which is the question with the answers before it, since later
    parts build on them; `iteration` counts the questions that were taken up. Where the budget has but one
    call left, the parts that are open are settled as unknown and the question is next. When it is settled:
    `answer`, `explanation`, `used` and `stop_reason`.
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
    state: DecomposingState, settings: LeastToMostContext
) -> Literal["whole", "look up", "from knowledge", "settled"]:
    """Break the question down first, then answer each part and the question, with passages or without."""
    root = state["tree"][ROOT]
    if root["how"]:
        return "settled"
    if root["status"] == "open":
        return "whole"
    return "look up" if settings.retrieval else "from knowledge"
