"""The examples that a student is trained on, and the record `student.json` of what it was made from, and how."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hopgraph.state import CorpusError, SpecError
from hopgraph.state.errors import format_error
from hopgraph.tools.io.guarded_files import read_source, write_files

EXAMPLES, SUMMARY, RECORD = "train.jsonl", "summary.json", "student.json"
StudentKind = Literal["causal", "seq2seq", "classifier"]


class StudentMessage(BaseModel, frozen=True):
    """A chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class StudentExample(BaseModel, frozen=True):
    """A line of `train.jsonl`: what a role's model is sent, and the reply."""

    prompt: list[StudentMessage] = Field(min_length=1)
    completion: list[StudentMessage] = Field(min_length=1, max_length=1)
    id: str = ""
    """Of the question; with what else makes the example unique after a colon."""
    label: str = ""

    @property
    def reply(self) -> str:
        """The text of the reply."""
        return self.completion[0].content

    @property
    def question(self) -> str:
        """The id of the question."""
        return self.id.partition(":")[0]


class DataFacts(BaseModel, frozen=True):
    """The training data of a student."""

    role: str
    examples: int
    examples_sha256: str
    summary_sha256: str


class MarkedSetting(BaseModel, frozen=True):
    """A setting of the training, and where it is from: stated, authors' code, ours or set."""

    value: float | int | bool | str
    source: str


class StudentRecord(BaseModel):
    """The contents of `student.json`."""

    model_config = ConfigDict(extra="forbid")

    base: str
    """The value of `--student`."""
    kind: StudentKind
    labels: list[str] = []
    """A classifier's replies by the index of its classes; of a yes-no module the one that says no comes first."""
    settings: dict[str, MarkedSetting]
    data: DataFacts
    reply_tokens: int = 0
    """The most tokens of a reply in use: twice those of the longest that it was trained on."""
    left_out: int = 0
    """Examples with more than `max_length` tokens."""
    versions: dict[str, str]
    seconds: float | None = None
    """How long the training took since it was last resumed; None before it is finished."""

    def write(self, folder: Path) -> None:
        """Write the record into the student's folder."""
        write_files({folder / RECORD: f"{self.model_dump_json(indent=2)}\n".encode()})


def read_record(folder: Path) -> StudentRecord:
    """Read a student's record; SpecError if there is none or it is damaged."""
    try:
        return StudentRecord.model_validate_json(read_source(folder / RECORD))
    except (OSError, ValidationError) as error:
        raise SpecError(f"{folder / RECORD} cannot be read: {format_error(error)}") from None


def read_examples(data: Path) -> tuple[list[StudentExample], DataFacts]:
    """Read a folder of `hopgraph distill`; CorpusError if a file is missing or damaged, or there is no example."""
    try:
        lines, summary = (read_source(data / name) for name in (EXAMPLES, SUMMARY))
        role = str(json.loads(summary)["role"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"{error} is missing in {SUMMARY}" if isinstance(error, KeyError) else format_error(error)
        raise CorpusError(f"{data} was not written by `hopgraph distill`: {what}") from None
    examples: list[StudentExample] = []
    for number, line in enumerate(lines.splitlines(), 1):
        try:
            examples.append(StudentExample.model_validate_json(line))
        except ValidationError as error:
            raise CorpusError(f"{data / EXAMPLES}, line {number}: {format_error(error)}") from None
    if not examples:
        raise CorpusError(f"{data / EXAMPLES} has no examples")
    digests = [hashlib.sha256(each).hexdigest() for each in (lines, summary)]
    return examples, DataFacts(role=role, examples=len(examples), examples_sha256=digests[0], summary_sha256=digests[1])


def class_replies(examples: Sequence[StudentExample]) -> list[str]:
    """Return the distinct replies, in order of their text, which puts `{"relevant": false}` before its opposite.

    CorpusError where there are not two to ten of them, so that the module is not a classifier.
    """
    found = sorted({each.reply for each in examples})
    if not 2 <= len(found) <= 10:
        raise CorpusError(f"a classifier needs 2 to 10 distinct replies, and these examples have {len(found)}")
    return found


def is_yes_no(labels: Sequence[str]) -> bool:
    """Return whether the two replies of a classifier say no and yes, in this order."""
    return len(labels) == 2 and [label.rpartition(":")[2].strip(" }") for label in labels] == ["false", "true"]
