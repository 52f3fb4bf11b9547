"""`hopgraph index --to`: stream a corpus into a search engine."""

import shlex
from pathlib import Path

from rich.text import Text

from hopgraph.tools.apps.cli.console import console_on, print_hanging
from hopgraph.tools.apps.cli.progress_bars import progress_on
from hopgraph.tools.retrieval.engines import FillReport, index_into
from hopgraph.tools.text.sanitize import pluralize, sanitize_line

_STAGES = {"read": "sending", "save": "making searchable"}


def run_index_into(
    source: Path, target: str, *, format_name: str | None, skip_bad: bool, language: str, dense: str | None
) -> None:
    """Stream a corpus into an engine and say what is in it; bad records are named on standard error.

    Raises:
        CorpusError, SettingsError: as `index_into` raises them.
    """
    errors = console_on(stderr=True)
    with progress_on(errors, _STAGES) as progress:
        report = index_into(
            target, source, dense=dense, format=format_name, skip_bad=skip_bad, language=language, progress=progress
        )
    for problem in report.first_skipped:
        print_hanging(errors, Text(), Text(f"skipped {sanitize_line(problem)}", "yellow"), indent=0)
    if (unnamed := report.skipped - len(report.first_skipped)) > 0:
        errors.print(f"skipped {unnamed:,} more", style="yellow")
    console = console_on()
    print_hanging(console, Text(), Text(_summary(report)), indent=0)
    corpus = shlex.quote(report.target)
    print_hanging(console, Text(), Text(f'Use it:  hopgraph ask "…" --corpus {corpus}', "dim"), indent=0)


def _summary(report: FillReport) -> str:
    before = f" ({report.resumed_at:,} of them by an earlier run)" if report.resumed_at else ""
    return (
        f"Sent {pluralize(report.passages, 'passage')}{before} ({report.format} format) in {report.seconds:.1f} s; "
        f"{pluralize(report.skipped, 'bad record')} skipped. "
        f"{report.target} has {pluralize(report.total, 'passage')} now."
    )
