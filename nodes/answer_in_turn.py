"""Answer a question with the answers that came before it."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id
from hopgraph.nodes.question_tree.branch import parts_of, question_in_branch, question_of, read_in_branch
from hopgraph.nodes.question_tree.settlement import format_sub_answers, settle
from hopgraph.state import Update
from hopgraph.state.events import Composed, Solved
from hopgraph.state.question_tree import ROOT, DecomposingContext, DecomposingState


@with_passage_review("candidates", question_in_branch)
async def answer_in_turn(state: DecomposingState, runtime: Runtime[DecomposingContext]) -> Update:
    """Write to `tree` the answer to the branch's question, from the parts before it and what was retrieved, if any."""
    node, passages = question_of(state), passages_by_id(state["passages"])
    excerpts = candidate_excerpts(state["candidates"], passages, runtime.context.passage_tokens)
    earlier = [part for part in parts_of(state["tree"], ROOT) if part["how"] not in ("", "budget")]
    sub_answers = format_sub_answers(earlier) or None
    reading, answered = await read_in_branch(state, runtime, excerpts or None, sub_answers=sub_answers)
    if not reading["answer"]:
        how = "budget" if answered.outcome == "budget" else "unsolved"
    elif excerpts:
        how = "passages"
    else:
        how = "composed" if earlier else "known"
    update = settle(runtime, node, how, reading=reading, event=Solved if node["parent"] else Composed)
    return {**update, "calls": calls_of([answered])}
