"""Sample answers: chains of thought over what was kept, their short answers, and the choice among them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import (
    CallResult,
    ModelCall,
    answer_type_variable,
    ask_all,
    calls_of,
    ran_out_of_budget,
    usage_update,
    without_yes_no,
)
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, knowledge_passage, normalized_query, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import kept_passages, read_answer, reader_ask, reading_update
from hopgraph.state import Context, Draft, Evidence, MethodState, Passage, Update
from hopgraph.state.baselines import SamplesState, SamplingContext
from hopgraph.state.blendfilter import BlendFilterContext, BlendFilterState
from hopgraph.state.events import Compared, Sampled, Shortened, Voted
from hopgraph.state.records import UNANSWERABLE
from hopgraph.tools.io.background import LONG_SPLIT, maybe_to_thread
from hopgraph.tools.prompts import Value
from hopgraph.tools.resources import get_entailment_checker
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.comparison import normalize_answer


@with_passage_review("knowledge")
async def draft_answers(state: BlendFilterState, runtime: Runtime[BlendFilterContext]) -> Update:
    """Answer step by step from the kept passages (BlendFilter, section 3.4), for all samples concurrently.

    An answer that names no passage cites one of the model's own. Samples without a usable reply are left out;
    without any, the earlier chain of thought is used. Writes `drafts`, and `passages`.
    """
    settings, (excerpts, shown) = runtime.context, kept_passages(state)
    wanted = reader_ask(state["question"], settings, step="answer_step_by_step", passages=shown or None)
    samples = [sampling_at(top_p, settings.temperature) for top_p in settings.sample_top_p] or [{}]
    answers = await ask_all(
        runtime, state, [replace(wanted, sample=number, sampling=sampling) for number, sampling in enumerate(samples)]
    )
    drafts = [
        read_answer(
            answered, without_yes_no(settings), excerpts, evidence_id=f"1.1.{number}", question=state["question"]
        )
        for number, answered in enumerate(answers, start=1)
        if answered.outcome == "replied"
    ] or [Draft(**each) for each in state["reasoned"]]
    return {
        "drafts": drafts,
        "passages": _own_words(drafts),
        "cut_off": ran_out_of_budget(answers),
        "calls": calls_of(answers),
    }


def sampling_at(top_p: float, temperature: float | None) -> dict[str, float]:
    """Return the options for sampling from the most likely words that make up `top_p` of the probability.

    At 0, use a temperature of 0, as some servers refuse that top_p; above it, the settings' temperature, else 1, not 0.
    """
    if top_p <= 0:
        return {"temperature": 0.0}
    return {"temperature": temperature or 1.0, "top_p": top_p}


def _own_words(drafts: Sequence[Draft]) -> list[Passage]:
    """Let each draft whose answer names no passage cite one of the model's own, with the draft's text."""
    own: list[Passage] = []
    for number, draft in enumerate(drafts, start=1):
        if draft["answer"] and not draft["evidence"]:
            said = draft["reasoning"] or draft["answer"]
            own.append(knowledge_passage(f"1.{number}", said))
            ids = [own[-1]["id"]]
            draft["evidence"] = [
                Evidence(id=f"1.1.{number}", statement=said, passage_ids=ids, quote="", verified=False)
            ]
    return own


class ShortAnswer(ReplyModel):
    """A reply of the role `shorten`."""

    answer: ShortText


async def shorten(state: BlendFilterState, runtime: Runtime[Context]) -> Update:
    """Extract a short answer from each chain of thought, yes or no if requested (BlendFilter, appendix F).

    With `abstain`, a chain without an answer needs no call; without a reply, the chain's own is kept. The answer is the
    majority's, the first in a tie (*ours*; the paper scores the best of three). Writes `sampled`,
    `answer`, `explanation`, `evidence`, `used` and `stop_reason`.
    """
    settings, drafts = runtime.context, state["drafts"]
    said = [
        number
        for number, draft in enumerate(drafts)
        if draft["answer"] or (draft["reasoning"] and not settings.abstain)
    ]
    answers = await ask_all(
        runtime, state, [_short_ask(state["question"], drafts[number], settings, sample=number) for number in said]
    )
    replies = dict(zip(said, answers, strict=True))
    sampled = [_short(draft, replies.get(number), settings) for number, draft in enumerate(drafts)]
    cut_off = state["cut_off"] or ran_out_of_budget(answers)
    chosen = majority_answer(sampled)
    nothing = Draft(reasoning="", answer="", evidence=[])
    reading: Draft = nothing if chosen is None else {**drafts[chosen], "answer": sampled[chosen]}
    emit(runtime, Shortened(sampled=list(sampled)))
    return {
        **reading_update(reading, runtime, limit="budget" if cut_off else None),
        "sampled": [each for each in sampled if each],
        "calls": calls_of(answers),
    }


def _short_ask(question: str, draft: Draft, settings: Context, *, sample: int) -> ModelCall[ShortAnswer]:
    said = " ".join(part for part in (draft["reasoning"], f"The answer is: {draft['answer']}") if part)
    reasoning = said if draft["answer"] else draft["reasoning"]
    variables: dict[str, Value] = {"reasoning": reasoning, "question": question, **answer_type_variable(settings)}
    return ModelCall("shorten", variables, ShortAnswer, ShortAnswer(answer=draft["answer"] or UNANSWERABLE), sample)


def _short(draft: Draft, answered: CallResult[ShortAnswer] | None, settings: Context) -> str:
    yes_no = settings.answer_type == "yes_no"
    shorter = short_answer(answered.record.answer, yes_no=yes_no) if answered else ""
    return shorter or short_answer(draft["answer"], yes_no=yes_no)


def majority_answer(answers: Sequence[str]) -> int | None:
    """Return the index of the most frequent answer, as counted by `count_votes`; None if all are empty."""
    votes = count_votes(answers)
    return votes.index(max(votes)) if any(votes) else None


def count_votes(answers: Sequence[str]) -> list[int]:
    """Count for each answer the equal ones, ignoring case, punctuation and articles; 0 for an empty one."""
    said = [normalize_answer(answer) or normalized_query(answer) or answer for answer in answers]
    votes = Counter(each for each, answer in zip(said, answers, strict=True) if answer)
    return [votes[each] for each in said]


def make_sample_answers_node(*, own_knowledge: bool = False) -> Node:
    """Return the node that samples chains of thought concurrently, over passages or `own_knowledge`."""

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
    """Return the sampling options for one of several replies to a prompt, numbered from 0; a single one is not sampled.

    With a seed, each gets its own, since one seed for all would make them equal.
    """
    if count == 1:
        return {}
    seed = {} if settings.seed is None else {"seed": settings.seed + number}
    return {"temperature": settings.sample_temperature, **seed}


async def vote(state: SamplesState, runtime: Runtime[Context]) -> Update:
    """Write the majority's answer, with the reasoning of the first that gave it; ties go to the first (CoT-SC)."""
    answers = [draft["answer"] for draft in state["drafts"]]
    chosen = majority_answer(answers)
    emit(runtime, Voted(answers=list(answers), chosen=chosen))
    return reading_update(answer_of_sample(state["drafts"], chosen), runtime, limit=state["stop_reason"])


def answer_of_sample(drafts: Sequence[Draft], chosen: int | None) -> Draft:
    """Return the chosen sample; if none is chosen, the first one's reasoning without an answer."""
    if chosen is None:
        return Draft(reasoning=drafts[0]["reasoning"] if drafts else "", answer="", evidence=[])
    return drafts[chosen]


async def best_cited(state: SamplesState, runtime: Runtime[Context]) -> Update:
    """Choose the sample with the best citation recall; ties go to the first, never to one without an answer (RERANK).

    Citation recall, in [0, 1]: the share of a sample's statements (sentences of its reasoning) that its citations
    entail together; 0 if it cites or states nothing. Writes the keys of a final answer.
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
