"""Keep the statements that their passages entail."""

import asyncio
from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from hopgraph.nodes.events import emit
from hopgraph.nodes.knowledge import by_id, titled
from hopgraph.state import Evidence, Passage
from hopgraph.state.migres import MigresContext
from hopgraph.tools.resolve import entailment_of


class VerifyState(TypedDict):
    """What `nli_verify` reads."""

    drafts: list[Evidence]
    evidence: list[Evidence]
    passages: list[Passage]


async def nli_verify(state: VerifyState, runtime: Runtime[MigresContext]) -> Mapping[str, Any]:
    """Check every draft against the passages that it cites, in one batch (MIGRES section 3.2).

    Writes `evidence`: the drafts that are entailed, without those that are known already. A premise is the
    cited passages, whole and titled, joined by blank lines. With `verify` off every draft is kept, marked
    as not verified. No drafts: no evidence.
    """
    known = {_folded(each["statement"]) for each in state["evidence"]}
    drafts: list[Evidence] = []
    for draft in state["drafts"]:
        if _folded(draft["statement"]) not in known:
            known.add(_folded(draft["statement"]))
            drafts.append(draft)
    if not runtime.context.verify:
        return {"evidence": drafts}
    checker = await entailment_of(runtime.context)
    passages = by_id(state["passages"])
    pairs = [
        ("\n\n".join(titled(passages[key]) for key in draft["passage_ids"]), draft["statement"]) for draft in drafts
    ]
    scores = await asyncio.to_thread(checker.score, pairs)
    kept = [
        Evidence({**draft, "verified": True})
        for draft, score in zip(drafts, scores, strict=True)
        if score >= checker.threshold
    ]
    emit(
        runtime,
        "verified",
        statements=[
            {
                "id": draft["id"],
                "statement": draft["statement"],
                "score": score,
                "kept": score >= checker.threshold,
            }
            for draft, score in zip(drafts, scores, strict=True)
        ],
        repeated=len(state["drafts"]) - len(drafts),
    )
    return {"evidence": kept}


def _folded(statement: str) -> str:
    return " ".join(statement.casefold().split())
