"""`hopgraph compare`: compare the methods of runs, on the terminal and in files."""

from collections.abc import Iterator

from rich.console import Console

from hopgraph.graphs import METHODS
from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.console import print_line
from hopgraph.tools.apps.cli.evaluation.evaluation_options import CompareOptions
from hopgraph.tools.apps.cli.evaluation.run_tables import print_table, summary_console
from hopgraph.tools.apps.evaluation.batch.merged_runs import open_runs
from hopgraph.tools.apps.evaluation.comparison import Comparison, compare_by_dataset
from hopgraph.tools.apps.evaluation.cost_estimate import read_prices
from hopgraph.tools.apps.evaluation.official_predictions import OfficialSet, read_official_set
from hopgraph.tools.apps.evaluation.ranking_measures import format_trec_files, parse_measures
from hopgraph.tools.apps.evaluation.report.paper_tables import check_score_names
from hopgraph.tools.apps.evaluation.report.run_report import (
    ComparisonReport,
    check_endings,
    folders_of,
    make_report,
    report_files,
)
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.io.load_object import parse_place


def run_compare(options: CompareOptions) -> None:
    """Print the tables of a comparison, and write the requested files."""
    out, against = [path.expanduser() for path in options.out or []], options.against
    if (options.aliases or options.predictions) and not options.official:
        raise SettingsError("--aliases and --predictions need --official DATASET, the file of the run's questions")
    scores = _names("--scores", options.scores)
    check_endings(out)
    check_score_names(scores)
    readers = [reader for path in options.runs for reader in open_runs(path.expanduser())]
    comparisons = compare_by_dataset(readers, read_prices(options.prices))
    place = parse_place(against, "graph") if against else None
    official = read_official_set(options.official.expanduser(), options.aliases) if options.official else None
    measures = parse_measures(_names("--measures", options.measures))
    base = METHODS.add(place).name if place else against
    report = make_report(comparisons, base, scores, measures=measures, official=official, plan=options.plan)
    console = summary_console()
    _print_report(console, report)
    files = report_files(report, comparisons, out)
    for folder, comparison in folders_of(options.trec, comparisons):
        files |= {folder / name: text for name, text in format_trec_files(comparison).items()}
    if official and options.predictions:
        for comparison in filter(official.is_of, comparisons.values()):
            found = _predictions(comparison, official)
            files |= {options.predictions.expanduser() / name: text for name, text in found}
    write_files({path: text.encode("utf-8", "replace") for path, text in files.items()})
    written = [*files]
    for folder, comparison in folders_of(options.figures, comparisons):
        from hopgraph.tools.apps.evaluation.report.figures import draw_figures

        written += draw_figures(comparison, folder)
    if written:
        console.print()
        print_line(console, f"Written: {', '.join(map(str, written))}", "dim")


def _names(option: str, given: str | None) -> list[str]:
    """Split comma-separated names; SettingsError if a given text has none."""
    names = [*filter(None, map(str.strip, (given or "").split(",")))]
    if given is not None and not names:
        raise SettingsError(f"{option} is empty; separate several values with commas")
    return names


def _predictions(comparison: Comparison, official: OfficialSet) -> Iterator[tuple[str, str]]:
    """Yield each method's prediction file for the official script, and the gold file of its finished questions."""
    ending = "jsonl" if official.script == "musique" else "json"
    for method in comparison.methods:
        name = method.name.replace("/", "-")
        predictions, gold = official.files(method.reader, method.method)
        yield f"{name}.{ending}", predictions
        yield f"{name}-gold.{ending}", gold


def _print_report(console: Console, report: ComparisonReport) -> None:
    """Print the heading and the tables; a paper's tables if they say more than those of a single data set."""
    texts = {report.heading: "bold", **dict.fromkeys(report.notes, "dim"), **dict.fromkeys(report.warnings, "yellow")}
    for text, style in texts.items():
        print_line(console, text, style)
    together = [table for table in report.paper if table.groups or table.sections]
    for table in [*together, *report.details]:
        print_table(console, table)
