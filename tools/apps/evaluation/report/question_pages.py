"""What an HTML report has besides its tables: the figures, and for each question a page with every method's tree."""

import base64
from collections.abc import Iterator, Mapping
from html import escape

from hopgraph.tools.apps.evaluation.batch.run_directory import Outcome
from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.report.writers import html_page, html_table
from hopgraph.tools.apps.runs.run_svg import draw_run_svg
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

MAX_PAGES = 1_000
"""Questions that have a page; a method's tree takes some 20 KB."""
_MAX_CELL, _MAX_QUESTION = 30, 90
"""Characters of an answer and of a question in the table that links to the pages."""
NO_FIGURES = "<h2>Figures</h2>\n<p>None: they need matplotlib, pip install 'hopgraph[figures]'.</p>"


def figures_section(figures: Mapping[str, bytes]) -> str:
    """Write figures, as SVG by their names, into the page itself."""
    images = (
        f'<img alt="{escape(name)}" src="data:image/svg+xml;base64,{base64.b64encode(svg).decode("ascii")}">'
        for name, svg in figures.items()
    )
    return "\n".join(["<h2>Figures</h2>", *images])


def questions_section(comparison: Comparison, folder: str) -> str:
    """Write a table of questions and answers that links to the pages in `folder`; empty where no steps were kept."""
    runs = _kept_runs(comparison)
    if not any(runs.values()):
        return ""
    rows: list[list[str]] = []
    for number, question in enumerate(_shown(comparison), 1):
        row = [escape(sanitize_line(truncate_line(question.question, _MAX_QUESTION)))]
        for method in comparison.methods:
            outcome, place = runs[method.name].get(question.id), f"{folder}/{number:04}.html#{method.name}"
            row.append(f'<a href="{escape(place)}">{_verdict(method, question, outcome)}</a>' if outcome else "")
        rows.append(row)
    rest = len(comparison.questions) - len(rows)
    note = "A click on an answer shows how it was found." + (f" The first {MAX_PAGES:,} questions." if rest else "")
    columns = ["question", *(method.name for method in comparison.methods)]
    return html_table("Questions", note, [*map(escape, columns)], rows)


def question_pages(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield each question's page with its file's name, in the order of the questions."""
    runs = _kept_runs(comparison)
    for number, question in enumerate(_shown(comparison), 1):
        gold = " | ".join(question.answers) if question.answers else "none known"
        parts = [f"<h1>{escape(sanitize_line(question.question))}</h1>", f"<p>Gold: {escape(gold)}</p>"]
        for method in comparison.methods:
            if outcome := runs[method.name].get(question.id):
                record = method.reader.trace(outcome)
                tree = build_tree(record["question"], record["trace"])
                parts += [
                    f'<h2 id="{escape(method.name)}">{escape(method.name)}: {_verdict(method, question, outcome)}</h2>',
                    f'<div class="scroll">{draw_run_svg(tree, method.name)}</div>',
                ]
        yield f"{number:04}.html", html_page(question.question, parts)


def _shown(comparison: Comparison) -> list[EvalQuestion]:
    return list(comparison.questions.values())[:MAX_PAGES]


def _kept_runs(comparison: Comparison) -> dict[str, dict[str, Outcome]]:
    """Find the outcomes with steps, of first repeats: method → question id → outcome."""
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
    return f"{mark}{escape(truncate_line(sanitize_line(outcome['answer']), _MAX_CELL)) or 'no answer'}"
