"""The passages and questions of the built-in sample."""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Literal

from typing_extensions import TypedDict

QuestionType = Literal["bridge", "comparison", "yes_no", "unanswerable"]


class SamplePassage(TypedDict):
    """A passage of the sample corpus."""

    id: str
    """A short slug, as `marie-curie`."""
    title: str
    """Never empty; a word in brackets tells namesakes apart."""
    text: str
    """Three to five sentences, 40 to 90 words, without the title."""


class SampleQuestion(TypedDict):
    """A question on the sample corpus with its gold annotations."""

    id: str
    text: str
    answers: list[str]
    """Accepted answers, the usual form first; `yes` or `no`; empty when the corpus does not hold one."""
    type: QuestionType
    hops: int
    """Steps of reasoning that follow one another, 2 or 3; a comparison counts as one."""
    supporting: list[str]
    """Ids of the passages on the way to the answer; for an unanswerable question those that go part of it."""


def read_sample_passages() -> Iterator[SamplePassage]:
    """Yield the passages in file order."""
    for record in _records("corpus.jsonl"):
        yield SamplePassage(id=record["_id"], title=record["title"], text=record["text"])


def read_sample_questions() -> Iterator[SampleQuestion]:
    """Yield the questions in file order, which is by type."""
    for record in _records("queries.jsonl"):
        yield SampleQuestion(id=record["_id"], text=record["text"], **record["metadata"])


def _records(name: str) -> Iterator[dict[str, Any]]:
    with files("hopgraph.tools.retrieval.sample").joinpath(name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
