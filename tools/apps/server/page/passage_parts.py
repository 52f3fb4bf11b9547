"""A passage parted for the page: running text and tables, with what is quoted of each."""

import re
from typing import NamedTuple

_TABLE = re.compile(r"^\|.*\|(?:\n\|.*\|)+$", re.MULTILINE)
_RULE = re.compile(r"\|(?:-{3,}\|)+")


class TextPart(NamedTuple):
    """Running text, with what is quoted of it in the middle."""

    before: str
    quoted: str = ""
    after: str = ""
    rows: tuple[()] = ()  # which a table has


class ShownRow(NamedTuple):
    """A row of a table."""

    cells: list[str]
    quoted: bool = False
    is_head: bool = False


class TablePart(NamedTuple):
    """A table, as `write_table` wrote it."""

    rows: list[ShownRow]


def part_passage(text: str, start: int = 0, end: int = 0) -> list[TextPart | TablePart]:
    """Return a passage's parts in their order; what stands from `start` to `end` is quoted."""
    parts = list[TextPart | TablePart]()
    at = 0
    for found in _TABLE.finditer(text):
        first, last = found.span()
        parts += [*_text(text, at, first, start, end), _table(found[0], start - first, end - first)]
        at = last
    return [*parts, *_text(text, at, len(text), start, end)]


def _text(text: str, first: int, last: int, start: int, end: int) -> list[TextPart | TablePart]:
    start, end = min(max(start, first), last), max(min(end, last), first)
    if start >= end:
        return [TextPart(text[first:last])] if text[first:last].strip() else []
    return [TextPart(text[first:start], text[start:end], text[end:last])]


def _table(text: str, start: int, end: int) -> TablePart:
    lines, rows, at = text.split("\n"), list[ShownRow](), 0
    has_names = len(lines) > 2 and _RULE.fullmatch(lines[1])
    for number, line in enumerate(lines):
        is_head = bool(has_names) and number == 0
        if not (has_names and number == 1):
            rows.append(ShownRow(line[1:-1].split(" | "), start < at + len(line) and at < end and not is_head, is_head))
        at += len(line) + 1
    return TablePart(rows)
