"""Answer a question with the answers that came before it."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import read_answer, reader_ask
from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages
from hopgraph.nodes.question_tree.branch import (
    calls_after_question,
    parts_of,
    question_in_branch,
    question_of,
    settings_for,
    spent_in,
)
from hopgraph.nodes.question_tree.settlement import format_sub_answers, settle
from hopgraph.state.events import Composed, Solved
from hopgraph.state.question_tree import ROOT, DecomposingContext, DecomposingState


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
    if not reading["answer"]:
        how = "budget" if answered.outcome == "budget" else "unsolved"
    elif excerpts:
        how = "passages"
    else:
        how = "composed" if earlier else "known"
    update = settle(runtime, node, how, reading=reading, event=Solved if node["parent"] else Composed)
    return {**update, "calls": calls_of([answered])}
