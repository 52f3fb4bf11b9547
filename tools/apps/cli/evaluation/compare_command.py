"""`hopgraph compare`: the methods of one or more runs side by side, printed and written to files."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.console import print_hanging
from hopgraph.tools.apps.cli.evaluation.score_table import summary_console
from hopgraph.tools.apps.cli.evaluation.table_blocks import print_table
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.comparison import Comparison, compare
from hopgraph.tools.apps.evaluation.report.tables import simulated, tables
from hopgraph.tools.apps.evaluation.report.writers import WRITERS
from hopgraph.tools.apps.evaluation.trec import trec_files
from hopgraph.tools.io.atomic_files import write_files
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.text.sanitize import pluralize, sanitize_line


def run_compare(
    runs: Sequence[Path],
    *,
    against: str | None = None,
    out: Sequence[Path] = (),
    figures: Path | None = None,
    trec: Path | None = None,
) -> None:
    """Print the tables of a comparison, and write what is asked for.

    Raises:
        SettingsError: a file with an ending that nobody writes. RunError: no run, other questions, no such method.
        SpecError: figures need a package that is missing. OSError: a file cannot be written.
    """
    for path in out:
        if path.suffix.lower() not in WRITERS:
            raise SettingsError(f"--out {str(path)!r:.80}: its ending must be one of {', '.join(WRITERS)}")
    if figures:
        require("matplotlib", "figures")
    comparison = compare([RunReader(path.expanduser()) for path in runs])
    made = tables(comparison, against)
    heading, notes = _heading(comparison), _notes(comparison)
    console = summary_console()
    _print_head(console, heading, notes)
    for table in made:
        print_table(console, table)
    files = {path.expanduser(): WRITERS[path.suffix.lower()](heading, notes, made) for path in out}
    if trec:
        files.update({trec.expanduser() / name: text for name, text in trec_files(comparison).items()})
    write_files({path: text.encode("utf-8", "replace") for path, text in files.items()})
    written = list(files)
    if figures:
        from hopgraph.tools.apps.evaluation.report.figures import draw_figures

        written += draw_figures(comparison, figures.expanduser())
    if written:
        console.print()
        text = f"Written: {', '.join(sanitize_line(str(path)) for path in written)}"
        print_hanging(console, Text(), Text(text, "dim"), indent=0)


def _heading(comparison: Comparison) -> str:
    facts = comparison.methods[0].reader.manifest.dataset
    return f"{facts.name}, {facts.sample}: {pluralize(facts.questions, 'question')}"


def _notes(comparison: Comparison) -> list[str]:
    """Say what the runs have in common and who answered."""
    label = simulated(comparison)
    corpora = {method.reader.manifest.corpus.retriever: None for method in comparison.methods}
    notes = [f"Corpus: {', '.join(corpora)}. Models: {', '.join(dict.fromkeys(m.model for m in comparison.methods))}."]
    notes += _renamings(comparison)
    return [*notes, *([f"Not a language model's scores: {label}."] if label else [])]


def _renamings(comparison: Comparison) -> list[str]:
    """Say which runs have other names in them."""
    runs = {each.reader.folder.name: each.renaming for each in comparison.methods}
    seeds = {name: seed for name, seed in runs.items() if seed is not None}
    where = f" in {', '.join(seeds)}" if len(seeds) < len(runs) else ""
    told = ", ".join(str(seed) for seed in dict.fromkeys(seeds.values()))
    text = f"People, places and works were renamed{where} (seed {told}), so that memory cannot answer."
    return [text] if seeds else []


def _print_head(console: Console, heading: str, notes: Sequence[str]) -> None:
    print_hanging(console, Text(), Text(sanitize_line(heading), "bold"), indent=0)
    for note in notes:
        warns = note.startswith("Not a language model")
        print_hanging(console, Text(), Text(sanitize_line(note), "yellow" if warns else "dim"), indent=0)
