"""Decide whether the question can be answered, or what is missing."""

import re
from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import BeforeValidator, Field, field_validator

from hopgraph.nodes.core.ask import CallResult, ModelCall, answer_type_variable, ask, calls_of
from hopgraph.nodes.core.budget import is_exhausted
from hopgraph.nodes.core.evidence_review import with_statement_review
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText, ShownNumbers, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import BudgetState, StopReason, Update
from hopgraph.state.events import Decided
from hopgraph.state.migres import MigresContext, MigresState
from hopgraph.state.records import UNANSWERABLE
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import Value, clean

_CALLS_OF_AN_ITERATION = 4
"""Minimum calls of one more iteration: queries, an extraction, a decision, and the final answer."""


def _in_range(value: object) -> int | None:
    found = re.match(r"\s*(\d{1,6}(?:\.\d+)?)", str(value))
    return min(max(round(float(found[1])), 1), 5) if found else None


Confidence = Annotated[int | None, BeforeValidator(_in_range)]
"""1 to 5, as the model states it; None if it does not."""


class DecidedAnswer(ReplyModel):
    """The answer part of a decision."""

    text: ShortText
    confidence: Confidence = None


class Decision(ReplyModel):
    """A reply of the roles `decide` and `final_answer`."""

    answer: DecidedAnswer
    explanation: LongText = ""
    missing_information: LongText = ""
    used_information: ShownNumbers = Field(default_factory=list[int])
    """*Ours*: the numbers of the statements that support the answer."""

    @field_validator("answer", mode="before")
    @classmethod
    def _plain_answer(cls, value: object) -> object:
        return {"text": value} if isinstance(value, str | int | float) else value


@with_statement_review
async def decide(state: MigresState, runtime: Runtime[MigresContext]) -> Update:
    """Answer from the evidence, or state what is missing (the Main Module, section 3.2).

    After the first iteration, no call is made if nothing new was found (as in the authors' code), unless a person
    reviews the statements. "Unanswerable" leaves `answer` empty; an unusable reply counts as that, with the
    whole question missing.
    `stop_reason` becomes `answered` with an answer; else `budget` if too little is left for one more iteration; else
    `max_iterations` at the last one; else it is unchanged, and it continues. Reads `question`, `evidence`, `passages`
    and `iteration`. Writes `answer`, `explanation`, `confidence`, `missing`, `used` and `stop_reason`.
    """
    settings = runtime.context
    fallback = Decision(answer=DecidedAnswer(text=UNANSWERABLE), missing_information=state["question"])
    is_new = any(each["id"].startswith(f"{state['iteration']}.") for each in state["evidence"])
    if is_new or state["iteration"] == 1 or settings.review_evidence:
        answered = await ask(runtime, state, ModelCall("decide", _variables(state, settings), Decision, fallback))
        update, cut_off = _read(answered, state, settings), answered.outcome == "budget"
        emit(runtime, Decided.from_record(update, final=False))
    else:
        update, cut_off = Update(answer="", missing=state["missing"], calls={}), False
    spent = BudgetState(calls={**state["calls"], **update["calls"]}, started_at=state["started_at"])
    if update["answer"]:
        update["stop_reason"] = "answered"
    elif cut_off or is_exhausted(settings, spent, _CALLS_OF_AN_ITERATION):
        update["stop_reason"] = "budget"
    elif state["iteration"] >= settings.max_iterations:
        update["stop_reason"] = "max_iterations"
    return update


async def final_answer(state: MigresState, runtime: Runtime[MigresContext]) -> Update:
    """Give the best answer that the evidence supports, or none (*ours*); writes what `decide` writes.

    A limit in `stop_reason` is kept. Without a usable reply the answer is empty, or without `abstain` the last one.
    """
    settings = runtime.context
    found = [] if settings.abstain else state["evidence"]
    text = found[-1]["statement"][:MAX_TEXT_CHARACTERS] if found else UNANSWERABLE
    fallback = Decision(answer=DecidedAnswer(text=text), used_information=[len(found)])
    answered = await ask(runtime, state, ModelCall("final_answer", _variables(state, settings), Decision, fallback))
    update = _read(answered, state, settings)
    ended: StopReason = "answered" if update["answer"] else "unanswerable"
    update["stop_reason"] = state["stop_reason"] or ("budget" if answered.outcome == "budget" else ended)
    emit(runtime, Decided.from_record(update, final=True))
    return update


def _variables(state: MigresState, settings: MigresContext) -> dict[str, Value]:
    statements = [each["statement"] for each in state["evidence"]]
    return {"information": statements, "question": state["question"], **answer_type_variable(settings)}


def _read(answered: CallResult[Decision], state: MigresState, settings: MigresContext) -> Update:
    decision, evidence = answered.record, state["evidence"]
    text = short_answer(decision.answer.text, yes_no=settings.answer_type == "yes_no")  # empty for "unanswerable"
    missing, explanation = clean(decision.missing_information).strip(), clean(decision.explanation).strip()
    used = [evidence[number - 1]["id"] for number in decision.used_information if 1 <= number <= len(evidence)]
    return {
        "answer": text,
        "explanation": explanation,
        "confidence": decision.answer.confidence if text else None,
        "missing": "" if text else missing or explanation or state["question"],
        "used": list(dict.fromkeys(used)) if text else [],
        "calls": calls_of([answered]),
    }
