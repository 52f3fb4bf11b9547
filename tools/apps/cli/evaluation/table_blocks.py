"""A report's table on the terminal: whole where it fits, else without intervals, else in blocks one below the other."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from hopgraph.tools.apps.cli.console import print_hanging
from hopgraph.tools.apps.evaluation.report.cells import Table
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

_GAP = 2
_NAME_SHOWN, _HEAD_SHOWN = 32, 24
"""Columns that a method's name and a column's name take at most."""


def print_table(console: Console, table: Table) -> None:
    """Print a table with its title and note, in lines that fit."""
    console.print()
    print_hanging(console, Text(), Text(sanitize_line(table.title), "bold"), indent=0)
    if table.note:
        print_hanging(console, Text(), Text(sanitize_line(table.note), "dim"), indent=0)
    whole = _texts(table, brief=False)
    lines = whole if _width(whole) <= console.width else _texts(table, brief=True)
    for columns in _blocks(lines, console.width):
        console.print(_grid([[line[number] for number in columns] for line in lines]))


def _texts(table: Table, *, brief: bool) -> list[list[str]]:
    """Write all entries as text, the head first."""
    head = [truncate_line(name, _HEAD_SHOWN) for name in table.columns]
    rows = [[sanitize_line(cell.brief if brief else cell.text) for cell in row] for row in table.rows]
    return [head, *([truncate_line(row[0], _NAME_SHOWN), *row[1:]] for row in rows)]


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(*lines, strict=True)]


def _width(lines: Sequence[Sequence[str]]) -> int:
    widths = _widths(lines)
    return sum(widths) + _GAP * (len(widths) - 1)


def _blocks(lines: Sequence[Sequence[str]], room: int) -> list[list[int]]:
    """Part the columns, by number, so that each block fits beside the names; a column that never fits stands alone."""
    name, *widths = _widths(lines)
    blocks: list[list[int]] = []
    used = 0
    for number, width in enumerate(widths, start=1):
        if not blocks or used + _GAP + width > room:
            blocks.append([0])
            used = name
        blocks[-1].append(number)
        used += _GAP + width
    return blocks


def _grid(lines: Sequence[Sequence[str]]) -> RichTable:
    head, *rows = lines
    grid = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, _GAP, 0, 0))
    for number, name in enumerate(head):
        grid.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        grid.add_row(*row)
    return grid
