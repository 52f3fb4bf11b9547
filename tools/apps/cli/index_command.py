"""`hopgraph index`: build a searchable index of a corpus."""

import shlex
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.cli.command_options import IndexOptions
from hopgraph.tools.apps.cli.console import console_on, print_line
from hopgraph.tools.apps.cli.progress_bars import progress_on
from hopgraph.tools.retrieval import IndexReport, build_index
from hopgraph.tools.retrieval.progress import Progress
from hopgraph.tools.retrieval.shards import find_shards
from hopgraph.tools.text.sanitize import pluralize

_STAGES = {
    "read": "reading",
    "score": "scoring",
    "save": "saving",
    "embed": "embedding",
    "faiss": "ordering vectors",
    "encode": "encoding",
}
_ENGINE_STAGES = {"read": "sending", "save": "making searchable"}


def run_index(options: IndexOptions, out: Path) -> None:
    """Build an index and print what is in it; bad records that were skipped are named on standard error.

    Raises:
        CorpusError, SettingsError, ModelError: as `build_index` raises them.
    """
    errors = console_on(stderr=True)
    encode = (
        _encoder(options.colbert) if options.colbert else None
    )  # a missing model is reported before anything is read
    with progress_on(errors, _STAGES) as progress, _report_saved_vectors(out, errors):
        report = build_index(
            options.source,
            out,
            format=options.format_name,
            skip_bad=options.skip_bad,
            language=options.language,
            dense=options.dense,
            faiss=options.faiss,
            add=options.add,
            progress=_report_resuming(progress, errors),
        )
        vectors = encode(report.path, progress) if encode else 0
    _print_skipped(errors, report.skipped, report.first_skipped)
    console = console_on()
    print_line(console, _index_summary(report))
    if vectors:
        print_line(console, f"Added {pluralize(vectors, 'vector')} of {options.colbert}.")
    if report.dense:
        about = report.dense.embedding
        print_line(console, f"Vectors of {about.dimension} numbers by {about.model}, FAISS {report.dense.kind}.")
    _print_use(console, f"colbert:{out}" if vectors else f"hybrid:{out}" if report.dense else str(out))


def run_index_into(options: IndexOptions, target: str) -> None:
    """Stream a corpus into a search engine and print what is in it; skipped records are named on standard error.

    Raises:
        CorpusError, SettingsError: as `index_into` raises them.
    """
    from hopgraph.tools.retrieval.engines import index_into

    errors = console_on(stderr=True)
    with progress_on(errors, _ENGINE_STAGES) as progress:
        report = index_into(
            target,
            options.source,
            dense=options.dense,
            format=options.format_name,
            skip_bad=options.skip_bad,
            language=options.language or "en",
            progress=progress,
        )
    _print_skipped(errors, report.skipped, report.first_skipped)
    before = f" ({report.resumed_at:,} of them by an earlier run)" if report.resumed_at else ""
    console = console_on()
    print_line(
        console,
        f"Sent {pluralize(report.passages, 'passage')}{before} ({report.format} format) in {report.seconds:.1f} s; "
        f"{pluralize(report.skipped, 'bad record')} skipped. "
        f"{report.target} has {pluralize(report.total, 'passage')} now.",
    )
    _print_use(console, report.target)


def _print_skipped(errors: Console, skipped: int, first: Sequence[str]) -> None:
    for problem in first:
        print_line(errors, f"skipped {problem}", "yellow")
    if (unnamed := skipped - len(first)) > 0:
        errors.print(f"skipped {unnamed:,} more", style="yellow")


def _print_use(console: Console, corpus: str) -> None:
    print_line(console, f'Use it:  hopgraph ask "…" --corpus {shlex.quote(corpus)}', "dim")


def _encoder(model: str) -> Callable[[Path, Progress], int]:
    """Load a late-interaction model and return the function that adds its vectors to an index.

    Raises:
        SpecError: it cannot be loaded.
    """
    from hopgraph.tools.retrieval.late_interaction import add_late_interaction
    from hopgraph.tools.retrieval.late_interaction_model import load_late_interaction

    loaded = load_late_interaction(model)
    return lambda folder, progress: add_late_interaction(folder, loaded, progress)


def _report_resuming(progress: Progress, errors: Console) -> Progress:
    """Wrap a progress report so that it prints once how many passages need not be embedded again."""
    reported = False

    def report(stage: str, done: int, total: int | None) -> None:
        nonlocal reported
        if stage == "embed" and not reported:
            reported = True
            if done:
                line = f"resuming from {done:,} of {total or done:,} passages, embedded by an interrupted build"
                print_line(errors, line, "yellow")
        progress(stage, done, total)

    return report


@contextmanager
def _report_saved_vectors(out: Path, errors: Console) -> Generator[None]:
    """Print at a failure or an interrupt where the vectors made so far are kept."""
    try:
        yield
    except (HopgraphError, KeyboardInterrupt):
        if kept := find_shards(out.expanduser().resolve()):
            line = f"what was embedded is kept in {kept[0]}; the same command resumes from there"
            print_line(errors, line, "yellow")
        raise


def _index_summary(report: IndexReport) -> str:
    if report.before:
        known = f"; {report.known:,} were there already" if report.known else ""
        return (
            f"Added {pluralize(report.passages - report.before, 'passage')} to {report.before:,} in "
            f"{report.seconds:.1f} s{known}; {pluralize(report.skipped, 'bad record')} skipped."
        )
    return (
        f"Indexed {pluralize(report.passages, 'passage')} ({pluralize(report.terms, 'term')}, {report.format} format) "
        f"in {report.seconds:.1f} s; {pluralize(report.skipped, 'bad record')} skipped."
    )
