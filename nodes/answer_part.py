"""Answer a part of a question from its own passages, in the place of what was claimed before."""

from dataclasses import replace

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import AnswerReply, DirectAnswer, excerpts_of_all_queries, read_answer, reader_ask
from hopgraph.nodes.core.ask import as_short, ask, spending_update
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, quoted
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.decide import Confidence
from hopgraph.nodes.hops.hop_history import accept_generated, answered_lines, close_hop
from hopgraph.state import Context, Update
from hopgraph.state.baselines import PartsState
from hopgraph.state.hops import Hop
from hopgraph.state.revising import SearchainContext
from hopgraph.tools.text.comparison import contains


class SureAnswer(DirectAnswer):
    """A reply of the role `read_link`: the answer, with the confidence that the reader states."""

    confidence: Confidence = None


def answer_part_with(step: str = "answer", reply: type[AnswerReply] = DirectAnswer, *, edits: bool = False) -> Node:
    """Return the node that answers the open part with what it asks for, never yes or no, in one call; closes its hop.

    The reader of `answer` sees the part's passages and the parts that are answered, others only the passages. The
    part's entry in `claims` is grounded where the reader agrees with it. It stays as the model's own knowledge where
    the reader has no answer, or contradicts it by a `SureAnswer` with less confidence than the settings ask for; such
    an answer to a part without a claim is not grounded. `edits`: the reader's words replace even a claim that they
    agree with. No passage: no call. Writes `hops` and `evidence`.
    """

    @with_passage_review("knowledge", lambda state: state["hops"][-1]["question"])
    async def answer_part(state: PartsState, runtime: Runtime[Context]) -> Update:
        *before, hop = state["hops"]
        claim, question = "".join(state["claims"][len(before) : len(before) + 1]), hop["question"]
        hops, excerpts = [*before, Hop({**hop, "generated": claim})], excerpts_of_all_queries(state["knowledge"])
        if not excerpts:
            return accept_generated(hops, runtime)
        settings, passages = as_short(runtime.context), passages_by_id(state["passages"])
        earlier = answered_lines(before) or None if step == "answer" else None
        wanted = reader_ask(question, settings, passages=prompt_passages(excerpts, passages), sub_answers=earlier)
        answered = await ask(runtime, state, replace(wanted, step=step, schema=reply))
        reading = read_answer(answered, settings, excerpts, evidence_id=f"{hop['number']}.1.1", question=question)
        agrees = bool(claim) and (contains(reading["answer"], claim) or contains(claim, reading["answer"]))
        update = spending_update(state, [answered])
        doubtful = _is_doubtful(answered.record, settings)
        if not reading["answer"] or (claim and not agrees and doubtful):
            return {**accept_generated(hops, runtime), **update}
        evidence = [quoted(each, passages) for each in reading["evidence"]]
        closed = close_hop(hops, evidence, claim if agrees and not edits else reading["answer"], runtime)
        if doubtful and not claim:
            closed = [*before, Hop({**closed[-1], "grounded": False})]
        return {"hops": closed, "evidence": evidence, **update}

    return answer_part


def _is_doubtful(reply: AnswerReply, settings: Context) -> bool:
    if isinstance(reply, SureAnswer) and isinstance(settings, SearchainContext):
        return (reply.confidence or 1) < settings.min_confidence
    return False
