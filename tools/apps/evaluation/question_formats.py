"""From one record of a data set to a question with its answers and gold passages."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

from pydantic import AliasChoices, BaseModel, Field, JsonValue, StringConstraints

from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop, GoldSentence
from hopgraph.tools.retrieval.corpora import hash_passage
from hopgraph.tools.retrieval.corpora.question_contexts import (
    join_sentences,
    read_hotpotqa_context,
    split_hotpotqa_context,
)

Object = Mapping[str, JsonValue]
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_WIKIPEDIA_PARAGRAPH = re.compile(r"(.+)-\d+")


class _Columns(BaseModel):
    title: list[str]
    sent_id: list[int] = []


class _HotpotQa(BaseModel):
    id: str = Field(validation_alias=AliasChoices("_id", "id"))
    question: _Text
    answer: _Text
    type: str = ""
    supporting_facts: list[tuple[str, int]] | _Columns
    evidences: list[tuple[str, str, str]] = []


class _Paragraph(BaseModel):
    title: str = ""
    text: str = Field(validation_alias=AliasChoices("paragraph_text", "text"))
    gold: bool = Field(default=False, validation_alias=AliasChoices("is_supporting", "isgold"))


class _Step(BaseModel):
    question: _Text
    answer: str = ""
    paragraph_support_idx: int | None = None


class _Musique(BaseModel):
    id: str
    question: _Text
    answer: _Text
    answer_aliases: list[str] = []
    answerable: bool = True
    paragraphs: list[_Paragraph]
    question_decomposition: list[_Step] = []


class _OpenDomain(BaseModel):
    id: str | int | None = None
    question: _Text
    answers: list[str] = Field(min_length=1, validation_alias=AliasChoices("answers", "answer"))
    ctxs: list[_Paragraph] = []


class _TriviaAnswer(BaseModel):
    value: str = Field(validation_alias=AliasChoices("Value", "value"))
    aliases: list[str] = Field(default=[], validation_alias=AliasChoices("Aliases", "aliases"))


class _TriviaQa(BaseModel):
    id: str = Field(validation_alias=AliasChoices("QuestionId", "question_id"))
    question: _Text = Field(validation_alias=AliasChoices("Question", "question"))
    answer: _TriviaAnswer = Field(validation_alias=AliasChoices("Answer", "answer"))


class _StrategyQa(BaseModel):
    qid: str
    question: _Text
    answer: bool
    evidence: JsonValue = None
    decomposition: list[str] = []
    facts: list[str] = []


class _Metadata(BaseModel):
    answers: list[str] | None = None
    type: str = ""


class _BeirQuery(BaseModel):
    id: str = Field(validation_alias=AliasChoices("_id", "id"))
    text: _Text
    metadata: _Metadata = _Metadata()


def from_hotpotqa(value: Object, line: int) -> EvalQuestion:
    """Read a question of HotpotQA or 2WikiMultihopQA; gold are the paragraphs of its supporting facts."""
    del line
    record = _HotpotQa.model_validate(value)
    facts = _facts(record)
    titles = tuple(dict.fromkeys(title for title, _ in facts))
    contexts = _contexts(read_hotpotqa_context(value))
    return EvalQuestion(
        id=record.id,
        question=record.question,
        answers=(record.answer,),
        type=record.type,
        gold=tuple(each.id for each in contexts if each.title in titles),
        gold_titles=titles,
        sentences=tuple(_supporting(value, facts)),
        triples=tuple(record.evidences),
        contexts=contexts,
    )


def _facts(record: _HotpotQa) -> list[tuple[str, int]]:
    """Return the (title, number of the sentence from 0) of the supporting facts; -1 where the number is unknown."""
    facts = record.supporting_facts
    if isinstance(facts, _Columns):
        return list(zip(facts.title, facts.sent_id or [-1] * len(facts.title), strict=False))
    return facts


def _supporting(value: Object, facts: list[tuple[str, int]]) -> Iterator[GoldSentence]:
    """Find the sentences of the supporting facts; a number beyond the paragraph's end, as some are, is left out."""
    for paragraph in split_hotpotqa_context(value):
        name = hash_passage(paragraph.title, join_sentences(paragraph.sentences))
        for title, number in facts:
            if title == paragraph.title and 0 <= number < len(paragraph.sentences):
                yield GoldSentence(name, paragraph.sentences[number].strip())


