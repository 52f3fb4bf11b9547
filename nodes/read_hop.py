"""Answer the question of a hop, and finally the question itself from its hops."""

from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime
from pydantic import Field

from hopgraph.nodes.core.ask import ModelCall, ask, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages, quoted, shown_ids
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShownNumbers, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.decide import Confidence
from hopgraph.nodes.hops.hop_history import (
    accept_generated,
    answered_lines,
    asks_whole_question,
    calls_after_hop,
    close_hop,
    evidence_of_hops,
    observed_excerpts,
    open_hop,
    reasoning_so_far,
)
from hopgraph.nodes.reading import (
    AnswerReply,
    DirectAnswer,
    answer_update,
    ask_reader,
    excerpts_of_all_queries,
    reading_update,
)
from hopgraph.state import Context, Draft, Evidence, Excerpt, Knowledge, MethodState, Update
from hopgraph.state.baselines import SearchainContext
from hopgraph.state.events import Deduced
from hopgraph.state.hops import Hop, HopsContext, HopsState
from hopgraph.state.question_tree import DecomposingContext
from hopgraph.state.records import UNANSWERABLE
from hopgraph.tools.prompts import Value, clean
from hopgraph.tools.text.comparison import contains


class SureAnswer(DirectAnswer):
    """A reply of the role `read_chain_node`: the answer, with the reader's confidence."""

    confidence: Confidence = None


def make_read_hop_node(
    step: str = "answer",
    reply: type[AnswerReply] = DirectAnswer,
    *,
    key: Literal["knowledge", "candidates"] = "knowledge",
    alone: bool = False,
    own_knowledge: bool = False,
    edits: bool = False,
) -> Node:
    """Return the node that answers the last hop's question in one call, from its passages under `key`; closes the hop.

    The reader also sees the previous hops, unless it answers each `alone`. Only the whole question may be answered
    with yes or no. What was `generated` is grounded if the reader agrees with it. It stays as the model's own
    knowledge if the reader has no answer, or contradicts it with less confidence (`SureAnswer`) than the settings
    require; such an answer to a hop without one is not grounded. `edits`: the reader's words replace even what they
    agree with. No passages: no call or, with `own_knowledge`, an answer from that. Writes `hops` and `evidence`.
    """

    @with_passage_review(key, lambda state: state["hops"][-1]["question"])
    async def read_hop(state: HopsState, runtime: Runtime[Context]) -> Update:
        settings, hops, passages = runtime.context, state["hops"], passages_by_id(state["passages"])
        hop, claim = hops[-1], hops[-1]["generated"]
        excerpts = _found(state, settings) if key == "candidates" else excerpts_of_all_queries(state["knowledge"])
        if not excerpts and not own_knowledge:
            return accept_generated(hops, runtime)
        reading, answered = await ask_reader(
            runtime,
            state,
            hop["question"],
            excerpts or None,
            evidence_id=f"{hop['number']}.1.1",
            step=step,
            sub_answers=None if alone else answered_lines(hops[:-1], settings) or None,
            schema=reply,
            short=step != "answer" or not asks_whole_question(hop, state["question"]),
            reserve_calls=calls_after_hop(hop, state["question"], settings),
        )
        update: Update = {"stop_reason": "budget"} if answered.outcome == "budget" else {}
        update["calls"] = calls_of([answered])
        agrees = bool(claim) and (contains(reading["answer"], claim) or contains(claim, reading["answer"]))
        doubtful = _is_doubtful(answered.record, settings)
        if not reading["answer"] or (claim and not agrees and doubtful):
            return {**accept_generated(hops, runtime), **update}
        evidence = [quoted(each, passages) for each in reading["evidence"]]
        closed = close_hop(hops, evidence, claim if agrees and not edits else reading["answer"], runtime)
        if doubtful and not claim:
            closed[-1] = Hop({**closed[-1], "grounded": False})
        return {"hops": closed, "evidence": evidence, **update}

    return read_hop


def _found(state: HopsState, settings: Context) -> list[Excerpt]:
    tokens = settings.passage_tokens if isinstance(settings, DecomposingContext) else None
    return candidate_excerpts(state["candidates"], passages_by_id(state["passages"]), tokens)


def _is_doubtful(reply: AnswerReply, settings: Context) -> bool:
    if isinstance(reply, SureAnswer) and isinstance(settings, SearchainContext):
        return (reply.confidence or 1) < settings.min_confidence
    return False


class Information(ReplyModel):
    """A reply of the role `reason_in_documents`; empty information: the passages do not help."""

    information: LongText
    used_passages: ShownNumbers = Field(default_factory=list[int])


