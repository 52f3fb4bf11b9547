"""Data sets by name from the hub: `hub:hotpotqa/hotpot_qa?config=distractor&split=validation`.

The records are streamed into a file of JSON lines in the run's folder, as the hub has them; from there on it is a
data set like any other, which can be read again without a network.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl

from pydantic import JsonValue

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.io.redact import redact

PREFIX = "hub:"
_OPTIONS = {"config": "name", "split": "split", "revision": "revision"}
"""What a spec calls the arguments of `load_dataset`."""
_NESTED = ("context", "supporting_facts", "evidences", "paragraphs", "question_decomposition")
"""Columns that some copies on the hub hold as JSON text."""


def parse_hub_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Read `hub:NAME?config=…&split=…&revision=…`; return the name and the other arguments of `load_dataset`.

    The name is that of a data set on the hub, or of a local folder in the hub's layout. SettingsError: no name, or an
    unknown option.
    """
    name, _, query = spec.removeprefix(PREFIX).partition("?")
    if not name.strip():
        raise SettingsError(f"{spec!r:.80} names no data set; write hub:OWNER/NAME?config=NAME&split=validation")
    given = dict(parse_qsl(query))
    if unknown := next((option for option in given if option not in _OPTIONS), None):
        raise SettingsError(f"option {unknown!r:.40} of {redact(spec)!r:.80} is unknown; valid: {', '.join(_OPTIONS)}")
    return name.strip(), {"split": "validation", **{_OPTIONS[option]: value for option, value in given.items()}}


def download_dataset(spec: str, target: Path, *, limit: int | None = None) -> Path:
    """Write a data set's records, or the first `limit` and no others, to a file, unless it is there already. Blocks.

    The file is complete or absent, whatever happens. SettingsError: a bad spec, or the package `datasets` is missing.
    CorpusError: the data set cannot be had: no network, no such name, configuration or split.
    """
    name, options = parse_hub_spec(spec)
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with part.open("w", encoding="ascii") as file:
        file.writelines(f"{json.dumps(_plain(each), default=str)}\n" for each in _records(name, options, limit))
    if not part.stat().st_size:
        part.unlink()
        raise CorpusError(f"{spec}: split {options['split']!r} holds no record")
    os.replace(part, target)
    return target


def _records(name: str, options: Mapping[str, str], limit: int | None) -> Iterator[Mapping[str, Any]]:
    try:
        datasets: Any = import_module("datasets")
    except ImportError:
        raise SettingsError("hub: needs the package datasets; install it with pip install 'hopgraph[hub]'") from None
    try:
        found = datasets.load_dataset(name, streaming=True, **options)
        yield from islice(cast("Iterable[Mapping[str, Any]]", found), limit)
    except _failures() as error:
        reason = " ".join(redact(str(error)).split())[:200] or type(error).__name__
        raise CorpusError(f"{PREFIX}{name}: cannot be had from the hub: {reason}") from None


def _failures() -> tuple[type[Exception], ...]:
    """List what the packages raise for a wrong name, a wrong split, no network."""
    errors: Any = import_module("datasets.exceptions")
    # The hub's package uses one of these HTTP clients, by its version.
    clients: list[Any] = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    # OSError: connections, and the hub's HTTP errors; ValueError: names of configurations and splits; RuntimeError:
    # data sets that are scripts, and a client that was closed.
    return (errors.DatasetsError, OSError, ValueError, RuntimeError, *(client.HTTPError for client in clients))


def _plain(record: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Read the columns that hold JSON as text; leave out those that a data set has for some records only."""
    plain: dict[str, JsonValue] = {name: value for name, value in record.items() if value is not None}
    for name in _NESTED:
        if isinstance(text := plain.get(name), str):
            with suppress(ValueError):  # the reader of the record reports what is wrong, by line
                plain[name] = json.loads(text)
    return plain
