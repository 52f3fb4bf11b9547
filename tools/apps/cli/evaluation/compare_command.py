"""`hopgraph compare`: the methods of runs side by side, on the terminal and in files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from hopgraph.graphs import METHODS
from hopgraph.state import RunError, SettingsError, SpecError
from hopgraph.tools.apps.cli.console import print_line
from hopgraph.tools.apps.cli.evaluation.evaluation_options import CompareOptions
from hopgraph.tools.apps.cli.evaluation.run_tables import print_table, summary_console
from hopgraph.tools.apps.evaluation.batch.merged_runs import open_runs
from hopgraph.tools.apps.evaluation.batch.run_directory import describe_simulated
from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod, compare_by_dataset
from hopgraph.tools.apps.evaluation.cost_estimate import read_prices
from hopgraph.tools.apps.evaluation.official_predictions import OfficialSet, read_official_set
from hopgraph.tools.apps.evaluation.ranking_measures import parse_measures
from hopgraph.tools.apps.evaluation.report import writers
from hopgraph.tools.apps.evaluation.report.measure_tables import measure_tables
from hopgraph.tools.apps.evaluation.report.paper_tables import paper_tables
from hopgraph.tools.apps.evaluation.report.run_differences import differences_table
from hopgraph.tools.apps.evaluation.report.tables import Table, tables
from hopgraph.tools.io.code_objects import parse_place
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.text.sanitize import pluralize


@dataclass(frozen=True)
class ComparisonReport:
    """What is printed and written of runs."""

    heading: str
    notes: list[str]
    warnings: list[str]
    paper: list[Table]
    """Over all data sets and models."""
    details: list[Table]
    """Of each data set; with its name where there are several."""


def run_compare(options: CompareOptions) -> None:
    """Print the tables of a comparison, and write what is asked for."""
    out, against = [path.expanduser() for path in options.out or []], options.against
    if (options.aliases or options.predictions) and not options.official:
        raise SettingsError("--aliases and --predictions need --official DATASET, the file of the run's questions")
    for path in out:
        if path.suffix.lower() not in writers.WRITERS:
            raise SettingsError(f"--out {str(path)!r:.80}: its ending must be one of {', '.join(writers.WRITERS)}")
    readers = [reader for path in options.runs for reader in open_runs(path.expanduser())]
    comparisons = compare_by_dataset(readers, read_prices(options.prices))
    place = parse_place(against, "graph") if against else None
    scores = [name.strip() for name in options.scores.split(",")]
    official = read_official_set(options.official.expanduser(), options.aliases) if options.official else None
    measures = parse_measures(options.measures) if options.measures else {}
    report = _report(comparisons, METHODS.add(place).name if place else against, scores, plan=options.plan)
    differences = differences_table(readers)
    report.details.extend([*_measured(comparisons, official, measures), *[differences] * bool(differences.rows)])
    console = summary_console()
    _print_report(console, report)
    files = _report_files(report, comparisons, out)
    for folder, comparison in _folders(options.trec, comparisons):
        files |= {folder / name: text for name, text in writers.format_trec_files(comparison).items()}
    if official and options.predictions:
        for comparison in filter(official.is_of, comparisons.values()):
            found = _predictions(comparison, official)
            files |= {options.predictions.expanduser() / name: text for name, text in found}
    write_files({path: text.encode("utf-8", "replace") for path, text in files.items()})
    written = [*files]
    for folder, comparison in _folders(options.figures, comparisons):
        from hopgraph.tools.apps.evaluation.report.figures import draw_figures

        written += draw_figures(comparison, folder)
    if written:
        console.print()
        print_line(console, f"Written: {', '.join(map(str, written))}", "dim")


def _report(
    comparisons: Mapping[str, Comparison], against: str | None, scores: Sequence[str], *, plan: bool
) -> ComparisonReport:
    methods = [method for comparison in comparisons.values() for method in comparison.methods]
    label = describe_simulated(each.settings for each in methods)
    made = {name: tables(each, against, plan=plan) for name, each in comparisons.items()}
    return ComparisonReport(
        "; ".join(map(_heading, comparisons.values())),
        _notes(methods),
        [f"Not a language model's scores: {label}."] if label else [],
        paper_tables(comparisons, against, scores),
        _titled(made),
    )


def _titled(made: Mapping[str, Sequence[Table]]) -> list[Table]:
    """Chain the tables of several data sets, with these in the titles."""
    return [
        replace(table, title=f"{name}: {table.title}") if len(made) > 1 else table
        for name, own in made.items()
        for table in own
    ]


def _measured(
    comparisons: Mapping[str, Comparison], official: OfficialSet | None, measures: Mapping[str, Any]
) -> list[Table]:
    """Make the tables of further measures; RunError where no run asked the file of the official script."""
    if official and not any(map(official.is_of, comparisons.values())):
        asked = ", ".join(comparisons)
        raise RunError(f"--official: the content of this file is not what was asked ({asked}), or names were changed")
    made = {
        name: measure_tables(each, official if official and official.is_of(each) else None, measures)
        for name, each in comparisons.items()
    }
    return _titled(made)


def _predictions(comparison: Comparison, official: OfficialSet) -> Iterator[tuple[str, str]]:
    """Yield the prediction file of each method, and the gold of the questions that it has finished, for the script."""
    ending = "jsonl" if official.script == "musique" else "json"
    for method in comparison.methods:
        name = method.name.replace("/", "-")
        predictions, gold = official.files(method.reader, method.method)
        yield f"{name}.{ending}", predictions
        yield f"{name}-gold.{ending}", gold


def _heading(comparison: Comparison) -> str:
    facts = comparison.methods[0].reader.manifest.dataset
    return f"{facts.name}, {facts.sample}: {pluralize(facts.questions, 'question')}"


def _notes(methods: Sequence[ScoredMethod]) -> list[str]:
    """Say what the runs have in common, and which of them have other names in them."""
    corpora = dict.fromkeys(method.reader.manifest.corpus.retriever for method in methods)
    models = dict.fromkeys(method.model for method in methods)
    notes = [f"Corpus: {', '.join(corpora)}. Models: {', '.join(models)}."]
    runs = {each.reader.folder.name: each.renaming for each in methods}
    if renamed := {name: str(seed) for name, seed in runs.items() if seed is not None}:
        where = f" in {', '.join(renamed)}" if len(renamed) < len(runs) else ""
        seeds = ", ".join(dict.fromkeys(renamed.values()))
        notes.append(f"People, places and works were renamed{where} (seed {seeds}), so that memory cannot answer.")
    return notes


def _print_report(console: Console, report: ComparisonReport) -> None:
    """Print the heading and the tables; those for a paper where they say more than those of a single data set."""
    texts = {report.heading: "bold", **dict.fromkeys(report.notes, "dim"), **dict.fromkeys(report.warnings, "yellow")}
    for text, style in texts.items():
        print_line(console, text, style)
    together = [table for table in report.paper if table.groups or table.sections]
    for table in [*together, *report.details]:
        print_table(console, table)


def _report_files(
    report: ComparisonReport, comparisons: Mapping[str, Comparison], paths: Sequence[Path]
) -> dict[Path, str]:
    """Make the text of each file; LaTeX has the tables for a paper alone."""
    files: dict[Path, str] = {}
    notes, every = [*report.notes, *report.warnings], [*report.paper, *report.details]
    for path in paths:
        ending = path.suffix.lower()
        if ending == ".html":
            sections = [
                section
                for folder, comparison in _folders(path.with_name(f"{path.stem}-questions"), comparisons)
                for section in _write_details(comparison, folder, path.parent)
            ]
            files[path] = writers.as_html(report.heading, notes, every, sections)
        else:
            shown = report.paper if ending == ".tex" else every
            files[path] = writers.WRITERS[ending](report.heading, notes, shown)
    return files


def _folders(folder: Path | None, comparisons: Mapping[str, Comparison]) -> list[tuple[Path, Comparison]]:
    """Return the folder of each comparison: the given one, or of several one in it by the data set; none for None."""
    if folder is None:
        return []
    given = folder.expanduser()
    names = {name: given / name.replace("/", "-") for name in comparisons} if len(comparisons) > 1 else {}
    return [(names.get(name, given), comparison) for name, comparison in comparisons.items()]


def _write_details(comparison: Comparison, folder: Path, start: Path) -> list[str]:
    """Return figures, settings and links of an HTML report, after writing the pages of the questions into a folder."""
    from hopgraph.tools.apps.evaluation.report.figures import render_figures

    try:
        pictures = writers.figures_section(render_figures(comparison, ["svg"]))
    except SpecError:  # without matplotlib the report is worth having, too
        pictures = writers.NO_FIGURES
    if links := writers.questions_section(comparison, folder.relative_to(start).as_posix()):
        for name, page in writers.question_pages(comparison):
            write_files({folder / name: page.encode("utf-8", "replace")})
    return [pictures, writers.settings_section(comparison), links]