def from_musique(value: Object, line: int) -> EvalQuestion:
    """Read a question of MuSiQue; its type is the shape of its decomposition, as in its id."""
    del line
    record = _Musique.model_validate(value)
    answers = tuple(dict.fromkeys([record.answer, *record.answer_aliases])) if record.answerable else ()
    kind, separator, _ = record.id.partition("__")
    ids = [hash_passage(each.title, each.text.strip()) for each in record.paragraphs]
    gold, titles = _gold(record.paragraphs)
    return EvalQuestion(
        id=record.id,
        question=record.question,
        answers=answers,
        type=kind if separator else "",
        gold=gold,
        gold_titles=titles,
        hops=tuple(_hop(step, ids) for step in record.question_decomposition),
        contexts=_contexts((each.title, each.text.strip()) for each in record.paragraphs),
    )


def _hop(step: _Step, ids: list[str]) -> GoldHop:
    where = step.paragraph_support_idx
    return GoldHop(step.question, step.answer, () if where is None or not 0 <= where < len(ids) else (ids[where],))


def from_open_domain(value: Object, line: int) -> EvalQuestion:
    """Read a question of an open-domain set, as NQ, with or without passages."""
    record = _OpenDomain.model_validate(value)
    name = str(line if record.id is None else record.id)
    contexts = _contexts((each.title, each.text.strip()) for each in record.ctxs)
    return EvalQuestion(name, record.question, tuple(record.answers), "", *_gold(record.ctxs), contexts=contexts)


def from_triviaqa(value: Object, line: int) -> EvalQuestion:
    """Read a question of TriviaQA; the answer is its value, then its aliases."""
    del line
    record = _TriviaQa.model_validate(value)
    answers = tuple(dict.fromkeys([record.answer.value, *record.answer.aliases]))
    return EvalQuestion(record.id, record.question, answers, "", (), ())


def from_strategyqa(value: Object, line: int) -> EvalQuestion:
    """Read a question of StrategyQA; gold are the paragraphs that any annotator named."""
    del line
    record = _StrategyQa.model_validate(value)
    named = _paragraphs_in(record.evidence)
    steps = record.evidence if isinstance(record.evidence, list) else []
    return EvalQuestion(
        id=record.qid,
        question=record.question,
        answers=("yes" if record.answer else "no",),
        type="yes_no",
        gold=tuple(named),
        gold_titles=tuple(dict.fromkeys(named.values())),
        hops=tuple(
            GoldHop(question, "", tuple(_paragraphs_in([_step_of(each, number) for each in steps])))
            for number, question in enumerate(record.decomposition)
        ),
        facts=tuple(record.facts),
    )


def _step_of(annotation: JsonValue, number: int) -> JsonValue:
    return annotation[number] if isinstance(annotation, list) and number < len(annotation) else None


def _paragraphs_in(evidence: JsonValue) -> dict[str, str]:
    """Find the ids of Wikipedia paragraphs, with their titles, in the order in which they are named."""
    matches = (_WIKIPEDIA_PARAGRAPH.fullmatch(text) for text in _strings(evidence))
    return {match[0]: match[1] for match in matches if match}


def from_beir(value: Object, gold: Mapping[str, list[str]]) -> EvalQuestion:
    """Read a query of a BEIR folder; answers and type are in its metadata, if any."""
    record = _BeirQuery.model_validate(value)
    answers = record.metadata.answers
    return EvalQuestion(
        id=record.id,
        question=record.text,
        answers=None if answers is None else tuple(answers),
        type=record.metadata.type,
        gold=tuple(gold.get(record.id, ())),
        gold_titles=(),
    )


def _gold(paragraphs: list[_Paragraph]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    gold = [paragraph for paragraph in paragraphs if paragraph.gold]
    ids = dict.fromkeys(hash_passage(paragraph.title, paragraph.text.strip()) for paragraph in gold)
    return tuple(ids), tuple(dict.fromkeys(paragraph.title for paragraph in gold))


def _contexts(paragraphs: Iterable[tuple[str, str]]) -> tuple[ContextPassage, ...]:
    """Give paragraphs the ids that they have in an index of the file; those without text are left out."""
    found = (ContextPassage(hash_passage(title, text), title, text) for title, text in paragraphs if text)
    return tuple({each.id: each for each in found}.values())


def _strings(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