@with_passage_review("candidates", lambda state: state["hops"][-1]["question"])
async def reason_in_documents(state: HopsState, runtime: Runtime[HopsContext]) -> Update:
    """Condense the last search's passages to what helps the reasoning (Search-o1, section 3.4); closes the hop.

    Without passages there is no call. Information that names no shown passage is kept, as not grounded.
    """
    hops, passages = state["hops"], passages_by_id(state["passages"])
    hop, excerpts = hops[-1], candidate_excerpts(state["candidates"], passages)
    if not excerpts:
        return accept_generated(hops, runtime)
    variables: dict[str, Value] = {
        "passages": prompt_passages(excerpts, passages),
        **reasoning_so_far(hops[:-1], runtime.context),
        "question": state["question"],
        "query": hop["question"],
    }
    wanted = ModelCall("reason_in_documents", variables, Information, Information(information=""))
    answered = await ask(runtime, state, wanted, reserve_calls=1)
    said = clean(answered.record.information).strip()
    cited = shown_ids(answered.record.used_passages, excerpts) if said else []
    stated = Evidence(id=f"{hop['number']}.1.1", statement=said, passage_ids=cited, quote="", verified=False)
    evidence = [quoted(stated, passages)] if cited else []
    update: Update = {"stop_reason": "budget"} if answered.outcome == "budget" else {}
    update["calls"] = calls_of([answered])
    return {"hops": close_hop(hops, evidence, said, runtime), "evidence": evidence, **update}


async def answer_from_memory(state: MethodState, runtime: Runtime[Context]) -> Update:
    """Answer without passages, and write it as the only entry of `hops` (GenGround without deduction, Table 4)."""
    question = state["question"]
    reading, answered = await ask_reader(runtime, state, question)
    hop = open_hop(1, question, generated=reading["answer"])
    said = {"question": question, "thought": "", "generated": hop["generated"]}
    emit(runtime, Deduced(hop=1, **said, repeated=False, limit=False))
    update = {"hops": [hop], "calls": calls_of([answered])}
    return {**update, "stop_reason": "budget"} if answered.outcome == "budget" else update


@with_passage_review("candidates")
async def observe(state: HopsState) -> Update:
    """Record the search results as the hop's observation (ReAct); the model reads it in its next thought.

    The results of the first search, for the question, are not a hop: then `knowledge` is written.
    """
    if not state["hops"]:
        excerpts = candidate_excerpts(state["candidates"], passages_by_id(state["passages"]))
        return {"knowledge": [Knowledge(query=state["question"], excerpts=excerpts)]}
    seen = [key for each in state["candidates"] for key in each["passage_ids"]]
    return {"hops": [*state["hops"][:-1], Hop({**state["hops"][-1], "passage_ids": seen})]}


def make_best_answer_node(*, show_passages: bool = False) -> Node:
    """Return the node that must answer if no further hop is asked (*ours*): one call of the role `answer`.

    It shows the passages of all hops, or else the hops' answers, with the passages of the last one if the
    budget prevented answering it. Without a reply the last hop's answer is kept. Writes the keys of a final
    answer.
    """

    async def best_answer(state: HopsState, runtime: Runtime[HopsContext]) -> Update:
        hops, passages = state["hops"], passages_by_id(state["passages"])
        excerpts = observed_excerpts(state, passages) if show_passages else _unread(state, runtime.context) or None
        reading, answered = await ask_reader(
            runtime,
            state,
            state["question"],
            excerpts,
            evidence_id=f"{len(hops) + 1}.1.1",
            sub_answers=None if show_passages else answered_lines(hops, runtime.context),
            fallback=last_answer(hops),
        )
        resting = evidence_of_hops(reading, state, runtime.context)
        return answer_update(resting, answered, runtime, limit=state["stop_reason"])

    return best_answer


def _unread(state: HopsState, settings: Context) -> list[Excerpt]:
    """List the passages of a hop that the budget prevented from being answered; without hops, for the question."""
    if not state["hops"]:
        return excerpts_of_all_queries(state["knowledge"])
    if state["stop_reason"] != "budget" or state["hops"][-1]["answer"]:
        return []
    found = candidate_excerpts(state["candidates"], passages_by_id(state["passages"]))
    return list({excerpt["passage_id"]: excerpt for excerpt in found}.values())[: settings.top_k]


async def accept_last_answer(state: HopsState, runtime: Runtime[HopsContext]) -> Update:
    """Write the last hop's answer as the final one, without a call: that hop asked the question itself."""
    said = last_answer(state["hops"][-1:]).answer
    answer = short_answer(said, yes_no=runtime.context.answer_type == "yes_no")
    reading = evidence_of_hops(Draft(reasoning="", answer=answer, evidence=[]), state, runtime.context)
    return reading_update(reading, runtime, limit=state["stop_reason"])


def last_answer(hops: Sequence[Hop]) -> AnswerReply:
    """Return the answer of the latest hop that has one as the answer to the question; unanswerable without."""
    return AnswerReply(answer=next((hop["answer"] for hop in reversed(hops) if hop["answer"]), UNANSWERABLE))
