"""Read questions with known answers from the data sets' native files, and select some.

A data set on the Hugging Face hub (`hub:hotpotqa/hotpot_qa?config=distractor&split=validation`) is streamed into a JSON
Lines file, which is then read like any other.
"""

import csv
import hashlib
import heapq
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl

from pydantic import JsonValue, ValidationError

from hopgraph.state import BadRecordError, CorpusError, SettingsError
from hopgraph.state.errors import did_you_mean, format_error
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion
from hopgraph.tools.apps.evaluation.question_formats import QUESTION_FORMATS, BeirQuery, DatasetRecord
from hopgraph.tools.documents.elements import UnreadableFileError
from hopgraph.tools.documents.encodings import DAMAGED_UTF_8, UTF_8, detect_encoding, open_text
from hopgraph.tools.io.guarded_files import make_private, open_private, read_source
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.retrieval.corpora.data_formats import describe_nearest, read_data_formats, recognize
from hopgraph.tools.retrieval.corpora.source_records import MalformedError, read_json_values, read_lines

BEIR = "beir"
HUB_PREFIX = "hub:"
_OPTIONS = {"config": "name", "split": "split", "revision": "revision"}
"""Options of a spec → arguments of `load_dataset`."""
_NESTED = ("metadata", "context", "supporting_facts", "evidences", "paragraphs", "question_decomposition")
"""Columns that some copies on the hub store as JSON text."""


def read_questions(
    path: Path, format_name: str | None = None, reading: CorpusReading | None = None
) -> Iterator[EvalQuestion]:
    """Yield the questions of a data set, in the file's order.

    `path` is a file in one of QUESTION_FORMATS (JSON, JSON Lines, CSV, TSV), or a BEIR folder with `queries.jsonl` and
    `qrels` (test, else dev, else train). Without a name the format is detected from the first record. SettingsError:
    unknown format name. CorpusError: the path is missing, unreadable or of an unknown format. BadRecordError: an
    invalid record, by file and line, unless invalid ones are skipped.
    """
    if format_name not in (None, *QUESTION_FORMATS):
        raise SettingsError(
            f"question format {format_name!r:.80} is unknown{did_you_mean(str(format_name), QUESTION_FORMATS)}"
        )
    reading, name = reading or CorpusReading(), format_name or detect_format(path)
    try:
        if name == BEIR:
            yield from _beir_questions(path, reading)
        else:
            yield from _questions(path, reading, QUESTION_FORMATS[name])
    except OSError as error:
        raise CorpusError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from None


def add_gold_texts(dataset: Path, questions: list[EvalQuestion], reading: CorpusReading) -> list[EvalQuestion]:
    """Return questions of a BEIR folder with the texts of their gold passages; raises as `read_questions` does."""
    corpus = dataset / "corpus.jsonl"
    if not corpus.is_file():
        return questions
    needed = {name for question in questions for name in question.gold}
    records = open_corpus(corpus, BEIR).records(reading)
    texts = {each.id: ContextPassage(each.id, each.title, each.text) for each in records if each.id in needed}
    return [
        replace(question, contexts=tuple(texts[name] for name in question.gold if name in texts))
        for question in questions
    ]


def detect_format(path: Path) -> str:
    """Return a data set's format: `beir` for a folder, else by the first record's keys; CorpusError if unknown."""
    if path.is_dir():
        return BEIR
    try:
        reading = CorpusReading(skip_invalid=True)
        values = (value for _, value in _read_records(path, reading))
        first = next((value for value in values if isinstance(value, dict)), dict[str, JsonValue]())
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None
    formats = read_data_formats().questions
    if name := recognize(first, formats):
        return name
    if not first:
        found = f" that can be read ({reading.first_skipped[0]})" if reading.first_skipped else ""
        raise CorpusError(f"{path}: unknown format of questions: it has no records{found}")
    raise CorpusError(
        f"{path}: unknown format of questions: its first record has {', '.join(list(first)[:12])}; "
        f"{describe_nearest(first, formats)}. Your own questions need question and answer (or answers)"
    )


