"""Read the answer to a hop's question off its passages, or take the passages as they are."""

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import read_answer, reader_ask
from hopgraph.nodes.core.ask import as_short, ask, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, prompt_passages, quoted
from hopgraph.nodes.hops.hop_history import accept_generated, asks_whole_question, calls_after_hop, close_hop
from hopgraph.state import Knowledge, Update
from hopgraph.state.hops import Hop, HopsContext, HopsState


@with_passage_review("candidates")
async def read_passages(state: HopsState, runtime: Runtime[HopsContext]) -> Update:
    """Answer the hop's question from all that was retrieved for it, if anything, in one call; closes the hop.

    It is Self-Ask's intermediate answer, and GenGround's without grounding (Table 4), whose generated one stands else.
    Writes `evidence`.
    """
    hop, passages = state["hops"][-1], passages_by_id(state["passages"])
    excerpts = candidate_excerpts(state["candidates"], passages)
    if not excerpts:
        return accept_generated(state["hops"], runtime)
    final = asks_whole_question(hop, state["question"])
    settings = runtime.context if final else as_short(runtime.context)
    wanted = reader_ask(hop["question"], settings, passages=prompt_passages(excerpts, passages))
    answered = await ask(runtime, state, wanted, reserve_calls=calls_after_hop(hop, state["question"], runtime.context))
    reading = read_answer(answered, settings, excerpts, evidence_id=f"{hop['number']}.1.1", question=hop["question"])
    limit = {"stop_reason": "budget"} if answered.outcome == "budget" else {}
    if not reading["answer"]:
        return {**accept_generated(state["hops"], runtime), "calls": calls_of([answered]), **limit}
    evidence = [quoted(each, passages) for each in reading["evidence"]]
    hops = close_hop(state["hops"], evidence, reading["answer"], runtime)
    return {"hops": hops, "evidence": evidence, "calls": calls_of([answered]), **limit}


@with_passage_review("candidates")
async def observe(state: HopsState) -> Update:
    """Take what the search brought as the hop's observation (ReAct); the model reads it in its next thought.

    What the first search, for the question, brought is no hop: writes `knowledge` then.
    """
    if not state["hops"]:
        excerpts = candidate_excerpts(state["candidates"], passages_by_id(state["passages"]))
        return {"knowledge": [Knowledge(query=state["question"], excerpts=excerpts)]}
    seen = [key for each in state["candidates"] for key in each["passage_ids"]]
    return {"hops": [*state["hops"][:-1], Hop({**state["hops"][-1], "passage_ids": seen})]}
