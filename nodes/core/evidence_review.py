"""Let a person review the evidence for the next answer: excerpts of passages, or statements."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeVar

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.core.excerpts import candidate_excerpts, excerpt_text, passages_by_id, quoted, with_title
from hopgraph.nodes.core.human_review import Item, approve_evidence
from hopgraph.state import Call, Candidates, Evidence, Knowledge, Passage
from hopgraph.tools.text import content_terms

REVIEWER_SOURCE = "reviewer"
"""The `source` of a passage that holds what the person who reviewed the evidence wrote."""


class ApprovedEvidence(NamedTuple):
    """Evidence after a person saw it."""

    evidence: list[Evidence]
    passages: list[Passage]
    """What the person wrote and no passage of the evidence carries."""
    calls: dict[str, Call]
    """The pause, for the update of `calls`; empty without one."""


StateT = TypeVar("StateT", bound=Mapping[str, Any])
ReviewedNode = Callable[[StateT, Runtime[Any]], Awaitable[Mapping[str, Any]]]


def with_passage_review(
    key: Literal["knowledge", "candidates"], question: Callable[[Any], str] = itemgetter("question")
) -> Callable[[ReviewedNode[StateT]], ReviewedNode[StateT]]:
    """Let a person choose, with `review_evidence`, which passages a node reads, before it begins.

    Args:
        key: Where the node finds them. It must read `passages`, too.
        question: Gets the question that they are to answer from the state.

    A passage that is rejected is gone for this node, as if it had not been found.
    """

    def around(node: ReviewedNode[StateT]) -> ReviewedNode[StateT]:
        @wraps(node)
        async def reviewing(state: StateT, runtime: Runtime[Any]) -> Mapping[str, Any]:
            if not runtime.context.review_evidence:
                return await node(state, runtime)
            of, entries = passages_by_id(state["passages"]), state[key]
            shown = (
                [excerpt for entry in entries for excerpt in entry["excerpts"]]
                if key == "knowledge"
                else candidate_excerpts(entries, of)
            )
            texts = {each["passage_id"]: excerpt_text(each, of[each["passage_id"]]) for each in shown}
            items = [Item(each, text, [of[each]["title"]], editable=False) for each, text in texts.items()]
            kept = approve_evidence(items, runtime, question=question(state), hop=_hop(texts, of))
            narrow = _only_knowledge if key == "knowledge" else _only_candidates
            narrowed: Any = {**state, key: [narrow(entry, kept.texts) for entry in entries]}
            return await _going_on(node, narrowed, runtime, kept.calls)

        return reviewing

    return around


def with_statement_review(node: ReviewedNode[StateT]) -> ReviewedNode[StateT]:
    """Let a person review, with `review_evidence`, the statements of `evidence` before a node reads them.

    The node must read `question`, `evidence` and `passages`; what the person made of them is written back.
    """

    @wraps(node)
    async def reviewing(state: StateT, runtime: Runtime[Any]) -> Mapping[str, Any]:
        if not runtime.context.review_evidence:
            return await node(state, runtime)
        known: list[Evidence] = state["evidence"]
        ids = [key for each in known for key in each["passage_ids"]]
        hop = _hop(ids, passages_by_id(state["passages"]))
        approved = review_statements(known, state["passages"], runtime, question=state["question"], hop=hop)
        seen: Any = {**state, "evidence": approved.evidence, "passages": [*state["passages"], *approved.passages]}
        update = await _going_on(node, seen, runtime, approved.calls)
        return {**update, "evidence": Overwrite(approved.evidence), "passages": approved.passages}

    return reviewing


async def _going_on(
    node: ReviewedNode[Any], state: Mapping[str, Any], runtime: Runtime[Any], pause: Mapping[str, Call]
) -> Mapping[str, Any]:
    """Run a node after a pause, whose seconds count neither for it nor later."""
    if not pause:
        return await node(state, runtime)
    update = await node({**state, "calls": {**state.get("calls", {}), **pause}}, runtime)
    return {**update, "calls": {**update.get("calls", {}), **pause}}


def _hop(ids: Iterable[str], passages: Mapping[str, Passage]) -> int:
    return max((passages[key]["hop"] for key in ids), default=1)


def _only_knowledge(entry: Knowledge, kept: Collection[str]) -> Knowledge:
    return Knowledge(query=entry["query"], excerpts=[each for each in entry["excerpts"] if each["passage_id"] in kept])


def _only_candidates(entry: Candidates, kept: Collection[str]) -> Candidates:
    scored = [pair for pair in zip(entry["passage_ids"], entry["scores"], strict=True) if pair[0] in kept]
    return Candidates(
        query=entry["query"], passage_ids=[key for key, _ in scored], scores=[score for _, score in scored]
    )


def review_statements(
    evidence: Sequence[Evidence], passages: Sequence[Passage], runtime: Runtime[Any], *, question: str, hop: int
) -> ApprovedEvidence:
    """With `review_evidence`, pause until a person has seen the statements; call it at the top of a node.

    A statement that was changed is no longer `verified`. It still rests on its passages if they hold all of
    its terms; else it rests on a passage of the reviewer's own, so that no citation claims what it does not say.

    Returns:
        Those that stay, in their own order. Without the setting, or without statements: as they are.
    """
    if not runtime.context.review_evidence:
        return ApprovedEvidence(list(evidence), [], {})
    of = passages_by_id(passages)
    items = [
        Item(each["id"], each["statement"], [of[key]["title"] for key in each["passage_ids"]], editable=True)
        for each in evidence
    ]
    kept = approve_evidence(items, runtime, question=question, hop=hop)
    staying: list[Evidence] = []
    written: list[Passage] = []
    for each in evidence:
        if each["id"] in kept.edited:
            changed = Evidence({**each, "statement": kept.texts[each["id"]], "verified": False})
            if not _is_carried(changed, of):
                own = Passage(
                    id=f"reviewer:{each['id']}",
                    title="The reviewer's statement",
                    text=changed["statement"],
                    score=0.0,
                    source=REVIEWER_SOURCE,
                    hop=hop,
                )
                written.append(own)
                changed = Evidence({**changed, "passage_ids": [own["id"]]})
            staying.append(quoted(changed, {**of, **passages_by_id(written)}))
        elif each["id"] in kept.texts:
            staying.append(each)
    return ApprovedEvidence(staying, written, kept.calls)


def _is_carried(evidence: Evidence, passages: Mapping[str, Passage]) -> bool:
    said = " ".join(with_title(passages[key]) for key in evidence["passage_ids"])
    return frozenset(content_terms(evidence["statement"])) <= frozenset(content_terms(said))
