"""Let each passage by itself propose an answer."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import excerpts_of_all_queries, reader_ask
from hopgraph.nodes.core.ask import ask_all, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.draft_answers import draft_of
from hopgraph.state import Context, MethodState
from hopgraph.state.events import Sampled


@with_passage_review("knowledge")
async def propose_answers(state: MethodState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Ask for the answer once per kept passage, each shown alone, all at the same time (REPLUG).

    Writes `drafts`, one for each passage in their order. A draft's answer is empty where the passage gives none, the
    reply could not be used or the budget did not reach, which `stop_reason` says. No passages: no call.
    """
    settings, excerpts = runtime.context, excerpts_of_all_queries(state["knowledge"])
    shown = prompt_passages(excerpts, passages_by_id(state["passages"]))
    wanted = [reader_ask(state["question"], settings, passages=[passage]) for passage in shown]
    answers = await ask_all(runtime, state, wanted)
    drafts = [
        draft_of(answered, settings, [excerpt], number=number, question=state["question"])
        for number, (answered, excerpt) in enumerate(zip(answers, excerpts, strict=True), start=1)
    ]
    emit(runtime, Sampled(answers=[draft["answer"] for draft in drafts]))
    cut_off = any(answered.outcome == "budget" for answered in answers)
    return {
        "drafts": drafts,
        "stop_reason": "budget" if cut_off else state["stop_reason"],
        "calls": calls_of(answers),
    }
