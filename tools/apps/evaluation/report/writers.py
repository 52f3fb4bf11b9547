"""Writers of tables as Markdown, HTML, CSV, JSON or LaTeX, with all texts escaped.

An HTML report also has figures, and a page for each question with every method's run tree. LaTeX tables compile in
any document class, with or without booktabs.
"""

import base64
import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

from pydantic import JsonValue

from hopgraph.tools.apps.evaluation.batch.run_directory import Outcome, RunReader
from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.report.tables import Cell, Table
from hopgraph.tools.apps.runs.run_svg import draw_run_svg
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.prompts import clean
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

_ESCAPES = {each: f"\\{each}" for each in "&%$#_{}"} | {
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
"""Special characters of LaTeX, and our marks."""
_LETTERS = re.compile("[À-ÏÑ-ÖØ-Ýß-ïñ-öø-ýÿ]")
"""Non-ASCII letters in the default fonts of LaTeX."""
_HEAD = r"""% For \input. Uses booktabs' rules if \usepackage{booktabs} is loaded.
\providecommand{\toprule}{\hline}\providecommand{\midrule}{\hline}\providecommand{\bottomrule}{\hline}
"""


def as_latex(heading: str, notes: Sequence[str], tables: Sequence[Table]) -> str:
    """Return the notes as comments, then each table as a `table` environment with its note in the caption."""
    comment = "".join(f"% {escape_latex(text)}\n" for text in (heading, *notes))
    return comment + _HEAD + "\n".join(_environment(each, number) for number, each in enumerate(tables, 1))


def escape_latex(text: str) -> str:
    """Escape untrusted text for LaTeX; characters that fonts may lack become code points."""
    return "".join(map(_escape_char, sanitize_line(text))).replace("--", "-{}-")


def _escape_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
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
            if any(intervals):  # on their own line, so that more columns fit on a page
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


MAX_PAGES = 1_000
"""Maximum number of question pages; a method's tree takes about 20 KB."""
_MAX_CELL, _MAX_QUESTION = 30, 90
"""Maximum characters of an answer and of a question in the table of links."""
NO_FIGURES = "<h2>Figures</h2>\n<p>Figures require matplotlib: pip install 'hopgraph[figures]'.</p>"
_STYLE = files(__package__ or "").joinpath("report.css").read_text(encoding="utf-8")


def as_markdown(heading: str, notes: Sequence[str], tables: Sequence[Table]) -> str:
    """Return a Markdown page of the tables."""
    parts = [f"# {_in_markdown(heading)}", *map(_in_markdown, notes)]
    for table in (each.flat() for each in tables):
        rule = ["---", *["---:"] * (len(table.columns) - 1)]
        lines = [[*map(_in_markdown, table.columns)], *([*map(_markdown_value, row)] for row in table.rows)]
        head, *body = [f"| {' | '.join(line)} |" for line in lines]
        grid = "\n".join([head, f"| {' | '.join(rule)} |", *body])
        parts += [f"## {_in_markdown(table.title)}", *([_in_markdown(table.note)] if table.note else []), grid]
    return clean("\n\n".join(parts)) + "\n"


def _markdown_value(cell: Cell) -> str:
    before, after = (("", ""), ("**", "**"), ("<u>", "</u>"))[cell.rank]
    interval = _in_markdown(cell.text.removeprefix(cell.brief))
    return f"{before}{_in_markdown(cell.brief)}{after}{_in_markdown(cell.mark)}{interval and f' {interval}'}"


def as_html(heading: str, notes: Sequence[str], tables: Sequence[Table], sections: Sequence[str] = ()) -> str:
    """Return one self-contained page; `sections` are HTML fragments that follow the tables."""
    body = [f"<h1>{html.escape(heading)}</h1>", *(f"<p>{html.escape(note)}</p>" for note in notes)]
    for table in (each.flat() for each in tables):
        rows = [[html.escape(row[0].text), *map(_html_value, row[1:])] for row in table.rows]
        body.append(html_table(table.title, table.note, [*map(html.escape, table.columns)], rows))
    return html_page(heading, [*body, *sections])


def html_page(title: str, body: Sequence[str]) -> str:
    """Return a page of HTML fragments in the reports' style, without control or direction characters."""
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>\n{_STYLE}</style></head>\n<body>"
    )
    return clean("\n".join([head, *body, "</body></html>\n"]))


