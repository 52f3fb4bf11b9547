"""Decide whether to retrieve, answer from each passage, and choose the answer with the best critique."""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from hopgraph.nodes.core.ask import (
    ModelCall,
    answer_type_variable,
    ask,
    ask_all,
    calls_of,
    ran_out_of_budget,
    usage_update,
)
from hopgraph.nodes.core.evidence_review import with_passage_review
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import kept_passages, reader_ask, reading_update
from hopgraph.nodes.self_knowledge import SelfKnowledge
from hopgraph.state import Draft, Evidence, Update
from hopgraph.state.baselines import SelfRagContext, SelfRagState
from hopgraph.state.events import AnswersScored, RetrievalDecided, Sampled
from hopgraph.state.records import UNANSWERABLE
from hopgraph.tools.models.completions import TextRequest, TokenLogprobs
from hopgraph.tools.prompts import escape

RETRIEVAL = {"[Retrieval]": 1.0, "[No Retrieval]": 0.0}
RELEVANCE = {"[Relevant]": 1.0, "[Irrelevant]": 0.0}
SUPPORT = {"[Fully supported]": 1.0, "[Partially supported]": 0.5, "[No support / Contradictory]": 0.0}
UTILITY = {f"[Utility:{stars}]": (stars - 3) / 2 for stars in range(1, 6)}
"""Groups of tokens of which one is written at a position; each with its value."""

_TOKENS = [*RETRIEVAL, *RELEVANCE, *SUPPORT, *UTILITY, "[Continue to Use Evidence]"]
_WRITTEN = re.compile("|".join(map(re.escape, [*_TOKENS, "<s>", "</s>"])))
_LOOKS_LIKE_ONE = re.compile(
    rf"\[(?=\s*(?:{'|'.join(re.escape(each[1:6]) for each in _TOKENS)}))|#(?=##)", re.IGNORECASE
)
_MOST_TOKENS = 100  # of an answer with its reflection tokens


class CritiqueReply(ReplyModel):
    """A reply of the role `critique`: an answer from one passage, and its ratings."""

    relevant: bool
    answer: ShortText
    support: Literal["full", "partial", "none"]
    utility: int = Field(ge=1, le=5)


async def decide_retrieval(state: SelfRagState, runtime: Runtime[SelfRagContext]) -> Update:
    """Retrieve if the share of Retrieval exceeds the threshold, since the model does not know the answer (Self-RAG).

    With reflection tokens it is the share among the two retrieval tokens; with records 1 where the model says that it
    cannot answer, else 0. An unusable reply leads to a retrieval. A threshold of 0 or 1 needs no call. Writes
    `needs_retrieval`.
    """
    settings, question = runtime.context, state["question"]
    if settings.retrieval_threshold in (0.0, 1.0):
        return {"needs_retrieval": settings.retrieval_threshold == 0.0}
    wanted: ModelCall[Any] = ModelCall(
        "self_knowledge", {"question": question}, SelfKnowledge, SelfKnowledge(known=False)
    )
    if settings.reflection == "tokens":
        text = TextRequest(prompt=instruction(question, yes_no=settings.answer_type == "yes_no"))
        wanted = ModelCall(wanted.step, wanted.variables, TokenLogprobs, TokenLogprobs(tokens=[]), text=text)
    answered = await ask(runtime, state, wanted)
    if isinstance(answered.record, SelfKnowledge):
        share = float(not answered.record.known)
    else:
        share = worth(answered.record, RETRIEVAL, missing=1.0)
    needed = share > settings.retrieval_threshold
    emit(runtime, RetrievalDecided(share=share, needed=needed))
    return {"needs_retrieval": needed, **usage_update(state, [answered])}


