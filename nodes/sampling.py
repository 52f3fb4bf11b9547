"""Sample several answers to the question, and choose one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ask_all, usage_update
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.draft_answers import majority_answer
from hopgraph.nodes.reading import kept_passages, read_answer, reader_ask, reading_update
from hopgraph.state import Context, Draft, MethodState, Passage, Update
from hopgraph.state.baselines import SamplesState, SamplingContext
from hopgraph.state.events import Compared, Sampled, Voted
from hopgraph.tools.io.background import LONG_SPLIT, maybe_to_thread
from hopgraph.tools.resources import get_entailment_checker
from hopgraph.tools.text import split_sentences


def make_sample_answers_node(*, own_knowledge: bool = False) -> Node:
    """Return the node that samples chains of thought, all at the same time, over passages or `own_knowledge`."""

    async def sample_answers(state: MethodState, runtime: Runtime[SamplingContext]) -> Update:
        settings, count = runtime.context, runtime.context.samples
        excerpts, given = ([], None) if own_knowledge else kept_passages(state)
        wanted = reader_ask(state["question"], settings, step="answer_step_by_step", passages=given)
        samples = [replace(wanted, sample=n, sampling=sampling_of(settings, n, count)) for n in range(count)]
        answers = await ask_all(runtime, state, samples)
        drafts = [
            read_answer(answered, settings, excerpts, evidence_id=f"1.1.{number}", question=state["question"])
            for number, answered in enumerate(answers, start=1)
            if answered.outcome != "budget"
        ]
        emit(runtime, Sampled(answers=[draft["answer"] for draft in drafts]))
        return {"drafts": drafts, **usage_update(state, answers)}

    return sample_answers if own_knowledge else with_passage_review("knowledge")(sample_answers)


def sampling_of(settings: SamplingContext, number: int, count: int) -> dict[str, float]:
    """Say how to sample one of several replies to a prompt, numbered from 0; the only one is not sampled.

    With a seed each has its own, since one seed for all would make them equal.
    """
    if count == 1:
        return {}
    seed = {} if settings.seed is None else {"seed": settings.seed + number}
    return {"temperature": settings.sample_temperature, **seed}


async def vote(state: SamplesState, runtime: Runtime[Context]) -> Update:
    """Write the majority's answer, with the reasoning of the first that gave it; of a tie the first (CoT-SC)."""
    answers = [draft["answer"] for draft in state["drafts"]]
    chosen = majority_answer(answers)
    emit(runtime, Voted(answers=list(answers), chosen=chosen))
    return reading_update(answer_of_sample(state["drafts"], chosen), runtime, limit=state["stop_reason"])


def answer_of_sample(drafts: Sequence[Draft], chosen: int | None) -> Draft:
    """Return the chosen sample; where None is chosen, the first one's reasoning without an answer."""
    if chosen is None:
        return Draft(reasoning=drafts[0]["reasoning"] if drafts else "", answer="", evidence=[])
    return drafts[chosen]


async def best_cited(state: SamplesState, runtime: Runtime[Context]) -> Update:
    """Choose the sample with the best citation recall; of a tie the first, and none without an answer (ALCE's RERANK).

    Citation recall, in [0, 1]: the share of a sample's statements (sentences of its reasoning) that what it cites
    entails together; 0 where it cites or states nothing. Writes the keys of a final answer.
    """
    drafts, passages = state["drafts"], passages_by_id(state["passages"])
    checker = await get_entailment_checker(runtime.context)
    long = sum(len(draft["reasoning"]) for draft in drafts) > LONG_SPLIT
    statements = await maybe_to_thread(long, lambda: [_statements(draft, state["question"]) for draft in drafts])
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
