"""The report on compared runs: notes, tables for a paper, tables for each data set, and files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hopgraph.state import RunError, SettingsError, SpecError
from hopgraph.tools.apps.evaluation.batch.run_directory import RunManifest, RunReader, describe_simulated, shown_model
from hopgraph.tools.apps.evaluation.comparison import Comparison, ScoredMethod, run_labels
from hopgraph.tools.apps.evaluation.official_predictions import OfficialSet
from hopgraph.tools.apps.evaluation.report import writers
from hopgraph.tools.apps.evaluation.report.measure_tables import measure_tables
from hopgraph.tools.apps.evaluation.report.paper_tables import DEFAULT_SCORES, paper_tables
from hopgraph.tools.apps.evaluation.report.tables import Table, tables, text_cell
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.text.sanitize import pluralize

_HASH = 8
"""Characters shown of a hash."""


@dataclass(frozen=True)
class ComparisonReport:
    """Tables, notes and files of a comparison."""

    heading: str
    notes: list[str]
    warnings: list[str]
    paper: list[Table]
    """Tables over all data sets and models."""
    details: list[Table]
    """Tables of each data set, titled with its name if there are several."""


def check_endings(paths: Iterable[Path]) -> None:
    """Raise SettingsError for a table file with an unknown suffix."""
    for path in paths:
        if path.suffix.lower() not in writers.WRITERS:
            raise SettingsError(f"{str(path)!r:.80}: a file of tables must end in one of {', '.join(writers.WRITERS)}")


def make_report(
    comparisons: Mapping[str, Comparison],
    against: str | None = None,
    scores: Sequence[str] = DEFAULT_SCORES,
    *,
    measures: Mapping[str, Any] | None = None,
    official: OfficialSet | None = None,
    plan: bool = False,
) -> ComparisonReport:
    """Return all tables of the comparison of each data set.

    `measures` come from `parse_measures`; `plan` adds the questions needed to separate the methods. RunError: a data
    set lacks the method `against`, or no run used the official file. SettingsError: an unknown score.
    """
    methods = [method for comparison in comparisons.values() for method in comparison.methods]
    readers = [*dict.fromkeys(each.reader for each in methods)]
    label = describe_simulated(each.settings for each in methods)
    if official and not any(map(official.is_of, comparisons.values())):
        asked = ", ".join(comparisons)
        raise RunError(f"--official: this is not the file whose questions were asked ({asked}), or names were changed")
    details: list[Table] = []
    for name, each in comparisons.items():
        own = official if official and official.is_of(each) else None
        made = [*tables(each, against, plan=plan), *measure_tables(each, own, measures)]
        several = len(comparisons) > 1
        details += [replace(table, title=f"{name}: {table.title}") if several else table for table in made]
    differences = differences_table(readers)
    return ComparisonReport(
        "; ".join(map(_heading, comparisons.values())),
        _notes(methods),
        [f"Not a language model's scores: {label}."] if label else [],
        paper_tables(comparisons, against, scores),
        [*details, *[differences] * bool(differences.rows)],
    )


def report_files(
    report: ComparisonReport, comparisons: Mapping[str, Comparison], paths: Sequence[Path]
) -> dict[Path, str]:
    """Return path → content in the format of the suffix; LaTeX has only the tables for a paper.

    For an HTML file, question pages are written into a folder next to it.
    """
    files: dict[Path, str] = {}
    notes, every = [*report.notes, *report.warnings], [*report.paper, *report.details]
    for path in paths:
        ending = path.suffix.lower()
        if ending == ".html":
            sections = [
                section
                for folder, comparison in folders_of(path.with_name(f"{path.stem}-questions"), comparisons)
                for section in _write_details(comparison, folder, path.parent)
            ]
            files[path] = writers.as_html(report.heading, notes, every, sections)
        else:
            shown = report.paper if ending == ".tex" else every
            files[path] = writers.WRITERS[ending](report.heading, notes, shown)
    return files


def _heading(comparison: Comparison) -> str:
    facts = comparison.methods[0].reader.manifest.dataset
    return f"{facts.name}, {facts.sample}: {pluralize(facts.questions, 'question')}"


def _notes(methods: Sequence[ScoredMethod]) -> list[str]:
    """Return notes on the corpora and models of the runs, and on renaming."""
    corpora = dict.fromkeys(method.reader.manifest.corpus.retriever for method in methods)
    models = dict.fromkeys(shown_model(method.model) for method in methods)
    notes = [f"Corpus: {', '.join(corpora)}. Models: {', '.join(models)}."]
    runs = {each.reader.folder.name: each.renaming for each in methods}
    if renamed := {name: str(seed) for name, seed in runs.items() if seed is not None}:
        where = f" in {', '.join(renamed)}" if len(renamed) < len(runs) else ""
        seeds = ", ".join(dict.fromkeys(renamed.values()))
        notes.append(f"People, places and works were renamed{where} (seed {seeds}), so that memory cannot answer.")
    return notes


def folders_of(folder: Path | None, comparisons: Mapping[str, Comparison]) -> list[tuple[Path, Comparison]]:
    """Return each comparison with the given folder, or a subfolder for each data set; empty for None."""
    if folder is None:
        return []
    given = folder.expanduser()
    names = {name: given / name.replace("/", "-") for name in comparisons} if len(comparisons) > 1 else {}
    return [(names.get(name, given), comparison) for name, comparison in comparisons.items()]


def _write_details(comparison: Comparison, folder: Path, start: Path) -> list[str]:
    """Write the question pages into a folder; return the figures, settings and links of an HTML report."""
    from hopgraph.tools.apps.evaluation.report.figures import render_figures

    try:
        pictures = writers.figures_section(render_figures(comparison, ["svg"]))
    except SpecError:  # matplotlib is missing
        pictures = writers.NO_FIGURES
    if links := writers.questions_section(comparison, folder.relative_to(start).as_posix()):
        for name, page in writers.question_pages(comparison):
            write_files({folder / name: page.encode("utf-8", "replace")})
    return [pictures, writers.settings_section(comparison), links]


def differences_table(readers: Sequence[RunReader]) -> Table:
    """Return a table of the settings that differ between runs; without rows if none do."""
    facts = [_facts(each.manifest) for each in readers]
    names = dict.fromkeys(name for each in facts for name in each)
    differing = [name for name in names if len({each.get(name, "") for each in facts}) > 1]
    labels = run_labels([each.folder for each in readers])
    rows = [
        [text_cell(label), *(text_cell(each.get(name, "")) for name in differing)]
        for label, each in zip(labels, facts, strict=True)
    ]
    note = "For prompts, data sets, corpora and code, the beginning of a hash. Everything else is the same in all runs."
    return Table("What differs between the runs", note, ["run", *differing], rows if differing else [])


def _facts(manifest: RunManifest) -> dict[str, str]:
    dataset, corpus = manifest.dataset, manifest.corpus
    prompts = {
        name: {f"prompt {step}": each[:_HASH] for step, each in own.items()} for name, own in manifest.prompts.items()
    }
    facts: dict[str, object] = {
        "data set": dataset.label or dataset.name,
        "data set's hash": dataset.sha256[:_HASH],
        "questions": dataset.sample,
        "names": "" if dataset.renamed is None else f"renamed, seed {dataset.renamed}",
        "corpus": corpus.retriever,
        "corpus' hash": corpus.fingerprint[:_HASH],
        "repeats": manifest.repeats,
        "methods": ", ".join(manifest.methods),
        **_by_method(manifest.methods),
        **_by_method(prompts),
        **{f"code of {name}": each[:_HASH] for name, each in manifest.code.items()},
        **manifest.libraries,
        "commit": manifest.commit[:_HASH] + "-dirty" * manifest.commit.endswith("-dirty"),
    }
    return {name: shown_model(str(value)) for name, value in facts.items() if value is not None}


def _by_method(methods: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """Return the settings of methods by key if all methods agree, else by method and key."""
    found: dict[str, object] = {}
    for key in dict.fromkeys(key for own in methods.values() for key in own):
        values = {name: own[key] for name, own in methods.items() if key in own}
        if len(set(map(repr, values.values()))) == 1:
            found[key] = next(iter(values.values()))
        else:
            found |= {f"{name}.{key}": value for name, value in values.items()}
    return found
