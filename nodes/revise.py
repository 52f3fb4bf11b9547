"""Close a hop with the answer that was found for it, or with the generated one."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.evidence_review import review_statements
from hopgraph.nodes.core.method_graph import HumanReview, reviewed_by
from hopgraph.nodes.hops.hop_history import accept_generated, close_hop
from hopgraph.state import Context
from hopgraph.state.genground import GengroundState


async def review_citation(state: GengroundState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Let a person see the citation first."""
    grounding, hop = state["grounding"], state["hops"][-1]["number"]
    cited = grounding["evidence"] if grounding else []
    update = review_statements(cited, state["passages"], runtime, question=state["question"], hop=hop)
    return {**update, "evidence": [], "grounding": grounding and {**grounding, "evidence": update["evidence"]}}


@reviewed_by(HumanReview("review_citation", "review_evidence", review_citation))
async def revise(state: GengroundState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Replace the generated answer by the revised one, resting on the cited passages (GenGround, section 3.2).

    Closes the hop and writes its `evidence`: each cited sentence in the model's words, with the passage's
    sentence that carries it as the quote. Where a person rejects all of them, the generated answer is kept.
    """
    grounding, done = state["grounding"], {"grounding": None, "read": 0}
    if grounding is None or not grounding["evidence"]:
        return {**accept_generated(state["hops"], runtime), **done}
    hops = close_hop(state["hops"], grounding["evidence"], grounding["answer"], runtime)
    return {"hops": hops, "evidence": grounding["evidence"], **done}


async def keep(state: GengroundState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Keep the answer, marked as not grounded, since no passage could be cited (section 3.3).

    It is the generated one; where a batch revised it and cited what stands in no passage, the revised one (*ours*).
    """
    revised = state["grounding"]["answer"] if state["grounding"] else ""
    return {**accept_generated(state["hops"], runtime, revised=revised), "grounding": None, "read": 0}