def html_table(title: str, note: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a titled table of HTML cells; the first cell of each row is its header."""
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    lines = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>\n' for row in rows
    )
    said = f"<p>{html.escape(note)}</p>\n" if note else ""
    return (
        f"<h2>{html.escape(title)}</h2>\n{said}"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{lines}</tbody></table></div>'
    )


def _html_value(cell: Cell) -> str:
    interval = html.escape(cell.text.removeprefix(cell.brief))
    before, after = (("", ""), ("<b>", "</b>"), ("<u>", "</u>"))[cell.rank]
    mark = f"<sup>{cell.mark}</sup>" if cell.mark else ""
    return f"{before}{html.escape(cell.brief)}{after}{mark}{interval and f'<small>{interval}</small>'}"


def figures_section(figures: Mapping[str, bytes]) -> str:
    """Return an HTML section with SVG figures embedded as data URLs."""
    images = (
        f'<img alt="{html.escape(name)}" src="data:image/svg+xml;base64,{base64.b64encode(svg).decode("ascii")}">'
        for name, svg in figures.items()
    )
    return "\n".join(["<h2>Figures</h2>", *images])


def settings_section(comparison: Comparison) -> str:
    """Return a table of each method's settings, and of its run's corpus, repeats and versions."""
    records = {each.name: {**_run_facts(each.reader), **each.settings} for each in comparison.methods}
    rows = [
        [html.escape(name), *(_html_setting(record[name]) if name in record else "" for record in records.values())]
        for name in dict.fromkeys(name for record in records.values() for name in record)
    ]
    note = "From the run's manifest, which also has hashes of the prompts."
    return html_table("Settings", note, ["setting", *map(html.escape, records)], rows)


def _run_facts(reader: RunReader) -> dict[str, JsonValue]:
    manifest = reader.manifest
    versions = ", ".join(f"{name} {version}" for name, version in manifest.libraries.items())
    facts = {"run": str(reader.folder), "data set": f"{manifest.dataset.name}, {manifest.dataset.sample}"}
    return {**facts, "corpus": manifest.corpus.retriever, "repeats": manifest.repeats, "versions": versions}


def _html_setting(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f'<span class="text">{html.escape(sanitize_line(text))}</span>'


def questions_section(comparison: Comparison, folder: str) -> str:
    """Return a table of questions and answers with links to the pages in `folder`; empty if no steps were kept."""
    runs = _kept_runs(comparison)
    if not any(runs.values()):
        return ""
    rows: list[list[str]] = []
    for number, question in enumerate(_shown(comparison), 1):
        row = [html.escape(sanitize_line(truncate_line(question.question, _MAX_QUESTION)))]
        for method in comparison.methods:
            outcome, place = runs[method.name].get(question.id), f"{folder}/{number:04}.html#{method.name}"
            row.append(f'<a href="{html.escape(place)}">{_verdict(method, question, outcome)}</a>' if outcome else "")
        rows.append(row)
    note = "Click an answer to see its steps."
    if len(rows) < len(comparison.questions):
        note += f" The first {MAX_PAGES:,} questions."
    columns = ["question", *(html.escape(method.name) for method in comparison.methods)]
    return html_table("Questions", note, columns, rows)


def question_pages(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield (file name, page) for each question, in order."""
    runs = _kept_runs(comparison)
    for number, question in enumerate(_shown(comparison), 1):
        gold = " | ".join(question.answers) if question.answers else "none known"
        parts = [f"<h1>{html.escape(sanitize_line(question.question))}</h1>", f"<p>Gold: {html.escape(gold)}</p>"]
        for method in comparison.methods:
            if outcome := runs[method.name].get(question.id):
                record = method.reader.trace(outcome)
                tree = build_tree(record["question"], record["trace"])
                name = html.escape(method.name)
                parts += [
                    f'<h2 id="{name}">{name}: {_verdict(method, question, outcome)}</h2>',
                    f'<div class="scroll">{draw_run_svg(tree, method.name)}</div>',
                ]
        yield f"{number:04}.html", html_page(question.question, parts)


def _shown(comparison: Comparison) -> list[EvalQuestion]:
    return list(comparison.questions.values())[:MAX_PAGES]


def _kept_runs(comparison: Comparison) -> dict[str, dict[str, Outcome]]:
    """Return method → question id → outcome, for first repeats with steps."""
    return {
        method.name: {
            each["id"]: each
            for each in method.reader.latest(method.method).values()
            if each["id"] in comparison.questions and each["repeat"] == 0 and each["trace"]
        }
        for method in comparison.methods
    }


def _verdict(method: ScoredMethod, question: EvalQuestion, outcome: Outcome) -> str:
    mark = {None: "", "right": "✓ "}.get(method.losses.get(question.id), "✗ ")
    return f"{mark}{html.escape(truncate_line(sanitize_line(outcome['answer']), _MAX_CELL)) or 'no answer'}"


class _Entry(NamedTuple):
    """A cell with its context; data set and model are empty unless the table has several."""

    table: Table
    dataset: str
    model: str
    method: str
    column: str
    cell: Cell


def _entries(tables: Sequence[Table]) -> Iterator[_Entry]:
    """Yield the cells with a value, table by table and row by row."""
    for table in tables:
        groups, sections = table.groups or [""] * len(table.columns), table.sections or [""] * len(table.rows)
        for model, row in zip(sections, table.rows, strict=True):
            for dataset, column, cell in list(zip(groups, table.columns, row, strict=True))[1:]:
                if cell.value is not None:
                    yield _Entry(table, dataset, model, row[0].text, column, cell)


def as_csv(heading: str, notes: Sequence[str], tables: Sequence[Table]) -> str:
    """Return a line per value, unrounded, with its context and its table's note."""
    del heading, notes
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "dataset", "model", "method", "column", "value", "low95", "high95", "sd", "p", "note"])
    for table, *place, cell in _entries(tables):
        line = (table.title, *place, cell.value, cell.low, cell.high, cell.sd, cell.p, table.note)
        writer.writerow([protect_csv_text(each) for each in line])
    return clean(out.getvalue())


