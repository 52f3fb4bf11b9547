"""The papers' results, the runs that reproduce their tables, and our scores next to theirs.

There is one YAML file per paper in `papers/`. A number is null if the paper prints none or it is illegible; a row with
doubtful numbers is `unsure`. A column is [data set, our metric or null, the paper's heading], and a row's numbers are
in that order.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, NamedTuple, cast

import yaml
from pydantic import BaseModel, Field, JsonValue

from hopgraph.graphs import METHODS, Method
from hopgraph.state import Context, SettingsError
from hopgraph.state.context import settings_in_use
from hopgraph.tools.apps.evaluation.preliminary import EXPERIMENTS
from hopgraph.tools.apps.evaluation.report.tables import SCORE_NAMES, Cell, Table, number_cell, text_cell
from hopgraph.tools.apps.evaluation.reproduce import table_measures
from hopgraph.tools.prompts.prompt_files import find_file

REPRODUCED_PAPERS = ("migres", "blendfilter", "genground", "ra_isf", "tor")
DATASET_FAMILIES = {"strategyqa": "yes_no", "nq": "open_domain", "triviaqa": "open_domain"}
"""Data set → family whose preset its methods use; multi_hop for all others."""

PERCENTS = frozenset({*SCORE_NAMES, *table_measures.SHARES, *table_measures.BEST})
"""Metrics that are shares from 0 to 1; all others are costs."""
_POOLED = (
    "Never comparable with the paper's number: the corpus is the pooled contexts of the data set's own file, "
    "a small fraction of the Wikipedia that the paper searches."
)
_OTHER_CORPUS = "Comparable with the paper's number only if the corpus is the paper's: {retriever}."


class Column(NamedTuple):
    """One column of a table."""

    dataset: str
    metric: str | None
    """Our score or cost, as in `summary.json`, or measure; None if we do not measure it."""
    head: str


class _Entry(BaseModel, frozen=True, extra="forbid"):
    model: str = ""
    """Defaults to the table's or paper's, as do `retriever` and `runs`."""
    retriever: str = ""
    runs: int = 1
    """Number of times each question is asked; scores are means."""
    settings: dict[str, JsonValue] = {}
    """A row's override the preset of the data set's family; a table's apply to all rows whose methods have them, and a
    paper's to all of its tables."""


class PaperTableRow(_Entry, frozen=True):
    """One row: a method with settings, and the paper's numbers for it.

    In settings `{family}` is replaced by the family's name, `{second_corpus}` by the spec of the second retriever.
    """

    label: str
    paper: tuple[int | float | None, ...]
    method: str = ""
    """A method, or one of the paper's preliminary experiments."""
    part: str = ""
    """The part of a run in this row, e.g. one of RA-ISF's modules; a suffix of its metrics' names."""
    add_contexts: bool = False
    """True if the data set's contexts are added to the corpus (MIGRES's oracle)."""
    students: tuple[str, ...] = ()
    """Roles that the user must bind to trained students by `models`; other rows ignore such bindings."""
    reason: str = ""
    unsure: bool = False

    def metric(self, column: Column) -> str | None:
        """Return our metric for a cell of this row; None if we do not measure it."""
        return f"{column.metric} {self.part}" if column.metric and self.part else column.metric


class PaperTable(_Entry, frozen=True):
    """One table or figure."""

    title: str
    questions: str = ""
    differs: tuple[str, ...] = ()
    """Our differences from the paper, for all of its tables and then for this one."""
    columns: tuple[Column, ...]
    rows: tuple[PaperTableRow, ...]

    @property
    def datasets(self) -> list[str]:
        """The data sets, in the order of the columns."""
        return list(dict.fromkeys(column.dataset for column in self.columns))

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics of all cells in rows that can be run."""
        names = {row.metric(column) for row in self.rows if not row.reason for column in self.columns}
        return frozenset(filter(None, names))


class ReportedPaper(BaseModel):
    """One paper."""

    title: str = Field(alias="paper")
    scale: Literal["percent", "share"]
    """Format of its scores: 45.1 or 0.451."""
    tables: dict[str, PaperTable]


def read_paper(name: str) -> ReportedPaper:
    """Read a paper's reported results; SettingsError if the paper is unknown."""
    if name not in REPRODUCED_PAPERS:
        raise SettingsError(f"paper {name!r:.80} is unknown; available: {', '.join(REPRODUCED_PAPERS)}")
    text = files(__package__ or "").joinpath("papers", f"{name}.yaml").read_text(encoding="utf-8")
    paper = cast("dict[str, Any]", yaml.safe_load(text))
    for table in paper["tables"].values():
        table["differs"] = [*paper.get("differs", ()), *table.get("differs", ())]
        table["settings"] = {**paper.get("settings", {}), **table.get("settings", {})}
        for key in {"model", "retriever", "runs", "questions"} & paper.keys():
            table.setdefault(key, paper[key])
        for row in table["rows"]:
            row |= {key: table[key] for key in ("model", "retriever", "runs") if key in table and key not in row}
    return ReportedPaper.model_validate(paper)


