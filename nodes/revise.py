"""Close a hop with the answer that was found for it, or with the generated one."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from hopgraph.nodes.core.evidence_review import review_statements
from hopgraph.nodes.core.excerpts import passages_by_id
from hopgraph.nodes.hops.hop_history import accept_generated, close_hop
from hopgraph.state import Context, Evidence, Passage
from hopgraph.state.genground import Grounding
from hopgraph.state.hops import Hop
from hopgraph.tools.text.quotes import find_quote


class ReviseState(TypedDict):
    """What `revise` reads."""

    question: str
    """Shown to a reviewer."""
    hops: list[Hop]
    grounding: Grounding | None
    passages: list[Passage]


class KeepState(TypedDict):
    """What `keep` reads."""

    hops: list[Hop]


async def revise(state: ReviseState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Replace the generated answer by the revised one, resting on the cited passage (GenGround, section 3.2).

    Closes the hop and writes its `evidence`: the citation in the model's words, with the passage's
    sentence that carries it as the quote. Where a person rejects the citation, the generated answer is kept.
    """
    grounding = state["grounding"]
    if grounding is None:  # the graph comes here only with one
        return {}
    passage = passages_by_id(state["passages"])[grounding["passage_id"]]
    start, end = find_quote(grounding["cited"], passage["text"], passage["title"])
    evidence = Evidence(
        id=f"{state['hops'][-1]['number']}.{grounding['batch']}.1",
        statement=grounding["cited"],
        passage_ids=[passage["id"]],
        quote=passage["text"][start:end],
        verified=True,
    )
    approved = review_statements(
        [evidence], state["passages"], runtime, question=state["question"], hop=state["hops"][-1]["number"]
    )
    if not approved.evidence:
        return {**accept_generated(state["hops"], runtime), "grounding": None, "read": 0, "calls": approved.calls}
    [kept] = approved.evidence
    return {
        "hops": close_hop(state["hops"], kept, grounding["answer"], runtime),
        "evidence": [kept],
        "passages": approved.passages,
        "grounding": None,
        "read": 0,
        "calls": approved.calls,
    }


async def keep(state: KeepState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Keep the generated answer, marked as not grounded, since no passage could be cited (section 3.3)."""
    return {**accept_generated(state["hops"], runtime), "read": 0}
