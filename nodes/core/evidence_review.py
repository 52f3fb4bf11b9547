"""Let a person review the evidence for the next answer: excerpts of passages, or statements."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.core.excerpts import candidate_excerpts, excerpt_text, passages_by_id, quoted, with_title
from hopgraph.nodes.core.human_review import Item, approve_evidence
from hopgraph.nodes.core.method_graph import HumanReview, NodeT, reviewed_by
from hopgraph.state import Candidates, Evidence, Knowledge, MethodState, Passage, Update
from hopgraph.tools.scoring.entailment.lexical import LexicalEntailment

REVIEWER_SOURCE = "reviewer"
"""The `source` of a passage written by the person who reviewed the evidence."""


def with_passage_review(
    key: Literal["knowledge", "candidates"], question: Callable[[Any], str] = itemgetter("question")
) -> Callable[[NodeT], NodeT]:
    """Let a person choose, with `review_evidence`, which passages a node and its successors will read.

    The node finds them under `key`, and reads `passages`; `question` extracts from the state what they should answer.
    """

    async def review(state: Any, runtime: Runtime[Any]) -> Update:
        passages, entries = passages_by_id(state["passages"]), state[key]
        shown = (
            [excerpt for entry in entries for excerpt in entry["excerpts"]]
            if key == "knowledge"
            else candidate_excerpts(entries, passages)
        )
        texts = {each["passage_id"]: excerpt_text(each, passages[each["passage_id"]]) for each in shown}
        items = [Item(each, text, [passages[each]["title"]], editable=False) for each, text in texts.items()]
        kept, update = approve_evidence(items, runtime, question=question(state), hop=_hop(texts, passages))
        return {key: [_narrowed(entry, kept) for entry in entries], **update}

    return reviewed_by(HumanReview("review_passages", "review_evidence", review))


async def _review_statements(state: MethodState, runtime: Runtime[Any]) -> Update:
    known = state["evidence"]
    hop = _hop([key for each in known for key in each["passage_ids"]], passages_by_id(state["passages"]))
    update = review_statements(known, state["passages"], runtime, question=state["question"], hop=hop)
    return {**update, "evidence": Overwrite(update["evidence"])}


with_statement_review = reviewed_by(HumanReview("review_statements", "review_evidence", _review_statements))
"""Let a person review, with `review_evidence`, the statements of `evidence` before a node reads them; it must also
read `question` and `passages`."""


def _hop(ids: Iterable[str], passages: Mapping[str, Passage]) -> int:
    return max((passages[key]["hop"] for key in ids), default=1)


def _narrowed(entry: Knowledge | Candidates, kept: Collection[str]) -> Knowledge | Candidates:
    if "excerpts" in entry:
        return {**entry, "excerpts": [each for each in entry["excerpts"] if each["passage_id"] in kept]}
    scored = {key: score for key, score in zip(entry["passage_ids"], entry["scores"], strict=True) if key in kept}
    return {**entry, "passage_ids": list(scored), "scores": list(scored.values())}


def review_statements(
    evidence: Sequence[Evidence], passages: Sequence[Passage], runtime: Runtime[Any], *, question: str, hop: int
) -> Update:
    """Pause until a person has seen the statements; the remaining ones are the update's `evidence`, in their own order.

    An edited statement is no longer `verified`. It keeps its passages if they contain all that it says;
    otherwise it cites a passage of the reviewer's, in `passages`, so that no citation claims what it does not say.
    """
    known = passages_by_id(passages)
    items = [
        Item(each["id"], each["statement"], [known[key]["title"] for key in each["passage_ids"]], editable=True)
        for each in evidence
    ]
    kept, update = approve_evidence(items, runtime, question=question, hop=hop)
    staying: list[Evidence] = []
    written: list[Passage] = []
    for each in (each for each in evidence if each["id"] in kept):
        if kept[each["id"]] != each["statement"]:
            changed = Evidence({**each, "statement": kept[each["id"]], "verified": False})
            if not _is_carried(changed, known):
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
            staying.append(quoted(changed, {**known, **passages_by_id(written)}))
        else:
            staying.append(each)
    return {"evidence": staying, "passages": written, **update}


def _is_carried(evidence: Evidence, passages: Mapping[str, Passage]) -> bool:
    said = " ".join(with_title(passages[key]) for key in evidence["passage_ids"])
    return LexicalEntailment().score([(said, evidence["statement"])]) == [1.0]
