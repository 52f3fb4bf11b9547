"""`hopgraph index`: build a searchable index of a corpus."""

import shlex
from pathlib import Path

from rich.text import Text

from hopgraph.tools.cli.console import console_on, counted, on_one_line, print_hanging
from hopgraph.tools.cli.progress import progress_on
from hopgraph.tools.retrieval import IndexReport, build_index

_STAGES = {"read": "reading", "score": "scoring", "save": "saving"}


def run_index(source: Path, out: Path, *, format_name: str | None, skip_bad: bool) -> None:
    """Build an index and say what is in it; bad records that were passed over are named on standard error.

    Raises:
        CorpusError, SettingsError: as `build_index` raises them.
    """
    errors = console_on(stderr=True)
    with progress_on(errors, _STAGES) as progress:
        report = build_index(source, out, format=format_name, skip_bad=skip_bad, progress=progress)
    for problem in report.first_skipped:
        print_hanging(errors, Text(), Text(f"skipped {on_one_line(problem)}", "yellow"), indent=0)
    if (unnamed := report.skipped - len(report.first_skipped)) > 0:
        errors.print(f"skipped {unnamed:,} more", style="yellow")
    console = console_on()
    print_hanging(console, Text(), Text(_summary(report)), indent=0)
    print_hanging(console, Text(), Text(f'Use it:  hopgraph ask "…" --corpus {shlex.quote(str(out))}', "dim"), indent=0)


def _summary(report: IndexReport) -> str:
    return (
        f"Indexed {counted(report.passages, 'passage')} ({counted(report.terms, 'term')}, {report.format} format) "
        f"in {report.seconds:.1f} s; {counted(report.skipped, 'bad record')} skipped."
    )
