"""Answer from each passage by itself, and take the answer that is criticized best."""

from collections.abc import Mapping
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from hopgraph.nodes.answer import ReadAnswer, excerpts_of_all_queries, reader_ask, reading_update
from hopgraph.nodes.core.ask import Ask, AskResult, ask_all, calls_of, yes_no_variable
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.reflection_tokens import (
    RELEVANCE,
    SUPPORT,
    UTILITY,
    instruction,
    likelihood,
    plain_text,
    with_passage,
    worth,
)
from hopgraph.nodes.core.reply_text import UNANSWERABLE, ReplyModel, ShortText, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Evidence
from hopgraph.state.baselines import SelfRagContext, SelfRagState
from hopgraph.state.events import AnswersScored, Sampled
from hopgraph.tools.models.completions import TextRequest, TokenLogprobs

_MOST_TOKENS = 100
"""Of an answer with its reflection tokens."""


class CritiqueReply(ReplyModel):
    """A reply of the role `critique`: an answer from one passage, and what it is worth."""

    relevant: bool
    answer: ShortText
    support: Literal["full", "partial", "none"]
    utility: int = Field(ge=1, le=5)


@with_passage_review("knowledge")
async def critique(state: SelfRagState, runtime: Runtime[SelfRagContext]) -> Mapping[str, Any]:
    """Answer from each kept passage, side by side, and choose the answer with the highest score (Self-RAG).

    The score is the likelihood of what was written (0 for records, which have none) and, by their weights, relevance
    and support, in [0, 1], and utility, in [-1, 1]. Of a tie the first passage's answer is chosen; one that abstains,
    cannot be read or was not reached by the budget, never. Without passages, the model answers from what it knows.
    Writes the keys of a final answer, which rests on its passage.
    """
    settings, excerpts = runtime.context, excerpts_of_all_queries(state["knowledge"])
    shown = prompt_passages(excerpts, passages_by_id(state["passages"]))
    wanted = [_critique_ask(state["question"], settings, each) for each in shown or [None]]
    replies = await ask_all(runtime, state, wanted)
    answers = [_answer(each, settings) for each in replies]
    scores = [_score(each.record, settings) if said else 0.0 for each, said in zip(replies, answers, strict=True)]
    answered = [number for number, said in enumerate(answers) if said]
    chosen = max(answered, key=lambda number: scores[number], default=None)  # max takes the first
    emit(runtime, Sampled(answers=[*answers]))
    emit(runtime, AnswersScored(answers=answers, scores=scores, chosen=chosen))
    answer = "" if chosen is None else answers[chosen]
    reading = ReadAnswer(answer, "", [])
    if chosen is not None and excerpts:
        said, ids = f"{state['question']} {answer}", [excerpts[chosen]["passage_id"]]
        reading.evidence.append(Evidence(id="1.1.1", statement=said, passage_ids=ids, quote="", verified=False))
    cut_off = any(each.outcome == "budget" for each in replies)
    limit = "budget" if cut_off else state["stop_reason"]
    return {**reading_update(reading, runtime, limit=limit), "calls": calls_of(replies)}


def _critique_ask(question: str, settings: SelfRagContext, passage: Mapping[str, str] | None) -> Ask[Any]:
    step, given = ("critique", {"passages": [passage]}) if passage else ("answer", {})
    variables = {**given, "question": question, **yes_no_variable(settings)}
    if settings.reflection == "tokens":
        before = instruction(question, yes_no=settings.answer_type == "yes_no")
        prompt = with_passage(before, passage) if passage else f"{before}[No Retrieval]"
        text = TextRequest(prompt=prompt, max_tokens=_MOST_TOKENS)
        return Ask(step, variables, TokenLogprobs, TokenLogprobs(tokens=[]), text=text)
    if not passage:
        return reader_ask(question, settings)
    nothing = CritiqueReply(relevant=False, answer=UNANSWERABLE, support="none", utility=1)
    return Ask(step, variables, CritiqueReply, nothing)


def _answer(answered: AskResult[Any], settings: SelfRagContext) -> str:
    record = answered.record
    said: str = plain_text(record) if isinstance(record, TokenLogprobs) else record.answer
    return short_answer(said, yes_no=settings.answer_type == "yes_no")


def _score(record: Any, settings: SelfRagContext) -> float:
    likely = relevance = support = utility = 0.0
    if isinstance(record, TokenLogprobs):
        likely = likelihood(record)
        relevance, support, utility = (worth(record, group) for group in (RELEVANCE, SUPPORT, UTILITY))
    elif isinstance(record, CritiqueReply):
        relevance, utility = float(record.relevant), (record.utility - 3) / 2
        support = {"full": 1.0, "partial": 0.5, "none": 0.0}[record.support]
    weighted = settings.relevance_weight * relevance + settings.support_weight * support
    return likely + weighted + settings.utility_weight * utility
