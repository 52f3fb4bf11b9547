"""Data sets by name from the hub: `hub:hotpotqa/hotpot_qa?config=distractor&split=validation`.

The records are streamed into a file of JSON lines in the run's folder, as the hub has them; from there on it is a
data set like any other, which can be read again without a network.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl

from pydantic import JsonValue

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.io.redact import redact

PREFIX = "hub:"
_OPTIONS = ("config", "split", "revision")
_NESTED = ("context", "supporting_facts", "evidences", "paragraphs", "question_decomposition")
"""Columns that some copies on the hub hold as JSON text."""


@dataclass(frozen=True)
class HubDataset:
    """A data set on the hub, or a local folder in the hub's layout."""

    name: str
    config: str | None = None
    split: str = "validation"
    revision: str | None = None


def parse_hub_spec(spec: str) -> HubDataset:
    """Read `hub:NAME?config=…&split=…&revision=…`.

    Raises:
        SettingsError: no name, or an unknown option.
    """
    name, _, query = spec.removeprefix(PREFIX).partition("?")
    if not name.strip():
        raise SettingsError(f"{spec!r:.80} names no data set; write hub:OWNER/NAME?config=NAME&split=validation")
    options = dict(parse_qsl(query))
    for option in options:
        if option not in _OPTIONS:
            raise SettingsError(
                f"option {option!r:.40} of {redact(spec)!r:.80} is unknown; valid: {', '.join(_OPTIONS)}"
            )
    return HubDataset(name.strip(), options.get("config"), options.get("split", "validation"), options.get("revision"))


def download_dataset(spec: str, target: Path, *, limit: int | None = None) -> Path:
    """Write a data set's records to a file, unless it is there already. Blocks.

    Args:
        spec: as `parse_hub` reads it.
        target: the file, as `dataset.jsonl` in the run's folder; complete or absent, whatever happens.
        limit: only the first so many; None for all. Nothing else is downloaded then.

    Returns:
        The file.

    Raises:
        SettingsError: a bad spec, or the package `datasets` is missing.
        CorpusError: the data set cannot be had: no network, no such name, configuration or split.
        OSError: the file cannot be written.
    """
    dataset = parse_hub_spec(spec)
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    count = 0
    with part.open("w", encoding="ascii") as file:
        for record in _records(dataset, limit):
            file.write(f"{json.dumps(_plain(record), default=str)}\n")
            count += 1
    if not count:
        part.unlink()
        raise CorpusError(f"{spec}: split {dataset.split!r} holds no record")
    os.replace(part, target)
    return target


def _records(dataset: HubDataset, limit: int | None) -> Iterable[Mapping[str, Any]]:
    try:
        datasets: Any = import_module("datasets")
    except ImportError:
        raise SettingsError("hub: needs the package datasets; install it with pip install 'hopgraph[hub]'") from None
    options = {"name": dataset.config, "split": dataset.split, "revision": dataset.revision}
    try:
        found = datasets.load_dataset(dataset.name, streaming=True, **options)
        yield from islice(cast("Iterable[Mapping[str, Any]]", found), limit)
    except _failures() as error:
        reason = " ".join(redact(str(error)).split())[:200] or type(error).__name__
        raise CorpusError(f"{PREFIX}{dataset.name}: cannot be had from the hub: {reason}") from None


def _failures() -> tuple[type[Exception], ...]:
    """List what the packages raise for a wrong name, a wrong split, no network."""
    errors: Any = import_module("datasets.exceptions")
    # OSError: connections, and the hub's HTTP errors; ValueError: names of configurations and splits; RuntimeError:
    # data sets that are scripts, and a client that was closed.
    return (errors.DatasetsError, OSError, ValueError, RuntimeError, *_http_errors())


def _http_errors() -> Iterator[type[Exception]]:
    """Find the errors of the HTTP clients that the hub's package uses, by its version."""
    for name in ("httpx", "httpx2"):
        if name in sys.modules:
            yield cast("type[Exception]", sys.modules[name].HTTPError)


def _plain(record: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Read the columns that hold JSON as text; leave out those that a data set has for some records only."""
    plain: dict[str, JsonValue] = {}
    for name, value in record.items():
        if value is None:
            continue
        plain[name] = _unfolded(value) if name in _NESTED and isinstance(value, str) else value
    return plain


def _unfolded(text: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(text))
    except ValueError:
        return text  # the reader of the record reports what is wrong, by line