def read_paper_table(name: str) -> tuple[ReportedPaper, PaperTable]:
    """Read a table by name, e.g. `tor/table5`; SettingsError if there is no such paper or table."""
    paper_name, _, table_name = name.partition("/")
    paper = read_paper(paper_name)
    if table_name not in paper.tables:
        raise SettingsError(f"{paper_name} has no table {table_name!r:.80}; available: {', '.join(paper.tables)}")
    return paper, paper.tables[table_name]


def add_rows(table: PaperTable, methods: Iterable[Method]) -> PaperTable:
    """Add a row without paper results for each method, to be run like the table's first row."""
    first, nothing = table.rows[0], (None,) * len(table.columns)
    alike: dict[str, Any] = {"model": first.model, "retriever": first.retriever, "runs": first.runs}
    added = (
        PaperTableRow(label=str(each.graph.get_name()), method=each.name, paper=nothing, **alike) for each in methods
    )
    return table.model_copy(update={"rows": (*table.rows, *added)})


@dataclass(frozen=True)
class PlannedRow:
    """A row and its `hopgraph eval` run, with settings as `key=value`."""

    row: PaperTableRow
    reason: str = ""
    """Why it is not run; if set, the following fields are empty."""
    folder: str = ""
    """The run's folder in the table's folder."""
    second_corpus: bool = False
    """True if it searches the second corpus instead of the first."""
    preset: str | None = None
    assignments: tuple[str, ...] = ()


def plan_runs(
    table: PaperTable, dataset: str, given: Sequence[str] = (), *, has_corpus: bool, second_corpus: str = ""
) -> list[PlannedRow]:
    """Return the planned run of each row of a table; rows with the same method and settings share a folder.

    The data set's format determines the preset. The user's settings are `given` as `key=value` and apply to the methods
    that have them; SettingsError for one that no method has, or that the table sets. `has_corpus`: there is a corpus
    other than the data set's contexts. `second_corpus`: retriever spec for rows whose retriever is not the first row's.
    """
    _refuse_misplaced(table, given)
    family = DATASET_FAMILIES.get(dataset, "multi_hop")
    names = {"{family}": family, "{second_corpus}": second_corpus}
    folders: dict[tuple[object, ...], str] = {}
    found: list[PlannedRow] = []
    for row in table.rows:
        has_second = row.retriever != table.rows[0].retriever
        if row.reason:
            found.append(PlannedRow(row, row.reason))
        elif row.students and not any(_binds(each, row.students) for each in given):
            bound = json.dumps(dict.fromkeys(row.students, "student:DIR"))
            found.append(PlannedRow(row, f"needs students: train them, and bind them with --set 'models={bound}'"))
        elif row.add_contexts and not has_corpus:
            found.append(PlannedRow(row, "adds the data set's contexts to a corpus: use --corpus"))
        elif has_second and not second_corpus:
            reason = f"needs a second retriever ({row.retriever}): use --second-corpus"
            found.append(PlannedRow(row, reason))
        else:
            assignments = _assignments(table, row, names, given)
            replaces = has_second and "{second_corpus}" not in row.settings.values()
            same_run = (row.method, assignments, row.add_contexts, row.runs, replaces)
            folder = folders.setdefault(same_run, _unused(row.label, set(folders.values())))
            preset = family if family in _settings_class(row.method).presets else None
            found.append(PlannedRow(row, "", folder, replaces, preset, assignments))
    return found


def _settings_class(method: str) -> type[Context]:
    found = EXPERIMENTS[method].context_schema if method in EXPERIMENTS else METHODS[method].Context
    return cast("type[Context]", found)


def settings_of_row(table: PaperTable, row: PaperTableRow) -> dict[str, JsonValue]:
    """Return the settings of a row that can be run: the table's as far as its method has them, and its own."""
    known = settings_in_use(_settings_class(row.method))
    return {**{key: value for key, value in table.settings.items() if key in known}, **row.settings}


def _assignments(
    table: PaperTable, row: PaperTableRow, names: Mapping[str, str], given: Sequence[str]
) -> tuple[str, ...]:
    """Return a row's settings as for `--set`: the user's as far as its method has them, the table's and its own."""
    cls = _settings_class(row.method)
    known, read = cls.model_fields, settings_in_use(cls)
    others = [role for each in table.rows for role in each.students if not row.students]
    assignments = [each for each in given if _key(each) in read and not _binds(each, others)]
    for key, value in settings_of_row(table, row).items():
        text = value if isinstance(value, str) else json.dumps(value)
        if isinstance(value, list) and known[key].default_factory is None:
            text = ",".join(map(str, value))
        assignments.append(f"{key}={names.get(text, text)}")
    return tuple(assignments)


