"""`hopgraph check-student`: how often a model replies as examples do."""

from dataclasses import asdict
from functools import partial

from rich.table import Table

from hopgraph.tools.apps.cli.console import console_on, print_json, print_line, progress_on
from hopgraph.tools.apps.cli.evaluation.evaluation_options import CheckOptions
from hopgraph.tools.apps.evaluation.student_check import (
    Outcomes,
    Score,
    StudentScores,
    ask_examples,
    count_outcomes,
    score_replies,
)
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.redact import redact
from hopgraph.tools.students.student_record import read_examples


def run_check_student(options: CheckOptions) -> None:
    """Ask one or two models all examples, and print how they did."""
    spec, before = options.spec, options.before
    examples, facts = read_examples(options.data.expanduser())
    counted: list[Outcomes] = []
    specs = [spec, *([before] if before else [])]
    with progress_on(console_on(stderr=True), {each: redact(each) for each in specs}) as progress:
        for each in specs:
            asked = ask_examples(each, facts.role, examples, options.parallel, partial(progress, each))
            replies = run_in_background(asked)
            counted.append(count_outcomes(facts.role, examples, replies))
    after = score_replies(counted[0], facts.role, *counted[1:])
    old = score_replies(counted[1], facts.role) if before else None
    about = {"role": facts.role, "examples": len(examples), "questions": len(counted[0])}
    if options.as_json:
        print_json({**about, "model": redact(spec), **asdict(after), **_before(before, old)})
        return
    print_line(console_on(), f"{about['role']}: {about['examples']} examples of {about['questions']} questions")
    console_on().print(_table(spec, after, before, old))


def _before(spec: str | None, scores: StudentScores | None) -> dict[str, object]:
    return {"before": {"model": redact(spec), "scores": asdict(scores)["scores"]}} if spec and scores else {}


def _table(spec: str, after: StudentScores, before: str | None, old: StudentScores | None) -> Table:
    table = Table("in percent, with 95 % intervals", *([redact(before)] if before else []), redact(spec))
    if old:
        table.add_column("difference")
    for name, score in after.scores.items():
        cells = [_cell(score)]
        if old:
            cells = [_cell(old.scores[name]), *cells, _cell(after.differences[name], "+")]
        table.add_row(name.replace("_", " "), *cells)
    return table


def _cell(score: Score, sign: str = "") -> str:
    low, high = score.interval
    return f"{100 * score.value:{sign}.1f} [{100 * low:{sign}.1f}, {100 * high:{sign}.1f}]"
