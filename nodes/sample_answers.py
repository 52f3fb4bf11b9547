"""Sample several answers to the question, and take the one that most agree on, or the one that is cited best."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.answer import ReadAnswer, excerpts_of_all_queries, reader_ask, reading_update
from hopgraph.nodes.core.ask import ask_all, calls_of
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, with_title
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.draft_answers import draft_of
from hopgraph.nodes.shorten import majority_answer
from hopgraph.state import Context, EntailmentChecker, MethodState, Passage
from hopgraph.state.baselines import SamplesState, SamplingContext
from hopgraph.state.blendfilter import Draft
from hopgraph.state.events import Compared, Sampled, Voted
from hopgraph.tools.resources import get_entailment_checker
from hopgraph.tools.scoring.pair_scorers import check_scores
from hopgraph.tools.text import split_sentences


def sample_answers_with(*, own_knowledge: bool = False) -> Node:
    """Return the node that asks for chains of thought with the same prompt, all at the same time.

    Args:
        own_knowledge: Show no passages: the model answers from what it knows.

    The node writes `drafts`, in the order of asking. Those that the budget does not cover are left out, and
    `stop_reason` says so.
    """

    async def sample_answers(state: MethodState, runtime: Runtime[SamplingContext]) -> Mapping[str, Any]:
        settings, count = runtime.context, runtime.context.samples
        excerpts = [] if own_knowledge else excerpts_of_all_queries(state["knowledge"])
        given = None if own_knowledge else prompt_passages(excerpts, passages_by_id(state["passages"]))
        wanted = reader_ask(state["question"], settings, step="answer_step_by_step", passages=given)
        samples = [replace(wanted, sample=n, sampling=sampling_of(settings, n, count)) for n in range(count)]
        answers = await ask_all(runtime, state, samples)
        drafts = [
            draft_of(answered, settings, excerpts, number=number, question=state["question"])
            for number, answered in enumerate(answers, start=1)
            if answered.outcome != "budget"
        ]
        emit(runtime, Sampled(answers=[draft["answer"] for draft in drafts]))
        return {
            "drafts": drafts,
            "stop_reason": "budget" if len(drafts) < len(answers) else state["stop_reason"],
            "calls": calls_of(answers),
        }

    return sample_answers if own_knowledge else with_passage_review("knowledge")(sample_answers)


def sampling_of(settings: SamplingContext, number: int, count: int) -> dict[str, float]:
    """Say how to sample one of several replies to a prompt, numbered from 0; the only one is not sampled.

    With a seed each has its own, since one seed for all would make them equal.
    """
    if count == 1:
        return {}
    seed = {} if settings.seed is None else {"seed": settings.seed + number}
    return {"temperature": settings.sample_temperature, **seed}


async def vote(state: SamplesState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Choose the answer of the majority, equal but for case, punctuation and articles; of a tie the first (CoT-SC).

    Samples without an answer do not vote; without any the question is unanswerable. Writes the keys of a final
    answer, with the reasoning of the first sample that gave it; no call.
    """
    answers = [draft["answer"] for draft in state["drafts"]]
    chosen = majority_answer(answers)
    emit(runtime, Voted(answers=list(answers), chosen=chosen))
    return reading_update(answer_of_sample(state["drafts"], chosen), runtime, limit=state["stop_reason"])


def answer_of_sample(drafts: Sequence[Draft], chosen: int | None) -> ReadAnswer:
    """Turn the chosen sample into the reading of the question; None into one without an answer."""
    if chosen is None:
        return ReadAnswer("", drafts[0]["reasoning"] if drafts else "", [])
    draft = drafts[chosen]
    return ReadAnswer(draft["answer"], draft["reasoning"], draft["evidence"])


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
    recalls = await asyncio.to_thread(citation_recalls, checker, drafts, passages, state["question"])
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