def _unused(label: str, taken: set[str]) -> str:
    base = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") or "row"
    names = (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _key(assignment: str) -> str:
    return assignment.partition("=")[0].strip().replace("-", "_")


def _binds(assignment: str, roles: Iterable[str]) -> bool:
    """Return whether a setting binds a model to one of the roles."""
    return _key(assignment) == "models" and any(role in assignment for role in roles)


def _refuse_misplaced(table: PaperTable, given: Sequence[str]) -> None:
    rows = [row for row in table.rows if not row.reason]
    fixed = {key for row in rows for key in settings_of_row(table, row)}
    known = {key for row in rows for key in _settings_class(row.method).model_fields}
    for assignment in given:
        if _key(assignment) in fixed:
            raise SettingsError(f"--set {assignment!r:.80}: the table sets this itself; leave it out")
        if _key(assignment) not in known:
            raise SettingsError(f"--set {assignment!r:.80}: no method of this table has this setting")


def warnings_for(table: PaperTable, dataset: str, *, pooled: bool, stand_ins: str) -> list[str]:
    """Return why our numbers on a data set are not comparable with the paper's; never empty.

    `pooled`: the corpus is the pooled contexts of the data set. `stand_ins` describes models that are simulated.
    """
    found = [f"Not a language model's scores: {stand_ins}."] if stand_ins else []
    if dataset not in table.datasets:
        found.append(f"The paper's numbers are for {table.datasets[0]}, ours for {dataset}, which this table lacks.")
    if told := _told_examples(table, dataset):
        found.append(told)
    retrievers = dict.fromkeys(filter(None, [table.retriever, *(row.retriever for row in table.rows)]))
    found.append(_POOLED if pooled else _OTHER_CORPUS.format(retriever="; ".join(retrievers) or "not said"))
    return found


def _told_examples(table: PaperTable, dataset: str) -> str:
    """Return a warning that lists the rows without worked examples; empty if all rows or none have them."""
    family = DATASET_FAMILIES.get(dataset, "multi_hop")
    rows = [row for row in table.rows if not row.reason]
    without = [row.label for row in rows if not has_examples(table, row, family)]
    if len(without) in (0, len(rows)):
        return ""
    return f"Zero-shot in their first step, unlike other rows: {', '.join(dict.fromkeys(without))}."


def has_examples(table: PaperTable, row: PaperTableRow, family: str) -> bool:
    """Return whether a row uses worked examples in its method's first step, and there are some for the family."""
    cls = _settings_class(row.method)
    asked = {**cls.presets.get(family, {}), **settings_of_row(table, row)}.get("demonstrations")
    named = family if asked == "{family}" else asked
    return named is not None and find_file(f"{cls.method}/{cls.steps[0]}", f".{named}.jsonl") is not None


def compare_with_paper(
    name: str,
    paper: ReportedPaper,
    table: PaperTable,
    dataset: str,
    rows: Sequence[PlannedRow],
    summaries: Mapping[str, Mapping[str, Any]],
    warnings: Sequence[str] = (),
) -> Table:
    """Return a table of our scores next to those of a paper's table, e.g. `tor/table5`.

    Every row has the number of questions, and for every column ours and the paper's; only the paper's if nothing was
    run. A data set that the table lacks is compared with the table's first. `summaries` maps a run's folder to the
    summary of its only method; the warnings become the table's note, so that a copied table keeps them.
    """
    chosen = dataset if dataset in table.datasets else table.datasets[0]
    places = [place for place, column in enumerate(table.columns) if column.dataset == chosen]
    columns = ["row", *["questions"] * bool(summaries)]
    for place in places:
        head = table.columns[place].head
        columns += [f"{head} ours", "paper"] if summaries else [head]
    # Labels show the model and the retriever if they differ between rows.
    told = [name for name in ("model", "retriever") if len({getattr(each.row, name) for each in rows}) > 1]
    made: list[list[Cell]] = []
    for planned in rows:
        ours = summaries.get(planned.folder, {})
        cells = [text_cell(_label(planned, told)), *[number_cell(ours.get("n"))] * bool(summaries)]
        for place in places:
            cells += [_ours(ours, planned.row.metric(table.columns[place]), paper)] * bool(summaries)
            cells.append(_theirs(planned, place, paper))
        made.append(cells)
    return Table(f"{name}: {table.title}", " ".join(warnings), columns, made)


def _label(planned: PlannedRow, names: Sequence[str]) -> str:
    row = planned.row
    told = ", ".join([*filter(None, (getattr(row, name) for name in names)), *["not run"] * bool(planned.reason)])
    return f"{row.label} ({told})" if told else row.label


def _ours(summary: Mapping[str, Any], metric: str | None, paper: ReportedPaper) -> Cell:
    value, sd = (summary.get(metric), summary.get("sd", {}).get(metric)) if metric else (None, None)
    if value is None or metric not in PERCENTS:
        return number_cell(value, 1, sd)
    if paper.scale == "percent":
        return number_cell(100 * value, 1, None if sd is None else 100 * sd)
    return number_cell(value, 3, sd)


def _theirs(planned: PlannedRow, place: int, paper: ReportedPaper) -> Cell:
    """Return the paper's number as printed, without trailing zeros."""
    value, digits = planned.row.paper[place], ""
    if value is not None:
        digits = f"{value:.3f}" if paper.scale == "share" and value == round(value, 3) else f"{value:,}"
    return Cell(value, digits + "?" * planned.row.unsure)
