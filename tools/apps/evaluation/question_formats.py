"""The record formats of data sets, and their conversion to questions with answers and gold passages."""

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, cast
from urllib.parse import unquote, urlsplit

import yaml
from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, Field, JsonValue, StringConstraints

from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop, GoldSentence
from hopgraph.tools.retrieval.corpora import hash_passage, join_sentences
from hopgraph.tools.retrieval.corpora.formats import PARAGRAPH_FIELDS, TEXT_FIELDS, split_hotpotqa_context


def read_json_text(value: object) -> object:
    """Parse a field that a table stores as JSON text; other values are unchanged."""
    if isinstance(value, str):
        with suppress(ValueError):
            return json.loads(value)
    return value


def _write_value(value: object) -> object:
    """Return a number or boolean as an answer; whole numbers lose the decimals that pandas adds."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and math.isfinite(value):
        return f"{value:.0f}" if value % 1 == 0 else str(value)
    return value


def _as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [] if value is None else [value]


def _list_answers(value: object) -> list[object]:
    """Return one or several answers as a list, also from a table's text; null (unanswerable) gives an empty list."""
    if isinstance(value, str) and value.lstrip()[:2] in ('["', "['", "[]"):
        try:
            value = yaml.safe_load(value)  # parses both JSON and Python lists
        except yaml.YAMLError:
            raise ValueError("an unreadable list; write it as JSON") from None
    answers = [form for answer in _as_list(value) for form in _list_forms(answer)]
    if any(isinstance(each, str) and not each.strip() for each in answers):
        raise ValueError("empty; use null if the question cannot be answered")
    return answers


def _list_forms(answer: object) -> list[object]:
    """Return the forms of an answer, which may be an object of SQuAD, KILT, Mintaka or ComplexWebQuestions."""
    if not isinstance(answer, dict):
        return [answer]
    known = cast("dict[str, object]", answer)
    names = [key for key in ("text", "mention", "answer", "value") if key in known]
    if not names and "provenance" not in known:  # KILT names further passages without an answer
        raise ValueError(f"an object with {', '.join(known) or 'no keys'}, but without the answer's text")
    return _as_list(known[names[0]] if names else None) + _as_list(known.get("aliases"))


def last_user_message(value: object) -> object:
    """Extract the question from a conversation, as the user's last message; a string is unchanged."""
    for message in reversed(_as_list(value)):
        if isinstance(message, dict) and (said := cast("dict[str, object]", message)).get("role") == "user":
            return said.get("content")
    return value


NonEmptyText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
ScalarText = Annotated[str, BeforeValidator(_write_value)]
AnswerText = Annotated[NonEmptyText, BeforeValidator(_write_value)]
AnswerList = Annotated[list[AnswerText], BeforeValidator(_list_answers)]


class DatasetRecord(BaseModel, ABC):
    """A question in a data set's format."""

    question: NonEmptyText

    @abstractmethod
    def to_question(self, number: int) -> EvalQuestion:
        """Return the question, with `number` as the default id. MalformedError: its passages have another format."""


_LINK = re.compile(r"""https?://\S+?(?=['"]\s*[,\]])""")


class _Document(BaseModel):
    docid: str
    text: str = ""


class BrowseCompPlus(DatasetRecord):
    """Gold are the documents needed to answer; `gold_docs` are those that contain the answer."""

    query_id: str
    question: NonEmptyText = Field(validation_alias="query")
    answer: AnswerText
    evidence_docs: tuple[_Document, ...] = ()
    gold_docs: tuple[_Document, ...] = ()

    def to_question(self, number: int) -> EvalQuestion:
        """Return the question with its documents, but without the hard negatives (megabytes per question)."""
        needed = {
            each.docid: ContextPassage(each.docid, "", each.text) for each in self.evidence_docs or self.gold_docs
        }
        contexts = tuple(each for each in needed.values() if each.text)
        return EvalQuestion(self.query_id, self.question, (self.answer,), gold=tuple(needed), contexts=contexts)


class _Evidence(BaseModel):
    title: str
    fact: str = ""


class MultiHopRag(DatasetRecord):
    """Gold are the articles with the titles of the evidence; a null query cannot be answered from them."""

    question: NonEmptyText = Field(validation_alias="query")
    answer: AnswerText
    question_type: str = ""
    evidence_list: list[_Evidence]

    def to_question(self, number: int) -> EvalQuestion:
        """Return the question with its gold titles and facts."""
        return EvalQuestion(
            id=str(number),
            question=self.question,
            answers=() if self.question_type == "null_query" else (self.answer,),
            type=self.question_type,
            gold_titles=tuple(dict.fromkeys(each.title for each in self.evidence_list)),
            facts=tuple(each.fact for each in self.evidence_list if each.fact),
        )


def _find_links(value: object) -> object:
    """Return the URLs in a list written as text."""
    return _LINK.findall(value) if isinstance(value, str) else value


