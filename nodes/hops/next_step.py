"""The reply of a model asked for the next question on the way to an answer, or for the answer."""

import re
from dataclasses import dataclass, replace
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, TypeAdapter, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import override

from hopgraph.nodes.core.reply_text import (
    LongText,
    ReplyModel,
    ShortText,
    ShownNumbers,
    is_dont_know,
    short_answer,
)
from hopgraph.nodes.reading import AnswerReply
from hopgraph.state.records import UNANSWERABLE
from hopgraph.tools.prompts import clean


@dataclass(frozen=True)
class Deduction:
    """The model's decision: ask a question, or end with an answer."""

    question: str = ""
    """Empty when there is a final answer."""
    generated: str = ""
    """The immediate answer to the question; empty if the model gave none."""
    thought: str = ""
    final: AnswerReply | None = None
    earlier: AnswerReply | None = None
    """The answer to the previous question, for the role that gives it in the same reply."""


def _said(text: str) -> str:
    return " ".join(clean(text).split())


def _known(answer: str) -> str:
    return UNANSWERABLE if is_dont_know(answer) else answer


_Ignored = SkipJsonSchema[Annotated[str, BeforeValidator(lambda _: "")]]


class FollowUp(ReplyModel):
    """A reply of the role `follow_up`; fields that only other roles use are ignored."""

    thought: _Ignored = ""
    intermediate_answer: _Ignored = ""
    used_passages: SkipJsonSchema[Annotated[list[int], BeforeValidator(lambda _: list[int]())]] = Field(
        default_factory=list[int]
    )
    sub_question: ShortText = ""
    answer: _Ignored = ""
    final_answer: ShortText = ""

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if not _said(self.sub_question) and not _said(self.final_answer):
            raise ValueError("neither sub_question nor final_answer is given")
        return self

    def deduction(self) -> Deduction:
        """Return what the model wants; a final answer takes precedence over a question, unless it answers nothing."""
        final, used = _said(self.final_answer), self.used_passages
        earlier = AnswerReply(answer=_known(self.intermediate_answer), used_passages=used)
        if _said(self.sub_question) and (not short_answer(final) or is_dont_know(final)):
            return Deduction(_said(self.sub_question), self.answer, self.thought, earlier=earlier)
        return Deduction(final=AnswerReply(answer=_known(final), used_passages=used), earlier=earlier)

    @classmethod
    def asking(cls, question: str) -> Self:
        """Return the reply that asks a question."""
        return cls(sub_question=question)


class NextQuestion(FollowUp):
    """A reply of the role `deduce`: a thought, then a question with the immediate answer to it."""

    thought: LongText = ""
    answer: ShortText = ""


class ReasoningStep(FollowUp):
    """A reply of the role `continue_reasoning`: a thought, then a search or the answer."""

    thought: LongText = ""

    @override
    def deduction(self) -> Deduction:
        """Return what the model wants; the thought explains a final answer."""
        wish = super().deduction()
        final = wish.final and wish.final.model_copy(update={"reasoning": clean(self.thought).strip()})
        return replace(wish, final=final)


class JointFollowUp(FollowUp):
    """A reply of the role `follow_up_jointly`: the answer to the last question, then the next one."""

    intermediate_answer: ShortText = ""
    used_passages: ShownNumbers = Field(default_factory=list[int])


_TEXT = TypeAdapter(ShortText)
_ACTION = re.compile(r"\s*(?P<name>search|finish)\s*\[(?P<text>.*)\]\s*\Z", re.IGNORECASE | re.DOTALL)


class Action(ReplyModel):
    """A reply of the role `act`: a thought, then `search[query]` or `finish[answer]`."""

    thought: ShortText = ""
    action: str = Field(json_schema_extra={"pattern": r"^(search|finish)\[[^\[\]\n]{1,300}\]$"})
    """The text in the brackets is limited like a `ShortText`."""
    used_passages: ShownNumbers = Field(default_factory=list[int])

    @field_validator("action")
    @classmethod
    def _is_known(cls, action: str) -> str:
        parts = _ACTION.match(action)
        if parts is None or not _said(parts["text"]):
            raise ValueError("expected search[query] or finish[answer]")
        _TEXT.validate_python(parts["text"])
        return action

    def deduction(self) -> Deduction:
        """Return what the model wants."""
        parts = _ACTION.match(self.action)
        text = _said(parts["text"]) if parts else ""
        if parts and parts["name"].casefold() == "finish":
            said = AnswerReply(reasoning=self.thought, answer=_known(text), used_passages=self.used_passages)
            return Deduction(final=said)
        return Deduction(question=text, thought=self.thought)

    @classmethod
    def asking(cls, question: str) -> Self:
        """Return the reply that asks a question."""
        return cls(action=f"search[{question}]")


NextStep = FollowUp | Action
"""A reply of any role that gives the next question or the final answer."""
