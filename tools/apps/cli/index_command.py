"""`hopgraph index`: build a searchable index of a corpus."""

import shlex
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.cli.console import console_on, print_hanging
from hopgraph.tools.apps.cli.progress_bars import progress_on
from hopgraph.tools.retrieval import IndexReport, build_index
from hopgraph.tools.retrieval.index_manifest import DenseFacts
from hopgraph.tools.retrieval.progress import Progress
from hopgraph.tools.retrieval.shards import find_shards
from hopgraph.tools.text.sanitize import pluralize, sanitize_line

_STAGES = {
    "read": "reading",
    "score": "scoring",
    "save": "saving",
    "embed": "embedding",
    "faiss": "ordering vectors",
    "encode": "encoding",
}


def run_index(
    source: Path,
    out: Path,
    *,
    format_name: str | None,
    skip_bad: bool,
    language: str | None,
    dense: str | None,
    faiss: str | None,
    add: bool,
    colbert: str | None,
) -> None:
    """Build an index and say what is in it; bad records that were passed over are named on standard error.

    Raises:
        CorpusError, SettingsError, ModelError: as `build_index` raises them.
    """
    errors = console_on(stderr=True)
    encode = _encoder(colbert) if colbert else None  # a model that is missing is told before anything is read
    with progress_on(errors, _STAGES) as progress, _telling_what_is_kept(out, errors):
        report = build_index(
            source,
            out,
            format=format_name,
            skip_bad=skip_bad,
            language=language,
            dense=dense,
            faiss=faiss,
            add=add,
            progress=_telling_where_it_resumes(progress, errors),
        )
        vectors = encode(report.path, progress) if encode else 0
    for problem in report.first_skipped:
        print_hanging(errors, Text(), Text(f"skipped {sanitize_line(problem)}", "yellow"), indent=0)
    if (unnamed := report.skipped - len(report.first_skipped)) > 0:
        errors.print(f"skipped {unnamed:,} more", style="yellow")
    console = console_on()
    print_hanging(console, Text(), Text(_summary(report)), indent=0)
    if vectors:
        print_hanging(console, Text(), Text(f"Added {pluralize(vectors, 'vector')} of {colbert}."), indent=0)
    if report.dense:
        print_hanging(console, Text(), Text(_about_vectors(report.dense)), indent=0)
    corpus = shlex.quote(f"colbert:{out}" if vectors else f"hybrid:{out}" if report.dense else str(out))
    print_hanging(console, Text(), Text(f'Use it:  hopgraph ask "…" --corpus {corpus}', "dim"), indent=0)


def _encoder(model: str) -> Callable[[Path, Progress], int]:
    """Load a late-interaction model and give what adds its vectors to an index.

    Raises:
        SpecError: it cannot be loaded.
    """
    from hopgraph.tools.retrieval.late_interaction import add_late_interaction
    from hopgraph.tools.retrieval.late_interaction_model import load_late_interaction

    loaded = load_late_interaction(model)
    return lambda folder, progress: add_late_interaction(folder, loaded, progress)


def _telling_where_it_resumes(progress: Progress, errors: Console) -> Progress:
    """Say once how many passages need not be embedded again."""
    told = False

    def report(stage: str, done: int, total: int | None) -> None:
        nonlocal told
        if stage == "embed" and not told:
            told = True
            if done:
                line = f"resuming from {done:,} of {total or done:,} passages, embedded by a build that was broken off"
                print_hanging(errors, Text(), Text(line, "yellow"), indent=0)
        progress(stage, done, total)

    return report


@contextmanager
def _telling_what_is_kept(out: Path, errors: Console) -> Generator[None]:
    """Say at a failure or an interrupt that vectors which were made are not lost."""
    try:
        yield
    except (HopgraphError, KeyboardInterrupt):
        if kept := find_shards(out.expanduser().resolve()):
            line = f"what was embedded is kept in {kept[0]}; the same command goes on from there"
            print_hanging(errors, Text(), Text(sanitize_line(line), "yellow"), indent=0)
        raise


def _about_vectors(dense: DenseFacts) -> str:
    return f"Vectors of {dense.embedding.dimension} numbers by {dense.embedding.model}, FAISS {dense.kind}."


def _summary(report: IndexReport) -> str:
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
