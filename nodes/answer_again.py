"""Answer the question once more, from what this turn's query found."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import answer_update, excerpts_of_all_queries, read_answer, reader_ask
from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.budget import is_exhausted
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.state import Query, Spent, StopReason
from hopgraph.state.baselines import IterRetgenContext, IterRetgenState
from hopgraph.state.reducers import merge_calls
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS


@with_passage_review("knowledge")
async def answer_again(state: IterRetgenState, runtime: Runtime[IterRetgenContext]) -> Mapping[str, Any]:
    """Answer step by step from this turn's passages alone (ITER-RETGEN's generation).

    Writes `generated`, which the next query is made of, and what a final answer is made of. *Ours*: a turn
    without an answer leaves the one of an earlier turn; so does one that the budget does not cover, or after
    which the budget does not cover another, and `stop_reason` says so.
    """
    settings, turn = runtime.context, state["iteration"]
    excerpts = excerpts_of_all_queries(state["knowledge"])
    wanted = reader_ask(
        state["question"],
        settings,
        step="answer_step_by_step",
        passages=prompt_passages(excerpts, passages_by_id(state["passages"])),
    )
    answered = await ask(runtime, state, wanted)
    reading = read_answer(answered, settings, excerpts, evidence_id=f"{turn}.1.1", question=state["question"])
    generated = f"{reading['reasoning']} {reading['answer']}".strip()[:MAX_TEXT_CHARACTERS]
    spent = Spent(calls=merge_calls(state["calls"], calls_of([answered])), started_at=state["started_at"])
    cut_off = answered.outcome == "budget" or (turn < settings.iterations and is_exhausted(settings, spent, 1))
    limit: StopReason | None = "budget" if cut_off else None
    if state["answer"] and not reading["answer"]:
        return {"generated": generated, "stop_reason": limit or "answered", "calls": calls_of([answered])}
    return {**answer_update(reading, answered, runtime, limit=limit), "generated": generated}


async def extend_query(state: IterRetgenState, _runtime: Runtime[IterRetgenContext]) -> Mapping[str, Any]:
    """Begin the next turn with what was generated before the question (ITER-RETGEN's retrieval).

    Writes `queries` and counts `iteration`.
    """
    query = Query(text=f"{state['generated']} {state['question']}", why="")
    return {"queries": [query], "iteration": state["iteration"] + 1}
