"""Training examples of a student, and `student.json`, the record of its data and settings."""

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
    """A line of `train.jsonl`: the messages of a call and the reply."""

    prompt: list[StudentMessage] = Field(min_length=1)
    completion: list[StudentMessage] = Field(min_length=1, max_length=1)
    id: str = ""
    """Id of the question, perhaps with a colon and a suffix that makes it unique."""
    label: str = ""

    @property
    def reply(self) -> str:
        """The text of the reply."""
        return self.completion[0].content

    @property
    def question(self) -> str:
        """The id of the question."""
        return self.id.partition(":")[0]


class DataInfo(BaseModel, frozen=True):
    """The training data of a student."""

    role: str
    examples: int
    examples_sha256: str
    summary_sha256: str


class MarkedSetting(BaseModel, frozen=True):
    """A training setting and its source: stated, authors' code, ours or set."""

    value: float | int | bool | str
    source: str


class StudentRecord(BaseModel):
    """The contents of `student.json`."""

    model_config = ConfigDict(extra="forbid")

    base: str
    """Value of `--student`."""
    kind: StudentKind
    labels: list[str] = []
    """A classifier's replies, in the order of its classes; in a yes-no module no comes first."""
    settings: dict[str, MarkedSetting]
    data: DataInfo
    reply_tokens: int = 0
    """Maximum tokens per reply in use: twice the longest training reply."""
    left_out: int = 0
    """Number of examples with more than `max_length` tokens."""
    versions: dict[str, str]
    seconds: float | None = None
    """Training time since it was last resumed; None until it is finished."""

    def write(self, folder: Path) -> None:
        """Write the record into the student's folder."""
        write_files({folder / RECORD: f"{self.model_dump_json(indent=2)}\n".encode()})


def read_record(folder: Path) -> StudentRecord:
    """Read a student's record; SpecError if it is missing or damaged."""
    try:
        return StudentRecord.model_validate_json(read_source(folder / RECORD))
    except (OSError, ValidationError) as error:
        raise SpecError(f"{folder / RECORD} cannot be read: {format_error(error)}") from None


def read_examples(data: Path) -> tuple[list[StudentExample], DataInfo]:
    """Read a folder written by `hopgraph distill`; CorpusError if a file is missing, damaged or without examples."""
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
    return examples, DataInfo(role=role, examples=len(examples), examples_sha256=digests[0], summary_sha256=digests[1])


def class_replies(examples: Sequence[StudentExample]) -> list[str]:
    """Return the distinct replies, sorted, so that `{"relevant": false}` precedes its opposite.

    Raises CorpusError unless there are 2 to 10, since the module is not a classifier then.
    """
    found = sorted({each.reply for each in examples})
    if not 2 <= len(found) <= 10:
        raise CorpusError(f"a classifier needs 2 to 10 distinct replies, and these examples have {len(found)}")
    return found


def is_yes_no(labels: Sequence[str]) -> bool:
    """Return whether a classifier has two replies, no and yes in this order."""
    return len(labels) == 2 and [label.rpartition(":")[2].strip(" }") for label in labels] == ["false", "true"]
