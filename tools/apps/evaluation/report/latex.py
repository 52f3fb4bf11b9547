"""Write tables as LaTeX that compiles in a document of any class, with booktabs and without packages."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from hopgraph.tools.apps.evaluation.report.tables import Cell, Table
from hopgraph.tools.text.sanitize import sanitize_line

_WRITTEN = {each: f"\\{each}" for each in "&%$#_{}"} | {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "`": "\\textasciigrave{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    "[": "{[}",
    "*": "{*}",
    '"': "{\\ttfamily\\char34}",
    "±": "$\\pm$",
    "·": "$\\cdot$",
    "✓": "$\\surd$",
    "…": "\\dots{}",
}
"""Characters that mean something to LaTeX, and our marks."""
_LETTERS = re.compile("[À-ÏÑ-ÖØ-Ýß-ïñ-öø-ýÿ]")
"""Letters beyond ASCII that the fonts of every LaTeX have."""
_HEAD = r"""% For \input. With \usepackage{booktabs} the rules are its own.
\providecommand{\toprule}{\hline}\providecommand{\midrule}{\hline}\providecommand{\bottomrule}{\hline}
"""


def as_latex(heading: str, notes: Sequence[str], tables: Sequence[Table]) -> str:
    """Write each table as a `table` environment with its note as the caption, after the notes as comments."""
    comment = "".join(f"% {escape_latex(text)}\n" for text in (heading, *notes))
    return comment + _HEAD + "\n".join(_environment(each, number) for number, each in enumerate(tables, 1))


def escape_latex(text: str) -> str:
    """Write untrusted text so that LaTeX prints it as it is; a character that not every font has as its code point."""
    return "".join(map(_written, sanitize_line(text))).replace("--", "-{}-")


def _written(char: str) -> str:
    if char in _WRITTEN:
        return _WRITTEN[char]
    return char if char.isascii() or _LETTERS.match(char) else f"U+{ord(char):04X}"


def _environment(table: Table, number: int) -> str:
    caption = " ".join(escape_latex(text) for text in (f"{table.title}.", table.note) if text)
    lines = [
        "\\begin{table}",
        "\\centering\\small\\setlength{\\tabcolsep}{4pt}",
        f"\\caption{{{caption}}}",
        f"\\label{{tab:hopgraph-{number}}}",
        f"\\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        "\\toprule",
        *_head(table),
        "\\midrule",
        *_body(table),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}\n",
    ]
    return "\n".join(lines)


def _head(table: Table) -> Iterator[str]:
    if table.groups:
        spans = [(name, len([*each])) for name, each in groupby(table.groups[1:])]
        yield _line(["", *(_span(width, "c", escape_latex(name)) for name, width in spans)])
    yield _line(map(escape_latex, table.columns))


def _body(table: Table) -> Iterator[str]:
    sections = table.sections or [""] * len(table.rows)
    for number, (name, pairs) in enumerate(groupby(zip(sections, table.rows, strict=True), lambda pair: pair[0])):
        if table.sections:
            yield from ["\\midrule"] * (number > 0)
            yield _line([_span(len(table.columns), "l", f"\\textit{{{escape_latex(name)}}}")])
        for _, row in pairs:
            yield _line([escape_latex(row[0].text), *map(_value, row[1:])])
            intervals = [escape_latex(cell.text.removeprefix(cell.brief)) for cell in row]
            if any(intervals):  # below the numbers, or few columns would fit on a page
                yield _line(f"\\scriptsize {each}" if each else "" for each in intervals)


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _span(columns: int, place: str, text: str) -> str:
    return f"\\multicolumn{{{columns}}}{{{place}}}{{{text}}}"


def _value(cell: Cell) -> str:
    number, *rest = escape_latex(cell.brief).split(" ", 1)
    command = ("", "\\textbf", "\\underline")[cell.rank]
    said = " ".join([f"{command}{{{number}}}" if command else number, *rest])
    return f"{said}$^{{{cell.mark}}}$" if cell.mark else said
