"""From one record of a data set to a question with its answers and gold passages."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, Field, JsonValue, StringConstraints

from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop, GoldSentence
from hopgraph.tools.retrieval.corpora import hash_passage, join_sentences
from hopgraph.tools.retrieval.corpora.formats import split_hotpotqa_context


def _write_value(value: object) -> object:
    """Write a number or a truth value as an answer; a whole number has no decimals, though pandas gives it some."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and math.isfinite(value):
        return f"{value:.0f}" if value % 1 == 0 else str(value)
    return value


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Value = Annotated[str, BeforeValidator(_write_value)]
_Answer = Annotated[_Text, BeforeValidator(_write_value)]
_WIKIPEDIA_PARAGRAPH = re.compile(r"(.+)-\d+")


class QuestionRecord(BaseModel, ABC):
    """A question as a data set has it."""

    question: _Text

    @abstractmethod
    def to_question(self, number: int) -> EvalQuestion:
        """Return the question; `number` is the id of one that has none. MalformedError: passages of another shape."""


class _Paragraph(BaseModel):
    title: str = ""
    text: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        validation_alias=AliasChoices("paragraph_text", "text")
    )
    gold: bool = Field(default=False, validation_alias=AliasChoices("is_supporting", "isgold"))

    @property
    def passage(self) -> ContextPassage:
        """With the id that it has in an index of the file."""
        return ContextPassage(hash_passage(self.title, self.text), self.title, self.text)


class _Columns(BaseModel):
    title: list[str]
    sent_id: list[int] = []


class _HotpotQa(QuestionRecord):
    """Also of 2WikiMultihopQA; gold are the paragraphs of its supporting facts."""

    id: str = Field(validation_alias=AliasChoices("_id", "id"))
    answer: _Answer
    type: str = ""
    context: JsonValue = None
    supporting_facts: list[tuple[str, int]] | _Columns
    evidences: list[tuple[str, str, str]] = []

    def to_question(self, number: int) -> EvalQuestion:
        facts = self.supporting_facts
        if isinstance(facts, _Columns):
            facts = list(zip(facts.title, facts.sent_id or [-1] * len(facts.title), strict=False))
        titles = tuple(dict.fromkeys(title for title, _ in facts))
        passages: list[ContextPassage] = []
        sentences: list[GoldSentence] = []
        for name, lines in split_hotpotqa_context({"context": self.context}):
            text = join_sentences(lines)
            passages.append(ContextPassage(hash_passage(name, text), name, text))
            for title, number in facts:
                if title == name and 0 <= number < len(lines):  # some are beyond the end
                    sentences.append(GoldSentence(passages[-1].id, lines[number].strip()))
        contexts = _with_text(passages)
        return EvalQuestion(
            id=self.id,
            question=self.question,
            answers=(self.answer,),
            type=self.type,
            gold=tuple(each.id for each in contexts if each.title in titles),
            gold_titles=titles,
            sentences=tuple(sentences),
            triples=tuple(self.evidences),
            contexts=contexts,
        )


class _Step(BaseModel):
    question: _Text
    answer: _Value = ""
    paragraph_support_idx: int | None = None


class _Musique(QuestionRecord):
    """Its type is the shape of its decomposition, as in its id."""

    id: str
    answer: _Answer
    answer_aliases: list[_Value] = []
    answerable: bool = True
    paragraphs: list[_Paragraph]
    question_decomposition: list[_Step] = []

    def to_question(self, number: int) -> EvalQuestion:
        answers = tuple(dict.fromkeys([self.answer, *self.answer_aliases])) if self.answerable else ()
        kind, separator, _ = self.id.partition("__")
        ids: dict[int | None, tuple[str]] = {n: (each.passage.id,) for n, each in enumerate(self.paragraphs)}
        hops = tuple(
            GoldHop(step.question, step.answer, ids.get(step.paragraph_support_idx, ()))
            for step in self.question_decomposition
        )
        name = unique_musique_id(self.id, answerable=self.answerable)
        question = EvalQuestion(name, self.question, answers, kind if separator else "", hops=hops)
        return _with_paragraphs(question, self.paragraphs)


def unique_musique_id(name: str, *, answerable: bool) -> str:
    """Return an id of its own: in MuSiQue's Full edition an unanswerable question has that of its answerable twin."""
    return name if answerable else f"{name}/unanswerable"


