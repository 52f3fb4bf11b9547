"""Questions over the web and Wikipedia's pages: an answer, and at most the names of the documents that it needs."""

import re
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, Field

from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion
from hopgraph.tools.apps.evaluation.question_record import AnswerText, DatasetRecord, NonEmptyText

_LINK = re.compile(r"""https?://\S+?(?=['"]\s*[,\]])""")


class _Document(BaseModel):
    docid: str
    text: str = ""


class BrowseCompPlus(DatasetRecord):
    """Gold are the documents that the answer needs, of which `gold_docs` are those that hold it."""

    query_id: str
    question: NonEmptyText = Field(validation_alias="query")
    answer: AnswerText
    evidence_docs: tuple[_Document, ...] = ()
    gold_docs: tuple[_Document, ...] = ()

    def to_question(self, number: int) -> EvalQuestion:
        """Return the question with the documents; the misleading ones, megabytes a question, are left out."""
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
        """Return the question with the titles and the facts."""
        return EvalQuestion(
            id=str(number),
            question=self.question,
            answers=() if self.question_type == "null_query" else (self.answer,),
            type=self.question_type,
            gold_titles=tuple(dict.fromkeys(each.title for each in self.evidence_list)),
            facts=tuple(each.fact for each in self.evidence_list if each.fact),
        )


def _find_links(value: object) -> object:
    """Find the addresses in a list that is written as text."""
    return _LINK.findall(value) if isinstance(value, str) else value


class Frames(DatasetRecord):
    """Gold are the pages of Wikipedia that its links name."""

    question: NonEmptyText = Field(validation_alias="Prompt")
    answer: AnswerText = Field(validation_alias="Answer")
    reasoning_types: str = ""
    wiki_links: Annotated[list[str], BeforeValidator(_find_links)]

    def to_question(self, number: int) -> EvalQuestion:
        """Return the question with the titles."""
        titles = dict.fromkeys(
            unquote(urlsplit(each).path.rpartition("/")[2]).replace("_", " ") for each in self.wiki_links
        )
        return EvalQuestion(str(number), self.question, (self.answer,), self.reasoning_types, gold_titles=tuple(titles))


class Bamboogle(DatasetRecord):
    """A row of its table, in some copies with a second answer."""

    question: NonEmptyText = Field(validation_alias="Question")
    answer: AnswerText = Field(validation_alias="Answer")
    second: AnswerText | None = Field(default=None, validation_alias="Answer 2")

    def to_question(self, number: int) -> EvalQuestion:
        """Return the question."""
        answers = [self.answer, *([self.second] if self.second else [])]
        return EvalQuestion(str(number), self.question, tuple(dict.fromkeys(answers)))