@with_passage_review("knowledge")
async def critique(state: SelfRagState, runtime: Runtime[SelfRagContext]) -> Update:
    """Answer from each kept passage, concurrently, and choose the answer with the highest score (Self-RAG).

    The score is the likelihood of the text (0 for records) plus the weighted relevance and support, in [0,
    1], and utility, in [-1, 1]. Ties go to the first; an empty answer never wins. No passages: from own knowledge.
    Writes the keys of a final answer.
    """
    settings, (excerpts, shown) = runtime.context, kept_passages(state)
    wanted = [_critique_ask(state["question"], settings, each) for each in shown or [None]]
    replies = await ask_all(runtime, state, wanted)
    said = [each.record for each in replies]
    texts: list[str] = [plain_text(each) if isinstance(each, TokenLogprobs) else each.answer for each in said]
    answers = [short_answer(each, yes_no=settings.answer_type == "yes_no") for each in texts]
    scores = [_score(each, settings) if answer else 0.0 for each, answer in zip(said, answers, strict=True)]
    answered = [number for number, answer in enumerate(answers) if answer]
    chosen = max(answered, key=lambda number: scores[number], default=None)  # max takes the first
    emit(runtime, Sampled(answers=[*answers]))
    emit(runtime, AnswersScored(answers=answers, scores=scores, chosen=chosen))
    answer = "" if chosen is None else answers[chosen]
    reading = Draft(reasoning="", answer=answer, evidence=[])
    if chosen is not None and excerpts:
        stated, ids = f"{state['question']} {answer}", [excerpts[chosen]["passage_id"]]
        reading["evidence"].append(Evidence(id="1.1.1", statement=stated, passage_ids=ids, quote="", verified=False))
    limit = "budget" if ran_out_of_budget(replies) else state["stop_reason"]
    return {**reading_update(reading, runtime, limit=limit), "calls": calls_of(replies)}


def _critique_ask(question: str, settings: SelfRagContext, passage: Mapping[str, str] | None) -> ModelCall[Any]:
    step, given = ("critique", {"passages": [passage]}) if passage else ("answer", {})
    variables = {**given, "question": question, **answer_type_variable(settings)}
    if settings.reflection == "tokens":
        before = instruction(question, yes_no=settings.answer_type == "yes_no")
        prompt = with_passage(before, passage) if passage else f"{before}[No Retrieval]"
        text = TextRequest(prompt=prompt, max_tokens=_MOST_TOKENS)
        return ModelCall(step, variables, TokenLogprobs, TokenLogprobs(tokens=[]), text=text)
    if not passage:
        return reader_ask(question, settings)
    nothing = CritiqueReply(relevant=False, answer=UNANSWERABLE, support="none", utility=1)
    return ModelCall(step, variables, CritiqueReply, nothing)


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


def instruction(question: str, *, yes_no: bool = False) -> str:
    """Return the prompt up to the first token that the model writes."""
    asked = f"{_plain(question)} Answer yes or no." if yes_no else _plain(question)
    return f"### Instruction:\n{asked}\n\n### Response:\n"


def with_passage(before: str, passage: Mapping[str, str]) -> str:
    """Return the prompt up to the answer from a passage, whose text contains no token or tag."""
    return f"{before}[Retrieval]<paragraph>{_plain(passage['title'])}\n{_plain(passage['text'])}</paragraph>"


def _plain(text: str) -> str:
    return _LOOKS_LIKE_ONE.sub("(", escape(text))


def worth(written: TokenLogprobs, group: Mapping[str, float], missing: float = 0.0) -> float:
    """Return the probability-weighted value of a group's tokens at the first position that has one, if any."""
    for token in written.tokens:
        if token.text.strip() in group:
            likely = {name.strip(): math.exp(each) for name, each in ({token.text: token.logprob} | token.top).items()}
            total = sum(likely.get(name, 0.0) for name in group)
            return sum(value * likely.get(name, 0.0) for name, value in group.items()) / total if total else missing
    return missing


def likelihood(written: TokenLogprobs) -> float:
    """Return the geometric mean of the tokens' probabilities, in [0, 1]; 0.0 without any."""
    return math.exp(written.total / len(written.tokens)) if written.tokens else 0.0


def plain_text(written: TokenLogprobs) -> str:
    """Return the text without reflection tokens."""
    return _WRITTEN.sub("", "".join(token.text for token in written.tokens)).strip()
