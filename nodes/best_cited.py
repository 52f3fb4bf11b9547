"""Take the sample whose statements are best supported by the passages that it cites."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import reading_update
from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.vote import answer_of_sample
from hopgraph.state import Context, Draft, EntailmentChecker, Passage
from hopgraph.state.baselines import SamplesState
from hopgraph.state.events import Compared
from hopgraph.tools.io.background import in_callers_thread
from hopgraph.tools.resources import get_entailment_checker
from hopgraph.tools.scoring.pair_scorers import check_scores
from hopgraph.tools.text import split_sentences


async def best_cited(state: SamplesState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Choose the sample with the best citation recall; of a tie the first (ALCE's RERANK).

    Citation recall is the share of a sample's statements that the passages it cites entail: whole and
    titled, joined by blank lines. Its statements are the sentences of its reasoning; without reasoning the
    question with the answer is the only one. A sample that cites nothing has 0. Samples without an answer
    are not chosen; without any other the question is unanswerable. All pairs are checked in one batch.

    Writes the keys of a final answer; no call.
    """
    drafts, passages = state["drafts"], passages_by_id(state["passages"])
    checker = await get_entailment_checker(runtime.context)
    recalls = await in_callers_thread(citation_recalls, checker, drafts, passages, state["question"])
    answered = [number for number, draft in enumerate(drafts) if draft["answer"]]
    chosen = max(answered, key=lambda number: recalls[number], default=None)  # max takes the first
    emit(runtime, Compared(answers=[draft["answer"] for draft in drafts], citation_recall=list(recalls), chosen=chosen))
    return reading_update(answer_of_sample(drafts, chosen), runtime, limit=state["stop_reason"])


def citation_recalls(
    checker: EntailmentChecker, drafts: Sequence[Draft], passages: Mapping[str, Passage], question: str
) -> list[float]:
    """Compute the citation recall of each draft, in [0, 1]; 0.0 where it cites or states nothing."""
    statements = [_statements(draft, question) if draft["evidence"] else [] for draft in drafts]
    premises = [_premise(draft, passages) for draft in drafts]
    pairs = [(premise, statement) for premise, said in zip(premises, statements, strict=True) for statement in said]
    scores = iter(check_scores(checker.name, checker.score(pairs), len(pairs)))
    return [sum(next(scores) >= checker.threshold for _ in said) / len(said) if said else 0.0 for said in statements]


def _statements(draft: Draft, question: str) -> list[str]:
    sentences = [draft["reasoning"][start:end] for start, end in split_sentences(draft["reasoning"])]
    return sentences or ([f"{question} {draft['answer']}"] if draft["answer"] else [])


def _premise(draft: Draft, passages: Mapping[str, Passage]) -> str:
    ids = dict.fromkeys(key for each in draft["evidence"] for key in each["passage_ids"])
    return "\n\n".join(with_title(passages[key]) for key in ids)
