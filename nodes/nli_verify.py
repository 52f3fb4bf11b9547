"""Keep the statements that their passages entail."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import count_shown, passages_by_id, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.reply_text import normalized_query
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Evidence, Update
from hopgraph.state.events import CheckedStatement, Verified
from hopgraph.state.migres import MigresContext, MigresState
from hopgraph.tools.resources import get_entailment_checker

_ARTICLES = frozenset({"a", "an", "the"})


async def nli_verify(state: MigresState, runtime: Runtime[MigresContext]) -> Update:
    """Check every draft against its cited passages, whole and titled, in one batch (MIGRES section 3.2).

    Reads `drafts`, `evidence`, `knowledge`, `passages` and `shown`. Writes to `evidence` the entailed drafts that are
    new; with `verify` off every new draft, as not verified. With `memory` also `shown` and `excluded`: the shown parts
    of passages that a kept draft cites count once more.
    """
    drafts, passages = _without_repeats(state["drafts"]), passages_by_id(state["passages"])
    if not runtime.context.verify:
        return {"evidence": _new(drafts, state["evidence"]), **await _count_cited(drafts, state, runtime)}
    checker = await get_entailment_checker(runtime.context)
    pairs = [
        ("\n\n".join(with_title(passages[key]) for key in draft["passage_ids"]), draft["statement"]) for draft in drafts
    ]
    scores, calls = await score_pairs(runtime, checker, pairs)
    passed = [score >= checker.threshold for score in scores]
    entailed = [Evidence({**draft, "verified": True}) for draft, kept in zip(drafts, passed, strict=True) if kept]
    checked = [
        CheckedStatement(id=each["id"], statement=each["statement"], score=score, kept=kept)
        for each, score, kept in zip(drafts, scores, passed, strict=True)
    ]
    emit(runtime, Verified(statements=checked, repeated=len(state["drafts"]) - len(drafts)))
    memory = await _count_cited(entailed, state, runtime)
    return {"evidence": _new(entailed, state["evidence"]), **memory, "calls": calls}


async def _count_cited(kept: Sequence[Evidence], state: MigresState, runtime: Runtime[MigresContext]) -> Update:
    cited = {key for each in kept for key in each["passage_ids"]}
    if not cited or not runtime.context.memory:
        return {}
    excerpts = [each for entry in state["knowledge"] for each in entry["excerpts"] if each["passage_id"] in cited]
    return await count_shown(state.get("shown", {}), excerpts, passages_by_id(state["passages"]))


def _without_repeats(drafts: Sequence[Evidence]) -> list[Evidence]:
    """Drop drafts that repeat a statement with the same citations; with other citations it may still pass."""
    first: dict[tuple[tuple[str, ...], *tuple[str, ...]], Evidence] = {}
    for each in drafts:
        first.setdefault((_said(each["statement"]), *each["passage_ids"]), each)
    return list(first.values())


def _new(evidence: Sequence[Evidence], known: Sequence[Evidence]) -> list[Evidence]:
    """Drop statements that are already known, and repeats of the others."""
    said = {_said(each["statement"]) for each in known}
    first: dict[tuple[str, ...], Evidence] = {}
    for each in evidence:
        first.setdefault(_said(each["statement"]), each)
    return [each for statement, each in first.items() if statement not in said]


def _said(statement: str) -> tuple[str, ...]:
    """Return the comparison key of a statement: its words without articles. A digit, letter or "not" differs."""
    return tuple(word for word in normalized_query(statement).split() if word not in _ARTICLES) or (statement,)