class Frames(DatasetRecord):
    """Gold are the linked Wikipedia pages."""

    question: NonEmptyText = Field(validation_alias="Prompt")
    answer: AnswerText = Field(validation_alias="Answer")
    reasoning_types: str = ""
    wiki_links: Annotated[list[str], BeforeValidator(_find_links)]

    def to_question(self, number: int) -> EvalQuestion:
        """Return the question with its gold titles."""
        titles = dict.fromkeys(
            unquote(urlsplit(each).path.rpartition("/")[2]).replace("_", " ") for each in self.wiki_links
        )
        return EvalQuestion(str(number), self.question, (self.answer,), self.reasoning_types, gold_titles=tuple(titles))


class Bamboogle(DatasetRecord):
    """A row of Bamboogle, with a second answer in some copies."""

    question: NonEmptyText = Field(validation_alias="Question")
    answer: AnswerText = Field(validation_alias="Answer")
    second: AnswerText | None = Field(default=None, validation_alias="Answer 2")

    def to_question(self, number: int) -> EvalQuestion:
        """Return the question."""
        answers = [self.answer, *([self.second] if self.second else [])]
        return EvalQuestion(str(number), self.question, tuple(dict.fromkeys(answers)))


_QUESTIONS = ("user_input", "query", "problem", "input", AliasPath("inputs", "question"))
_ANSWERS = (
    *("ground_truth", "ground_truths", "reference", "expected_answer", "correct_answer", "gold_answer"),
    *("expected_output", "expected_response", "reference_answer", "target", "ideal", "output"),
    AliasPath("outputs", "answer"),
)
"""Field names of other toolkits for a question and its answers."""
_WIKIPEDIA_PARAGRAPH = re.compile(r"(.+)-\d+")


class _Paragraph(BaseModel):
    title: str = ""
    text: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(validation_alias=AliasChoices(*TEXT_FIELDS))
    gold: bool = Field(default=False, validation_alias=AliasChoices("is_supporting", "isgold"))

    @property
    def passage(self) -> ContextPassage:
        """The passage, with its id in an index of the file."""
        return ContextPassage(hash_passage(self.title, self.text), self.title, self.text)


class _Columns(BaseModel):
    title: list[str]
    sent_id: list[int] = []


class _HotpotQa(DatasetRecord):
    """Also 2WikiMultihopQA, where some editions store lists as text; gold are the paragraphs of supporting facts."""

    id: ScalarText = Field(validation_alias=AliasChoices("_id", "id"))
    answer: AnswerText
    type: str = ""
    context: JsonValue = None
    supporting_facts: Annotated[list[tuple[str, int]] | _Columns, BeforeValidator(read_json_text)]
    evidences: Annotated[tuple[tuple[str, str, str], ...], BeforeValidator(read_json_text)] = ()

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
                if title == name and 0 <= number < len(lines):  # some annotations are out of range
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
            triples=self.evidences,
            contexts=contexts,
        )


class _Step(BaseModel):
    question: NonEmptyText
    answer: ScalarText = ""
    paragraph_support_idx: int | None = None


class _Musique(DatasetRecord):
    """Also HippoRAG's sets; the type is the decomposition's shape, taken from the id."""

    id: str | int | None = None
    answer: AnswerList = Field(validation_alias=AliasChoices("answer", "gold_ans", "reference"))
    answer_aliases: tuple[ScalarText, ...] = ()
    answerable: bool = True
    paragraphs: list[_Paragraph] = Field(validation_alias=AliasChoices(*PARAGRAPH_FIELDS))
    question_decomposition: tuple[_Step, ...] = ()

    def to_question(self, number: int) -> EvalQuestion:
        answers = tuple(dict.fromkeys([*self.answer, *self.answer_aliases])) if self.answerable else ()
        name = str(number if self.id is None else self.id)
        kind, separator, _ = name.partition("__")
        ids: dict[int | None, tuple[str]] = {n: (each.passage.id,) for n, each in enumerate(self.paragraphs)}
        hops = tuple(
            GoldHop(step.question, step.answer, ids.get(step.paragraph_support_idx, ()))
            for step in self.question_decomposition
        )
        name = unique_musique_id(name, answerable=self.answerable)
        question = EvalQuestion(name, self.question, answers, kind if separator else "", hops=hops)
        return _with_paragraphs(question, self.paragraphs)


def unique_musique_id(name: str, *, answerable: bool) -> str:
    """Return a unique id: in MuSiQue's Full edition an unanswerable question shares that of its answerable twin."""
    return name if answerable else f"{name}/unanswerable"


class _OpenDomain(DatasetRecord):
    """Questions as in NQ, with or without passages; also a user's own, with one or several answers."""

    id: str | int | None = None
    question: Annotated[NonEmptyText, BeforeValidator(last_user_message)] = Field(
        validation_alias=AliasChoices("question", *_QUESTIONS)
    )
    type: str = ""
    answers: AnswerList = Field(validation_alias=AliasChoices("answers", "golden_answers", "answer", *_ANSWERS))
    ctxs: list[_Paragraph] = Field(default=[], validation_alias=AliasChoices(*PARAGRAPH_FIELDS))
    gold_titles: tuple[NonEmptyText, ...] = ()

    def to_question(self, number: int) -> EvalQuestion:
        name = str(number if self.id is None else self.id)
        question = EvalQuestion(name, self.question, tuple(self.answers), self.type, gold_titles=self.gold_titles)
        return _with_paragraphs(question, self.ctxs)


