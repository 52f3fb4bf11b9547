"""Take the sample whose statements are best supported by the passages that it cites."""

from collections.abc import Mapping

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import reading_update
from hopgraph.nodes.vote import answer_of_sample
from hopgraph.state import Context, Draft, Passage, Update
from hopgraph.state.baselines import SamplesState
from hopgraph.state.events import Compared
from hopgraph.tools.io.background import LONG_SPLIT, in_turns
from hopgraph.tools.resources import get_entailment_checker
from hopgraph.tools.text import split_sentences


async def best_cited(state: SamplesState, runtime: Runtime[Context]) -> Update:
    """Choose the sample with the best citation recall; of a tie the first, and none without an answer (ALCE's RERANK).

    Citation recall, in [0, 1]: the share of a sample's statements (sentences of its reasoning) that what it cites
    entails together; 0 where it cites or states nothing. Writes the keys of a final answer.
    """
    drafts, passages = state["drafts"], passages_by_id(state["passages"])
    checker = await get_entailment_checker(runtime.context)
    long = sum(len(draft["reasoning"]) for draft in drafts) > LONG_SPLIT
    statements = await in_turns(lambda draft: _statements(draft, state["question"]), drafts, long=long)
    premises = [_premise(draft, passages) for draft in drafts]
    pairs = [(premise, statement) for premise, said in zip(premises, statements, strict=True) for statement in said]
    scores, calls = await score_pairs(runtime, checker, pairs)
    entailed = (score >= checker.threshold for score in scores)
    recalls = [sum(next(entailed) for _ in said) / len(said) if said else 0.0 for said in statements]
    answered = [number for number, draft in enumerate(drafts) if draft["answer"]]
    chosen = max(answered, key=lambda number: recalls[number], default=None)  # max takes the first
    emit(runtime, Compared(answers=[draft["answer"] for draft in drafts], citation_recall=recalls, chosen=chosen))
    return reading_update(answer_of_sample(drafts, chosen), runtime, limit=state["stop_reason"]) | {"calls": calls}


def _statements(draft: Draft, question: str) -> list[str]:
    if not draft["evidence"]:
        return []
    sentences = [draft["reasoning"][start:end] for start, end in split_sentences(draft["reasoning"])]
    return sentences or ([f"{question} {draft['answer']}"] if draft["answer"] else [])


def _premise(draft: Draft, passages: Mapping[str, Passage]) -> str:
    ids = dict.fromkeys(key for each in draft["evidence"] for key in each["passage_ids"])
    return "\n\n".join(with_title(passages[key]) for key in ids)
