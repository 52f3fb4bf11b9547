"""From one record of a data set to a question with its answers and gold passages."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AliasChoices, BaseModel, Field, JsonValue, StringConstraints

from hopgraph.tools.corpora import passage_id
from hopgraph.tools.corpora.passages_of import of_hotpotqa

Object = Mapping[str, JsonValue]
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_WIKIPEDIA_PARAGRAPH = re.compile(r"(.+)-\d+")


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A question whose answer is known."""

    id: str
    """Unique in its set; the line number where the set has no ids."""
    question: str
    answers: tuple[str, ...] | None
    """The gold answer, then its aliases; empty when the question cannot be answered, None when not told."""
    type: str
    """The set's own kind of question, as bridge or 3hop1; empty where it has none."""
    gold: tuple[str, ...]
    """Ids of the passages that the answer needs, as in an index of the same file; may be empty."""
    gold_titles: tuple[str, ...]
    """Their titles, without repeats; may be known where the ids are not."""


class _Columns(BaseModel):
    title: list[str]


class _HotpotQa(BaseModel):
    id: str = Field(validation_alias=AliasChoices("_id", "id"))
    question: _Text
    answer: _Text
    type: str = ""
    supporting_facts: list[tuple[str, int]] | _Columns


class _Paragraph(BaseModel):
    title: str = ""
    text: str = Field(validation_alias=AliasChoices("paragraph_text", "text"))
    gold: bool = Field(default=False, validation_alias=AliasChoices("is_supporting", "isgold"))


class _Musique(BaseModel):
    id: str
    question: _Text
    answer: _Text
    answer_aliases: list[str] = []
    answerable: bool = True
    paragraphs: list[_Paragraph]


class _OpenDomain(BaseModel):
    id: str | int | None = None
    question: _Text
    answers: list[str] = Field(min_length=1, validation_alias=AliasChoices("answers", "answer"))
    ctxs: list[_Paragraph] = []


class _StrategyQa(BaseModel):
    qid: str
    question: _Text
    answer: bool
    evidence: JsonValue = None


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
    facts = record.supporting_facts
    named = facts.title if isinstance(facts, _Columns) else [title for title, _ in facts]
    titles = tuple(dict.fromkeys(named))
    ids = dict.fromkeys(passage_id(title, text) for title, text in of_hotpotqa(value) if title in titles)
    return EvalQuestion(record.id, record.question, (record.answer,), record.type, tuple(ids), titles)


def from_musique(value: Object, line: int) -> EvalQuestion:
    """Read a question of MuSiQue; its type is the shape of its decomposition, as its id tells."""
    del line
    record = _Musique.model_validate(value)
    answers = tuple(dict.fromkeys([record.answer, *record.answer_aliases])) if record.answerable else ()
    kind, parted, _ = record.id.partition("__")
    return EvalQuestion(record.id, record.question, answers, kind if parted else "", *_gold(record.paragraphs))


def from_open_domain(value: Object, line: int) -> EvalQuestion:
    """Read a question of an open-domain set, as NQ, with or without passages."""
    record = _OpenDomain.model_validate(value)
    name = str(line if record.id is None else record.id)
    return EvalQuestion(name, record.question, tuple(record.answers), "", *_gold(record.ctxs))


def from_strategyqa(value: Object, line: int) -> EvalQuestion:
    """Read a question of StrategyQA; gold are the paragraphs that any annotator named."""
    del line
    record = _StrategyQa.model_validate(value)
    matches = (_WIKIPEDIA_PARAGRAPH.fullmatch(text) for text in _strings(record.evidence))
    found = {match[0]: match[1] for match in matches if match}
    answer = "yes" if record.answer else "no"
    return EvalQuestion(
        record.qid, record.question, (answer,), "yes_no", tuple(found), tuple(dict.fromkeys(found.values()))
    )


def from_beir(value: Object, gold: Mapping[str, list[str]]) -> EvalQuestion:
    """Read a query of a BEIR folder; answers and type stand in its metadata, if anywhere."""
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
    ids = dict.fromkeys(passage_id(paragraph.title, paragraph.text.strip()) for paragraph in gold)
    return tuple(ids), tuple(dict.fromkeys(paragraph.title for paragraph in gold))


def _strings(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