class _FlashRag(_OpenDomain):
    """Also Search-R1; `metadata` may be HotpotQA's or 2WikiMultihopQA's."""

    metadata: JsonValue = None

    def to_question(self, number: int) -> EvalQuestion:
        plain, known = super().to_question(number), self.metadata if isinstance(self.metadata, dict) else {}
        facts, context, kind = (known.get(name) for name in ("supporting_facts", "context", "type"))
        plain = replace(plain, type=self.type or (kind if isinstance(kind, str) else ""))
        if not (isinstance(facts, dict) and isinstance(context, dict) and plain.answers):
            return plain
        sentences = context.get("sentences", context.get("content"))
        found = _HotpotQa(
            id=plain.id,
            question=self.question,
            answer=plain.answers[0],
            context={"title": context.get("title"), "sentences": sentences},
            supporting_facts=_Columns.model_validate(facts),
        ).to_question(number)
        return replace(found, answers=plain.answers, type=plain.type)


class _PopQa(_OpenDomain):
    answers: AnswerList = Field(validation_alias="possible_answers")


class _TriviaQa(DatasetRecord):
    id: ScalarText = Field(validation_alias=AliasChoices("QuestionId", "question_id"))
    question: NonEmptyText = Field(validation_alias=AliasChoices("Question", "question"))
    answer: AnswerText = Field(
        validation_alias=AliasChoices(AliasPath("Answer", "Value"), AliasPath("answer", "value"))
    )
    aliases: list[ScalarText] = Field(
        default=[], validation_alias=AliasChoices(AliasPath("Answer", "Aliases"), AliasPath("answer", "aliases"))
    )

    def to_question(self, number: int) -> EvalQuestion:
        return EvalQuestion(self.id, self.question, tuple(dict.fromkeys([self.answer, *self.aliases])))


class _StrategyQa(DatasetRecord):
    """Gold are the paragraphs cited by any annotator; BIG-bench's edition has only questions and answers."""

    question: NonEmptyText = Field(validation_alias=AliasChoices("question", "input"))
    qid: ScalarText = ""
    answer: bool = Field(validation_alias=AliasChoices("answer", AliasPath("target_scores", "Yes")))
    evidence: JsonValue = None
    decomposition: tuple[str, ...] = ()
    facts: tuple[str, ...] | str = ()

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
            facts=(self.facts,) if isinstance(self.facts, str) else self.facts,
        )


class BeirQuery(DatasetRecord):
    """A query of a BEIR folder, with answers and type from its metadata if present."""

    id: str = Field(validation_alias=AliasChoices("_id", "id"))
    question: NonEmptyText = Field(validation_alias="text")
    answers: tuple[AnswerText, ...] | None = Field(default=None, validation_alias=AliasPath("metadata", "answers"))
    type: str = Field(default="", validation_alias=AliasPath("metadata", "type"))

    def to_question(self, number: int) -> EvalQuestion:
        """Return the query without gold passages, which are in the qrels."""
        return EvalQuestion(self.id, self.question, self.answers, self.type)


QUESTION_FORMATS: dict[str, type[DatasetRecord]] = {
    "strategyqa": _StrategyQa,
    "musique": _Musique,
    "2wikimultihopqa": _HotpotQa,
    "hotpotqa": _HotpotQa,
    "triviaqa": _TriviaQa,
    "popqa": _PopQa,
    "browsecomp_plus": BrowseCompPlus,
    "multihop_rag": MultiHopRag,
    "frames": Frames,
    "flashrag": _FlashRag,
    "hipporag": _Musique,
    "nq": _OpenDomain,
    "bamboogle": Bamboogle,
    "questions": _OpenDomain,
    "beir": BeirQuery,
}
"""Format name → its record class; `beir` is a folder."""


def _with_text(passages: Iterable[ContextPassage]) -> tuple[ContextPassage, ...]:
    return tuple(dict.fromkeys(each for each in passages if each.text))


def _with_paragraphs(question: EvalQuestion, paragraphs: list[_Paragraph]) -> EvalQuestion:
    gold = [each.passage for each in paragraphs if each.gold]
    return replace(
        question,
        gold=tuple(dict.fromkeys(each.id for each in gold)),
        gold_titles=tuple(dict.fromkeys([*question.gold_titles, *(each.title for each in gold)])),
        contexts=_with_text(each.passage for each in paragraphs),
    )


def _paragraphs_in(evidence: JsonValue) -> dict[str, str]:
    """Return the Wikipedia paragraphs cited in an annotation, in order: id → title."""
    if isinstance(evidence, list):
        return {name: title for each in evidence for name, title in _paragraphs_in(each).items()}
    match = _WIKIPEDIA_PARAGRAPH.fullmatch(evidence) if isinstance(evidence, str) else None
    return {match[0]: match[1]} if match else {}
