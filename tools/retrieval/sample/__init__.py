"""The sample corpus that comes with the package, so that a first question needs no download.

Short passages on people, films, places, science and events, written for this project, with two- and
three-hop questions, as a data set in BEIR form: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`. It is for
trying things out and for examples; it is far too small and too clean for a score on it to mean anything.
"""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Literal, cast

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
    """A question on the sample corpus, with what is needed to score a run."""

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
    """Read the passages one by one, in the order of the file."""
    for record in _records("corpus.jsonl"):
        passage = cast("dict[str, str]", record)
        yield SamplePassage(id=passage["_id"], title=passage["title"], text=passage["text"])


def read_sample_questions() -> Iterator[SampleQuestion]:
    """Read the questions one by one, in the order of the file, which goes by type."""
    for record in _records("queries.jsonl"):
        labels = cast("SampleQuestion", record["metadata"])
        yield SampleQuestion(
            id=cast("str", record["_id"]),
            text=cast("str", record["text"]),
            answers=labels["answers"],
            type=labels["type"],
            hops=labels["hops"],
            supporting=labels["supporting"],
        )


def _records(name: str) -> Iterator[dict[str, object]]:
    with files("hopgraph.tools.retrieval.sample").joinpath(name).open(encoding="utf-8") as lines:
        for line in lines:
            yield cast("dict[str, object]", json.loads(line))
