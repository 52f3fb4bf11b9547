"""`hopgraph compare`: the methods of one or more runs side by side, printed and written to files."""

from pathlib import Path

from hopgraph.graphs import METHODS
from hopgraph.state import SettingsError, SpecError
from hopgraph.tools.apps.cli.console import print_line
from hopgraph.tools.apps.cli.evaluation.evaluation_options import CompareOptions
from hopgraph.tools.apps.cli.evaluation.run_tables import print_table, summary_console
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, describe_simulated
from hopgraph.tools.apps.evaluation.comparison import Comparison, compare_runs
from hopgraph.tools.apps.evaluation.report.tables import tables
from hopgraph.tools.apps.evaluation.report.writers import (
    NO_FIGURES,
    WRITERS,
    as_html,
    figures_section,
    format_trec_files,
    question_pages,
    questions_section,
)
from hopgraph.tools.io.code_objects import parse_place
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.text.sanitize import pluralize


def run_compare(options: CompareOptions) -> None:
    """Print the tables of a comparison, and write what is asked for."""
    out, against = options.out or [], options.against
    for path in out:
        if path.suffix.lower() not in WRITERS:
            raise SettingsError(f"--out {str(path)!r:.80}: its ending must be one of {', '.join(WRITERS)}")
    comparison = compare_runs([RunReader(path.expanduser()) for path in options.runs])
    place = parse_place(against, "graph") if against else None
    made = tables(comparison, METHODS.add(place).name if place else against)
    facts = comparison.methods[0].reader.manifest.dataset
    heading = f"{facts.name}, {facts.sample}: {pluralize(facts.questions, 'question')}"
    notes, label = _notes(comparison), describe_simulated(each.settings for each in comparison.methods)
    warnings = [f"Not a language model's scores: {label}."] if label else []
    console = summary_console()
    for text, style in {heading: "bold", **dict.fromkeys(notes, "dim"), **dict.fromkeys(warnings, "yellow")}.items():
        print_line(console, text, style)
    for table in made:
        print_table(console, table)
    files: dict[Path, str] = {}
    for path in (each.expanduser() for each in out):
        if path.suffix.lower() == ".html":
            sections = _write_details(comparison, path.with_name(f"{path.stem}-questions"))
            files[path] = as_html(heading, [*notes, *warnings], made, sections)
        else:
            files[path] = WRITERS[path.suffix.lower()](heading, [*notes, *warnings], made)
    if options.trec:
        files.update({options.trec.expanduser() / name: text for name, text in format_trec_files(comparison).items()})
    write_files({path: text.encode("utf-8", "replace") for path, text in files.items()})
    written = list(files)
    if options.figures:
        from hopgraph.tools.apps.evaluation.report.figures import draw_figures

        written += draw_figures(comparison, options.figures.expanduser())
    if written:
        console.print()
        print_line(console, f"Written: {', '.join(map(str, written))}", "dim")


def _write_details(comparison: Comparison, folder: Path) -> list[str]:
    """Return the figures and the links of an HTML report, after writing the pages of the questions into a folder."""
    from hopgraph.tools.apps.evaluation.report.figures import render_figures

    try:
        pictures = figures_section(render_figures(comparison, ["svg"]))
    except SpecError:  # without matplotlib the report is worth having, too
        pictures = NO_FIGURES
    if links := questions_section(comparison, folder.name):
        for name, page in question_pages(comparison):
            write_files({folder / name: page.encode("utf-8", "replace")})
    return [pictures, links]


def _notes(comparison: Comparison) -> list[str]:
    """Say what the runs have in common, and which of them have other names in them."""
    corpora = dict.fromkeys(method.reader.manifest.corpus.retriever for method in comparison.methods)
    models = dict.fromkeys(method.model for method in comparison.methods)
    notes = [f"Corpus: {', '.join(corpora)}. Models: {', '.join(models)}."]
    runs = {each.reader.folder.name: each.renaming for each in comparison.methods}
    if renamed := {name: str(seed) for name, seed in runs.items() if seed is not None}:
        where = f" in {', '.join(renamed)}" if len(renamed) < len(runs) else ""
        seeds = ", ".join(dict.fromkeys(renamed.values()))
        notes.append(f"People, places and works were renamed{where} (seed {seeds}), so that memory cannot answer.")
    return notes
