"""Text files other than Markdown as sections: tables of values, JSON, reStructuredText; and how any text is encoded."""

import codecs
import csv
import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from io import TextIOWrapper
from pathlib import Path

from pydantic import JsonValue

from hopgraph.tools.io.document_conversion import UnreadableFileError
from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.retrieval.corpora.cutting import Block
from hopgraph.tools.retrieval.corpora.encodings import guess_encoding
from hopgraph.tools.retrieval.corpora.markdown_sections import Section
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading

UTF_8 = "utf-8-sig"
"""With or without a byte order mark."""
_CHUNK = 1 << 20
_LONGEST_JSON = 1 << 26
"""Bytes of a file with one JSON value, which is read whole."""
_TITLE_KEYS = ("title", "name")
TEXT_KEYS = ("text", "content", "body", "page_content")
"""The keys under which an object may have its text."""
_RULE = re.compile(r"""([=\-`:.'"~^_*+#<>])\1+$""")
"""What stands below, and perhaps above, a heading of reStructuredText."""


def open_text(path: Path, encoding: str) -> TextIOWrapper:
    """Open a text file; line ends become line feeds."""
    return TextIOWrapper(open_source(path), encoding=encoding, errors="replace")


def detect_encoding(path: Path) -> str:
    """Return the encoding of a text file: UTF-8, else what `guess_encoding` finds; UnreadableFileError for no text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    chunk = b""
    try:
        with open_source(path) as file:
            for chunk in iter(partial(file.read, _CHUNK), b""):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        guess = guess_encoding(chunk)
        if guess is None:
            raise UnreadableFileError("it is not UTF-8, nor text in another known encoding") from None
        return guess
    return UTF_8


def read_table(path: Path, encoding: str) -> Iterator[Block]:
    """Read CSV or tab-separated values: a line for each row, each value with its column's name."""
    with open_text(path, encoding) as file:
        sample = file.read(8192)
        file.seek(0)
        try:
            dialect = csv.Sniffer().sniff(sample, delimiters=",;\t|")
        except csv.Error:
            dialect = csv.excel
        rows = csv.reader(file, dialect)
        try:
            columns = next(rows, list[str]())
            for row in rows:
                cells = (f"{name}: {cell}" for name, cell in zip(columns, row, strict=False) if cell.strip())
                if line := ", ".join(" ".join(cell.split()) for cell in cells):
                    yield Block(rows.line_num, line, "lines")
        except csv.Error as error:
            raise UnreadableFileError(f"line {rows.line_num}: {error}") from None


def read_json(path: Path, encoding: str, reading: CorpusReading) -> Iterator[Section]:
    """Read JSON, or JSON lines: a section for each object of the list, under its `title` or `name` if it has one.

    Its text is `text` (or `content`, `body`, `page_content`), and the rest metadata; else a line for each value.
    """
    for line, value in _json_values(path, encoding, reading):
        fields: Mapping[str, JsonValue] = value if isinstance(value, dict) else {}
        title = next((str(fields[key]) for key in _TITLE_KEYS if isinstance(fields.get(key), str)), "")
        texts = [text for key in TEXT_KEYS if isinstance(text := fields.get(key), str) and text.strip()]
        try:
            block = Block(line, texts[0]) if texts else Block(line, "\n".join(_flatten(value)), "lines")
        except RecursionError:
            raise UnreadableFileError(f"line {line}: it is nested too deeply") from None
        others = {key: each for key, each in fields.items() if texts and key not in (*_TITLE_KEYS, *TEXT_KEYS)}
        if block.text.strip():
            yield Section((title,) if title else (), line, None, [block], others)


def _json_values(path: Path, encoding: str, reading: CorpusReading) -> Iterator[tuple[int, JsonValue]]:
    with open_text(path, encoding) as file:
        if path.suffix.lower() == ".jsonl":
            for number, line in enumerate(file, 1):
                try:
                    if line.strip():
                        yield number, json.loads(line)
                except (ValueError, RecursionError) as error:
                    reading.skip(path, number, f"not usable JSON: {error}")
            return
        if path.stat().st_size > _LONGEST_JSON:
            raise UnreadableFileError(f"one JSON value of more than {_LONGEST_JSON >> 20} MiB; write it as .jsonl")
        try:
            value: JsonValue = json.load(file)
        except (ValueError, RecursionError) as error:
            raise UnreadableFileError(f"not usable JSON: {error}") from None
    yield from ((1, each) for each in (value if isinstance(value, list) else [value]))


def _flatten(value: JsonValue, keys: str = "") -> Iterator[str]:
    if isinstance(value, dict | list):
        named = value if isinstance(value, dict) else dict(zip(map(str, range(1, len(value) + 1)), value, strict=True))
        for key, each in named.items():
            yield from _flatten(each, f"{keys} {key}".strip())
    elif value not in (None, ""):
        yield f"{keys}: {' '.join(str(value).split())}" if keys else str(value)


def rst_to_markdown(text: str) -> str:
    """Write the headings of reStructuredText as Markdown's; their order of appearance gives their levels."""
    lines, levels = text.split("\n"), list[tuple[str, bool]]()
    for number in range(1, len(lines)):
        title, rule = lines[number - 1].strip(), lines[number].rstrip()
        if not (_RULE.fullmatch(rule) and title and not _RULE.fullmatch(title) and len(rule) >= len(title)):
            continue
        above = number > 1 and lines[number - 2].rstrip() == rule
        if (style := (rule[0], above)) not in levels:
            levels.append(style)
        lines[number - 1], lines[number] = f"{'#' * min(levels.index(style) + 1, 6)} {title}", ""
        if above:
            lines[number - 2] = ""
    return "\n".join(lines)