class _OpenDomain(QuestionRecord):
    """As in NQ, with or without passages; also a user's own questions, with one answer or several, and FlashRAG's."""

    id: str | int | None = None
    type: str = ""
    answers: _Answer | Annotated[list[_Answer], Field(min_length=1)] = Field(
        validation_alias=AliasChoices("answers", "golden_answers", "answer")
    )
    ctxs: list[_Paragraph] = []

    def to_question(self, number: int) -> EvalQuestion:
        name = str(number if self.id is None else self.id)
        answers = [self.answers] if isinstance(self.answers, str) else self.answers
        return _with_paragraphs(EvalQuestion(name, self.question, tuple(answers), self.type), self.ctxs)


class _TriviaQa(QuestionRecord):
    id: str = Field(validation_alias=AliasChoices("QuestionId", "question_id"))
    question: _Text = Field(validation_alias=AliasChoices("Question", "question"))
    answer: _Answer = Field(validation_alias=AliasChoices(AliasPath("Answer", "Value"), AliasPath("answer", "value")))
    aliases: list[_Value] = Field(
        default=[], validation_alias=AliasChoices(AliasPath("Answer", "Aliases"), AliasPath("answer", "aliases"))
    )

    def to_question(self, number: int) -> EvalQuestion:
        return EvalQuestion(self.id, self.question, tuple(dict.fromkeys([self.answer, *self.aliases])))


class _StrategyQa(QuestionRecord):
    """Gold are the paragraphs that any annotator named; BIG-bench's edition has questions and answers alone."""

    question: _Text = Field(validation_alias=AliasChoices("question", "input"))
    qid: str = ""
    answer: bool = Field(validation_alias=AliasChoices("answer", AliasPath("target_scores", "Yes")))
    evidence: JsonValue = None
    decomposition: list[str] = []
    facts: list[str] = []

    def to_question(self, number: int) -> EvalQuestion:
        annotations = self.evidence if isinstance(self.evidence, list) else []
        named = _paragraphs_in(annotations)
        hops: list[GoldHop] = []
        for at, question in enumerate(self.decomposition):
            steps = [each[at] for each in annotations if isinstance(each, list) and at < len(each)]
            hops.append(GoldHop(question, "", tuple(_paragraphs_in(steps))))
        return EvalQuestion(
            id=self.qid or str(number),
            question=self.question,
            answers=("yes" if self.answer else "no",),
            type="yes_no",
            gold=tuple(named),
            gold_titles=tuple(dict.fromkeys(named.values())),
            hops=tuple(hops),
            facts=tuple(self.facts),
        )


class BeirQuery(QuestionRecord):
    """A query of a BEIR folder; answers and type are in its metadata, if any."""

    id: str = Field(validation_alias=AliasChoices("_id", "id"))
    question: _Text = Field(validation_alias="text")
    answers: tuple[_Answer, ...] | None = Field(default=None, validation_alias=AliasPath("metadata", "answers"))
    type: str = Field(default="", validation_alias=AliasPath("metadata", "type"))

    def to_question(self, number: int) -> EvalQuestion:
        """Return the query without its gold passages, which the qrels name."""
        return EvalQuestion(self.id, self.question, self.answers, self.type)


FORMATS: dict[str, tuple[type[QuestionRecord], tuple[str, ...]]] = {
    "strategyqa": (_StrategyQa, ("qid question answer", "input targetscores")),
    "musique": (_Musique, ("question paragraphs",)),
    "2wikimultihopqa": (_HotpotQa, ("question context evidences",)),
    "hotpotqa": (_HotpotQa, ("question context supportingfacts",)),
    "triviaqa": (_TriviaQa, ("question questionid answer",)),
    "questions": (_OpenDomain, ("question answer", "question answers", "question goldenanswers")),
    "nq": (_OpenDomain, ("question",)),
}
"""Files of one record per question, in the order in which they are tried, each with the keys by which the first record
of one of its editions is recognized, in lower case and without underscores; `beir` is a folder."""


def _with_text(passages: Iterable[ContextPassage]) -> tuple[ContextPassage, ...]:
    return tuple(dict.fromkeys(each for each in passages if each.text))


def _with_paragraphs(question: EvalQuestion, paragraphs: list[_Paragraph]) -> EvalQuestion:
    gold = [each.passage for each in paragraphs if each.gold]
    return replace(
        question,
        gold=tuple(dict.fromkeys(each.id for each in gold)),
        gold_titles=tuple(dict.fromkeys(each.title for each in gold)),
        contexts=_with_text(each.passage for each in paragraphs),
    )


def _paragraphs_in(evidence: JsonValue) -> dict[str, str]:
    """Find the ids of Wikipedia paragraphs, with their titles, in the order in which they are named."""
    if isinstance(evidence, list):
        return {name: title for each in evidence for name, title in _paragraphs_in(each).items()}
    match = _WIKIPEDIA_PARAGRAPH.fullmatch(evidence) if isinstance(evidence, str) else None
    return {match[0]: match[1]} if match else {}