def _read_records(path: Path, reading: CorpusReading) -> Iterator[tuple[int, JsonValue]]:
    """Yield each record with its line: a JSON value, or a row of a CSV or TSV file by column name.

    The separator is the most frequent candidate in the header, as Excel writes semicolons in some locales.
    """
    suffix = path.suffix.lower()
    if suffix in (".xlsx", ".xls", ".ods"):
        raise CorpusError(f"{path}: spreadsheets cannot be read; save it as CSV")
    if suffix not in (".csv", ".tsv"):
        yield from read_json_values(path, reading)
        return
    lines = _table_lines(path, reading)
    first = next(lines, "")
    rows = csv.reader(chain([first], lines), delimiter=max("\t,;" if suffix == ".tsv" else ",;\t", key=first.count))
    try:
        names = next(rows, list[str]())
        for row in rows:
            if len(row) > len(names):
                advice = "quote cells that contain the separator"
                reading.reject(path, rows.line_num, f"{len(row)} cells but {len(names)} column names; {advice}")
            elif any(row):
                yield rows.line_num, {name: cell for name, cell in zip(names, row, strict=False) if cell.strip()}
    except csv.Error as error:
        raise BadRecordError(f"{path}:{rows.line_num}: {error}") from None


def _table_lines(path: Path, reading: CorpusReading) -> Iterator[str]:
    """Yield the lines of a table, with its encoding detected as for documents; note it if it is not UTF-8."""
    try:
        encoding = detect_encoding(path)
    except UnreadableFileError as error:
        raise CorpusError(f"{path}: {error}") from None
    if encoding in (UTF_8, DAMAGED_UTF_8):
        yield from (line for _, line in read_lines(path, reading))
        return
    reading.notes.append(f"{path}: not UTF-8, read as {encoding}")
    with open_text(path, encoding) as file:
        yield from file


def _questions(path: Path, reading: CorpusReading, record: type[DatasetRecord]) -> Iterator[EvalQuestion]:
    lines, number = dict[str, int](), 0
    for line, value in _read_records(path, reading):
        number = max(line, number + 1)  # a JSON array may be on one line
        try:
            if not isinstance(value, dict):
                raise MalformedError(f"expected a question, found a {type(value).__name__}")
            question = record.model_validate(value).to_question(number)
            if question.id in lines:
                raise MalformedError(f"the id {question.id!r} is also on line {lines[question.id]}")
            lines[question.id] = line
        except MalformedError as error:
            reading.reject(path, line, str(error))
        except ValidationError as error:
            reading.reject(path, line, _missing_fields(error) or format_error(error))
        else:
            yield question


def _missing_fields(error: ValidationError) -> str:
    """Return a message that names the missing fields of a record; empty if the error is another one."""
    problems = error.errors(include_url=False)
    missing = [str(each["loc"][0]) for each in problems if each["type"] == "missing" and len(each["loc"]) == 1]
    fields = " and ".join("answer (or answers)" if name == "answers" else name for name in missing)
    return f"the question has no {fields}" if missing else ""


def _beir_questions(folder: Path, reading: CorpusReading) -> Iterator[EvalQuestion]:
    """Yield the judged queries; without qrels all of them, without gold passages."""
    files = (folder / "qrels" / f"{split}.tsv" for split in ("test", "dev", "train"))
    judged = next(filter(Path.is_file, files), None)
    gold = _read_qrels(judged, reading) if judged else {}
    for question in _questions(folder / "queries.jsonl", reading, BeirQuery):
        if judged is None or question.id in gold:
            relevant = gold.get(question.id, {})
            grades = tuple(relevant.values()) if any(grade != 1 for grade in relevant.values()) else ()
            yield replace(question, gold=tuple(relevant), grades=grades)


def _read_qrels(path: Path, reading: CorpusReading) -> dict[str, dict[str, int]]:
    """Return judged query → (relevant passage id → grade), which may be empty."""
    gold: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_source(path).decode("utf-8", "replace").splitlines(), 1):
        fields = line.split("\t")
        if number == 1 and fields[0] == "query-id":
            continue
        if len(fields) != 3 or not fields[2].strip().lstrip("-").isdecimal():
            reading.reject(path, number, "expected query-id, corpus-id and an integer score, separated by tabs")
            continue
        relevant = gold.setdefault(fields[0], {})
        if int(fields[2]) > 0:
            relevant.setdefault(fields[1], int(fields[2]))
    return gold


@dataclass(frozen=True)
class QuestionSample:
    """A selection of questions: at most `limit` after the first `skip`, or those with the given ids."""

    limit: int | None = None
    seed: int | None = None
    """Seed of a random draw; None for the first ones. With the same seed, a greater limit extends a smaller one."""
    ids: tuple[str, ...] = ()
    skip: int = 0
    """Number of initial questions to skip."""

    def __str__(self) -> str:
        if self.ids:
            return f"{len(self.ids)} by id"
        rest = f" after the first {self.skip}" if self.skip else ""
        if self.limit is None:
            return f"all{rest}"
        return f"first {self.limit}{rest}" if self.seed is None else f"{self.limit} at random (seed {self.seed}){rest}"