def as_json(heading: str, notes: Sequence[str], tables: Sequence[Table]) -> str:
    """Return the tables as one object, with values unrounded and as printed; empty fields are left out."""
    made = [
        {
            "title": table.title,
            "note": table.note,
            "entries": [
                _filled({"dataset": each.dataset, "model": each.model, "method": each.method, "column": each.column})
                | _filled(asdict(each.cell))
                for each in _entries([table])
            ],
        }
        for table in tables
    ]
    return f"{json.dumps({'heading': heading, 'notes': [*notes], 'tables': made}, indent=1)}\n"


def _filled(record: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in record.items() if value is not None and value != ""}


_MARKS = re.compile(r"[\\`*\[<>|#~&]|(?<![^\W_])_|_(?![^\W_])")
"""Special characters of Markdown; underscores within words are not special."""

WRITERS: dict[str, Callable[[str, Sequence[str], Sequence[Table]], str]] = {
    ".md": as_markdown,
    ".html": as_html,
    ".csv": as_csv,
    ".json": as_json,
    ".tex": as_latex,
}
"""File suffix → writer."""


def _in_markdown(text: str) -> str:
    """Escape a text for Markdown, including tables."""
    return " ".join(_MARKS.sub(r"\\\g<0>", text).split())


def protect_csv_text(value: object) -> object:
    """Escape a text that a spreadsheet would interpret as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r\n") else value
