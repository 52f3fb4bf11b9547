"""Close a hop with the answer that was found for it, or with the generated one."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.evidence_review import review_statements
from hopgraph.nodes.core.excerpts import passages_by_id, quoted
from hopgraph.nodes.hops.hop_history import accept_generated, close_hop
from hopgraph.state import Context, Evidence
from hopgraph.state.genground import GengroundState


async def revise(state: GengroundState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Replace the generated answer by the revised one, resting on the cited passage (GenGround, section 3.2).

    Closes the hop and writes its `evidence`: the citation in the model's words, with the passage's
    sentence that carries it as the quote. Where a person rejects the citation, the generated answer is kept.
    """
    grounding = state["grounding"]
    if grounding is None:  # the graph comes here only with one
        return {}
    number = state["hops"][-1]["number"]
    evidence = Evidence(
        id=f"{number}.{grounding['batch']}.1",
        statement=grounding["cited"],
        passage_ids=[grounding["passage_id"]],
        quote="",
        verified=True,
    )
    evidence = quoted(evidence, passages_by_id(state["passages"]))
    approved = review_statements([evidence], state["passages"], runtime, question=state["question"], hop=number)
    done = {"grounding": None, "read": 0, "calls": approved.calls}
    if not approved.evidence:
        return {**accept_generated(state["hops"], runtime), **done}
    hops = close_hop(state["hops"], approved.evidence[0], grounding["answer"], runtime)
    return {"hops": hops, "evidence": approved.evidence, "passages": approved.passages, **done}


async def keep(state: GengroundState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Keep the generated answer, marked as not grounded, since no passage could be cited (section 3.3)."""
    return {**accept_generated(state["hops"], runtime), "read": 0}