def parse_sample(text: str | None, limit: int | None, ids: Sequence[str] = (), skip: int = 0) -> QuestionSample:
    """Parse a sample from the command line, `first` or `random:SEED`; SettingsError if it is invalid."""
    if ids and (limit is not None or skip or text not in (None, "first")):
        raise SettingsError("select questions either by id, or by --limit, --skip and --sample")
    kind, _, seed = (text or "first").partition(":")
    if kind == "first" and not seed:
        return QuestionSample(limit, None, tuple(dict.fromkeys(ids)), skip)
    if kind != "random" or not seed.isdecimal():
        raise SettingsError(f"sample {text!r} is unknown; use first, or random:SEED, e.g. random:7")
    if limit is None:
        raise SettingsError(f"sample {text!r} needs --limit N, the number of questions to draw")
    return QuestionSample(limit, int(seed), skip=skip)


def select_questions(questions: Iterable[EvalQuestion], sample: QuestionSample) -> list[EvalQuestion]:
    """Return the selected questions, keeping only these in memory; SettingsError for an unknown id.

    They are in the file's order; a random draw has its own order, independent of the file's.
    """
    if sample.ids:
        ids = frozenset(sample.ids)
        chosen = [question for question in questions if question.id in ids]
        if missing := ids - {question.id for question in chosen}:
            raise SettingsError(f"no question has the id {min(missing)!r}")
        return chosen
    questions = islice(questions, sample.skip, None)
    if sample.seed is not None and sample.limit is not None:
        return heapq.nsmallest(
            sample.limit, questions, key=lambda each: hashlib.sha256(f"{sample.seed}:{each.id}".encode()).digest()
        )
    return list(islice(questions, sample.limit))


def parse_hub_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Parse `hub:NAME?config=…&split=…&revision=…` into the name and other arguments of `load_dataset`.

    SettingsError: no name (of a data set on the hub, or a local folder in its layout), or an unknown option.
    """
    name, _, query = spec.removeprefix(HUB_PREFIX).partition("?")
    if not name.strip():
        raise SettingsError(f"{spec!r:.80} lacks a data set; write hub:OWNER/NAME?config=NAME&split=validation")
    given = dict(parse_qsl(query))
    if unknown := next((option for option in given if option not in _OPTIONS), None):
        raise SettingsError(f"option {unknown!r:.40} of {redact(spec)!r:.80} is unknown; valid: {', '.join(_OPTIONS)}")
    return name.strip(), {"split": "validation", **{_OPTIONS[option]: value for option, value in given.items()}}


def download_dataset(spec: str, target: Path, *, limit: int | None = None) -> Path:
    """Download a data set's records, or the first `limit`, to a file, unless it exists. Blocks.

    The file is written atomically. SettingsError: an invalid spec. SpecError: the package `datasets` is missing.
    CorpusError: no network, or an unknown name, configuration or split.
    """
    name, options = parse_hub_spec(spec)
    if target.is_file():
        return target
    make_private(target.parent)
    part = target.with_suffix(".part")
    with open_private(part, "wb") as file:
        records = _hub_records(name, options, limit)
        file.writelines(f"{json.dumps(_plain(each), default=str)}\n".encode("ascii") for each in records)
    if not part.stat().st_size:
        part.unlink()
        raise CorpusError(f"{spec}: split {options['split']!r} has no records")
    os.replace(part, target)
    return target


def _hub_records(name: str, options: Mapping[str, str], limit: int | None) -> Iterator[Mapping[str, Any]]:
    datasets = require("datasets", "hub")
    try:
        found = datasets.load_dataset(name, streaming=True, **options)
        yield from islice(cast("Iterable[Mapping[str, Any]]", found), limit)
    except _hub_failures() as error:
        reason = " ".join(redact(str(error)).split())[:200] or type(error).__name__
        raise CorpusError(f"{HUB_PREFIX}{name}: cannot be loaded from the hub: {reason}") from None


def _hub_failures() -> tuple[type[Exception], ...]:
    """Return the packages' exceptions for unknown names and splits, and network failures."""
    errors = require("datasets.exceptions", "hub")
    # The hub's package uses one of these HTTP clients, depending on its version.
    clients: list[Any] = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    # OSError: connections, and the hub's HTTP errors; ValueError: names of configurations and splits; RuntimeError:
    # script-based data sets, and a closed client.
    return (errors.DatasetsError, OSError, ValueError, RuntimeError, *(client.HTTPError for client in clients))


def _plain(record: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return a record with JSON columns parsed, and without null columns."""
    plain: dict[str, JsonValue] = {name: value for name, value in record.items() if value is not None}
    for name in _NESTED:
        if isinstance(text := plain.get(name), str):
            with suppress(ValueError):  # reported with its line when the record is read
                plain[name] = json.loads(text)
    return plain
