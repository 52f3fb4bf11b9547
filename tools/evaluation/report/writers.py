"""Write tables as Markdown, HTML or CSV; texts from a data set stay texts."""

import csv
import html
import io
from collections.abc import Callable, Sequence

from hopgraph.tools.evaluation.report.tables import Table

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;"
    "background:#fff}table{border-collapse:collapse;display:block;overflow-x:auto}th,td{padding:.3rem .7rem;"
    "text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}th:first-child,td:first-child{text-align:left}"
    "@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}th,td{border-color:#3a3a3a}}"
)


def as_markdown(heading: str, notes: Sequence[str], tables: Sequence[Table]) -> str:
    """Write a page of Markdown tables."""
    parts = [f"# {_in_markdown(heading)}", *map(_in_markdown, notes)]
    for table in tables:
        rule = ["---", *["---:"] * (len(table.columns) - 1)]
        lines = [table.columns, rule, *([cell.text for cell in row] for row in table.rows)]
        grid = "\n".join(f"| {' | '.join(line if line is rule else map(_in_markdown, line))} |" for line in lines)
        parts += [f"## {_in_markdown(table.title)}", grid, *([_in_markdown(table.note)] if table.note else [])]
    return "\n\n".join(parts) + "\n"


def as_html(heading: str, notes: Sequence[str], tables: Sequence[Table]) -> str:
    """Write one page that needs nothing else, in light and dark."""
    body = [f"<h1>{html.escape(heading)}</h1>", *(f"<p>{html.escape(note)}</p>" for note in notes)]
    for table in tables:
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in table.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell.text)}</td>" for cell in row) + "</tr>" for row in table.rows
        )
        body.append(
            f"<h2>{html.escape(table.title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p>{html.escape(table.note)}</p>"
        )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(heading)}</title><style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def as_csv(heading: str, notes: Sequence[str], tables: Sequence[Table]) -> str:
    """Write every number on a line of its own: table, method, column, value; unrounded."""
    del heading, notes
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "method", "column", "value"])
    for table in tables:
        for row in table.rows:
            for column, cell in zip(table.columns[1:], row[1:], strict=True):
                if cell.value is not None:
                    writer.writerow([_in_csv(each) for each in (table.title, row[0].text, column, cell.value)])
    return out.getvalue()


WRITERS: dict[str, Callable[[str, Sequence[str], Sequence[Table]], str]] = {
    ".md": as_markdown,
    ".html": as_html,
    ".csv": as_csv,
}
"""By the ending of the file."""


def _in_markdown(text: str) -> str:
    """Write a text so that Markdown shows it as it is, also in a table."""
    escaped = "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in text)
    return " ".join(escaped.split())


def _in_csv(value: float | str) -> float | str:
    """Keep a spreadsheet from taking a text for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value
