"""Give the best answer that the hops so far allow."""

from dataclasses import replace

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import (
    AnswerReply,
    answer_update,
    excerpts_of_all_queries,
    read_answer,
    reader_ask,
    reading_update,
)
from hopgraph.nodes.core.ask import ask
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.reply_text import UNANSWERABLE, short_answer
from hopgraph.nodes.hops.hop_history import answered_lines, evidence_of_hops, observed_excerpts
from hopgraph.state import Context, Draft, Excerpt, Update
from hopgraph.state.hops import Hop, HopsContext, HopsState


def best_answer_with(*, show_passages: bool = False) -> Node:
    """Return the node that must answer when no further hop is asked (*ours*): one call of the role `answer`.

    It shows the passages of all hops, or else the hops' answers, with what was retrieved for the last one where the
    budget kept that from being answered. Without a reply the last hop's answer is kept. Writes the keys of a final
    answer.
    """

    async def best_answer(state: HopsState, runtime: Runtime[HopsContext]) -> Update:
        settings, passages = runtime.context, passages_by_id(state["passages"])
        excerpts = observed_excerpts(state, passages) if show_passages else _unread(state, settings)
        wanted = reader_ask(
            state["question"],
            settings,
            passages=prompt_passages(excerpts, passages) if show_passages or excerpts else None,
            sub_answers=None if show_passages else answered_lines(state["hops"]),
        )
        answered = await ask(runtime, state, replace(wanted, fallback=last_answer(state["hops"])))
        number = len(state["hops"]) + 1
        reading = read_answer(answered, settings, excerpts, evidence_id=f"{number}.1.1", question=state["question"])
        resting = evidence_of_hops(reading, state["hops"], state["evidence"])
        return answer_update(resting, answered, runtime, limit=state["stop_reason"])

    return best_answer


def _unread(state: HopsState, settings: Context) -> list[Excerpt]:
    """List what was retrieved for a hop that the budget kept from being answered; without hops, for the question."""
    if not state["hops"]:
        return excerpts_of_all_queries(state["knowledge"])
    if state["stop_reason"] != "budget" or state["hops"][-1]["answer"]:
        return []
    found = candidate_excerpts(state["candidates"], passages_by_id(state["passages"]))
    return list({excerpt["passage_id"]: excerpt for excerpt in found}.values())[: settings.passages_per_query]


async def accept_last_answer(state: HopsState, runtime: Runtime[HopsContext]) -> Update:
    """Write the last hop's answer as the final one, without a call (GenGround without deduction, Table 4)."""
    said = last_answer(state["hops"]).answer
    answer = short_answer(said, yes_no=runtime.context.answer_type == "yes_no")
    reading = evidence_of_hops(Draft(reasoning="", answer=answer, evidence=[]), state["hops"], state["evidence"])
    return reading_update(reading, runtime, limit=state["stop_reason"])


def last_answer(hops: list[Hop]) -> AnswerReply:
    """Take the answer of the latest hop that has one as the answer to the question; unanswerable without."""
    return AnswerReply(answer=next((hop["answer"] for hop in reversed(hops) if hop["answer"]), UNANSWERABLE))
