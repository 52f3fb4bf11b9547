"""Close a hop with the answer that was found for it, or with the generated one."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.evidence_review import review_statements
from hopgraph.nodes.core.method_graph import HumanReview, reviewed_by
from hopgraph.nodes.hops.hop_history import accept_generated, close_hop
from hopgraph.state import Context, Update
from hopgraph.state.genground import GengroundState


async def review_citation(state: GengroundState, runtime: Runtime[Context]) -> Update:
    """Let a person see the citation first; writes what they leave of it to `grounding`, their words to `passages`."""
    grounding, hop = state["grounding"], state["hops"][-1]["number"]
    cited = grounding["evidence"] if grounding else []
    update = review_statements(cited, state["passages"], runtime, question=state["question"], hop=hop)
    return {**update, "evidence": [], "grounding": grounding and {**grounding, "evidence": update["evidence"]}}


@reviewed_by(HumanReview("review_citation", "review_evidence", review_citation))
async def revise(state: GengroundState, runtime: Runtime[Context]) -> Update:
    """Write the revised answer to the last of `hops`, resting on the cited passages (GenGround, section 3.2)."""
    grounding, done = state["grounding"], {"grounding": None, "read": 0}
    if grounding is None or not grounding["evidence"]:
        return {**accept_generated(state["hops"], runtime), **done}
    hops = close_hop(state["hops"], grounding["evidence"], grounding["answer"], runtime)
    return {"hops": hops, "evidence": grounding["evidence"], **done}


async def keep_memory_answer(state: GengroundState, runtime: Runtime[Context]) -> Update:
    """Write the generated answer, or one revised without a citation (*ours*), to `hops`, as not grounded (3.3)."""
    revised = state["grounding"]["answer"] if state["grounding"] else ""
    return {**accept_generated(state["hops"], runtime, revised=revised), "grounding": None, "read": 0}
