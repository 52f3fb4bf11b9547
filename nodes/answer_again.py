"""Answer the question once more, from what this turn's query found."""

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import answer_update, kept_passages, read_answer, reader_ask
from hopgraph.nodes.core.ask import ask, calls_of
from hopgraph.nodes.core.budget import is_exhausted
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.state import Query, Spent, StopReason, Update
from hopgraph.state.baselines import IterRetgenContext, IterRetgenState
from hopgraph.state.reducers import merge_calls
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS


@with_passage_review("knowledge")
async def answer_again(state: IterRetgenState, runtime: Runtime[IterRetgenContext]) -> Update:
    """Answer step by step from this turn's passages alone (ITER-RETGEN's generation); writes `generated`, too.

    *Ours*: a turn without an answer leaves an earlier turn's; the budget may end the run before the last turn.
    """
    settings, turn = runtime.context, state["iteration"]
    excerpts, shown = kept_passages(state)
    wanted = reader_ask(state["question"], settings, step="answer_step_by_step", passages=shown)
    answered = await ask(runtime, state, wanted)
    reading = read_answer(answered, settings, excerpts, evidence_id=f"{turn}.1.1", question=state["question"])
    generated = f"{reading['reasoning']} {reading['answer']}".strip()[:MAX_TEXT_CHARACTERS]
    spent = Spent(calls=merge_calls(state["calls"], calls_of([answered])), started_at=state["started_at"])
    cut_off = answered.outcome == "budget" or (turn < settings.iterations and is_exhausted(settings, spent, 1))
    limit: StopReason | None = "budget" if cut_off else None
    if state["answer"] and not reading["answer"]:
        return {"generated": generated, "stop_reason": limit or "answered", "calls": calls_of([answered])}
    return {**answer_update(reading, answered, runtime, limit=limit), "generated": generated}


async def extend_query(state: IterRetgenState) -> Update:
    """Make what was generated, before the question, the next turn's query; writes `queries` and `iteration`."""
    query = Query(text=f"{state['generated']} {state['question']}", why="")
    return {"queries": [query], "iteration": state["iteration"] + 1}
