"""Text files other than Markdown as sections: tables of values, JSON, reStructuredText."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from hopgraph.tools.documents.elements import UnreadableFileError, make_table
from hopgraph.tools.documents.encodings import open_text
from hopgraph.tools.retrieval.corpora.cutting import Block
from hopgraph.tools.retrieval.corpora.markdown_sections import Section, StructuredText, read_markdown
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading

_LONGEST_JSON = 1 << 26  # bytes of a file with one JSON value, which is read whole
_TITLE_KEYS = ("title", "name")
TEXT_KEYS = ("text", "content", "body", "page_content")
"""The keys under which an object may have its text."""
_NUMBER = re.compile(r"[+-]?[\d.,]*\d%?")
_LONGEST_NAME = 60  # characters of a column's name
_RULE = re.compile(r"""([=\-`:.'"~^_*+#<>])\1+$""")
"""What stands below, and perhaps above, a heading of reStructuredText."""


def read_table(path: Path, encoding: str) -> Iterator[Block]:
    """Read CSV or tab-separated values as a table: its first row has the column names, unless it is one of the values.

    A row that is longer than the names has its further cells, too; a title above the names is a text.
    """
    with open_text(path, encoding) as file:
        sample = file.read(8192)
        file.seek(0)
        try:
            dialect = csv.Sniffer().sniff(sample, delimiters=",;\t|")
        except csv.Error:
            dialect = csv.excel_tab if path.suffix.lower() == ".tsv" else csv.excel
        try:
            rows = list(csv.reader(file, dialect))
        except csv.Error as error:
            raise UnreadableFileError(f"it is no table: {error}") from None
    rows = [[cell.strip() for cell in row] for row in rows]
    titles = 0
    while titles < min(len(rows) - 1, 3) and sum(map(bool, rows[titles])) <= 1 < sum(map(bool, rows[titles + 1])):
        titles += 1
    yield from (Block(line, text) for line, row in enumerate(rows[:titles], 1) if (text := " ".join(filter(None, row))))
    for each in make_table(rows[titles:], titles + 1, has_head=_has_names(rows[titles:])):
        yield Block(each.number or titles + 1, each.text, "table" if each.rows else "prose", each.rows)


def _has_names(rows: list[list[str]]) -> bool:
    """Whether the first row is of another kind than the rest: no number among numbers, no text among texts as long."""
    first, rest = rows[0] if rows else [], rows[1:50]
    if any(_NUMBER.fullmatch(cell) for cell in first):
        return False
    return not rest or max(map(len, first), default=0) <= _LONGEST_NAME


def read_notebook(path: Path, encoding: str) -> StructuredText:
    """Read the cells of a Jupyter notebook: Markdown with its headings, code and the text that it printed as lines."""
    try:
        with open_text(path, encoding) as file:
            cells: list[Any] = json.load(file)["cells"]
        parts = [_write_cell(cell) for cell in cells]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise UnreadableFileError(f"it is no notebook: {error}"[:200]) from None
    return read_markdown("\n\n".join(parts))


def _write_cell(cell: Any) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return text
    printed = [
        "".join(each.get("text") or each.get("data", {}).get("text/plain", "")) for each in cell.get("outputs", [])
    ]
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", "".join([text, *printed]))), 3)
    return "\n\n".join(f"{fence}\n{each.rstrip()}\n{fence}" for each in (text, *printed) if each.strip())


def read_json(path: Path, encoding: str, reading: CorpusReading) -> Iterator[Section]:
    """Read JSON, or JSON lines: a section for each object of the list, under its `title` or `name` if it has one.

    Its text is one of TEXT_KEYS, and the rest metadata; else it has a line for each value.
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
