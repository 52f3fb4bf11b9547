"""What the papers report, and the runs that their tables need.

There is one YAML file per paper in `papers/`, with its tables, their rows and their numbers.

A number is null where the paper prints none or it cannot be read; a row with such doubts is `unsure`. A column is
[data set, our metric or null where a run has none, the paper's head], and a row's numbers stand in that order.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, NamedTuple, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import Context, SettingsError
from hopgraph.tools.apps.evaluation.preliminary import EXPERIMENTS

PAPERS = ("migres", "blendfilter", "genground", "ra_isf", "tor")
"""The files, by name."""
FAMILIES = {"strategyqa": "yes_no", "nq": "open_domain", "triviaqa": "open_domain"}
"""Data set → the family whose preset its methods get; for all others it is multi_hop."""


class Column(NamedTuple):
    """One column of a table."""

    dataset: str
    metric: str | None
    """Our name of the score or cost, as in `summary.json`; None: a run does not measure it."""
    head: str
    """What the paper calls it."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = ""
    """Of a table without one the paper's, of a row without one the table's; so with the retriever."""
    retriever: str = ""
    settings: dict[str, JsonValue] = {}
    """A row's are set over the preset of the data set's family, a table's in all rows whose methods have them."""


class Row(_Entry):
    """One row: a method with settings (`{family}` stands for the family's name), and the paper's numbers for it."""

    label: str
    paper: tuple[int | float | None, ...]
    method: str = ""
    """Or an experiment of the paper's own."""
    add_contexts: bool = False
    """The data set's contexts are added to the corpus: MIGRES's oracle."""
    reason: str = ""
    """Why it cannot be run; empty where it can."""
    unsure: bool = False
    """Numbers of it cannot be read with certainty."""


class PaperTable(_Entry):
    """One table or figure."""

    title: str
    questions: str = ""
    differs: tuple[str, ...] = ()
    """What the paper did otherwise, of this table; the paper's own list comes first."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def datasets(self) -> list[str]:
        """The data sets, in the order of the columns."""
        return list(dict.fromkeys(column.dataset for column in self.columns))


class ReportedPaper(BaseModel):
    """One paper."""

    title: str = Field(alias="paper")
    scale: Literal["percent", "share"]
    """How it prints scores: 45.1 or 0.451; costs are printed as they are."""
    tables: dict[str, PaperTable]


def read_paper(name: str) -> ReportedPaper:
    """Read what a paper reports; SettingsError where there is none of this name."""
    if name not in PAPERS:
        raise SettingsError(f"paper {name!r:.80} is unknown; there are: {', '.join(PAPERS)}")
    text = files(__package__ or "").joinpath("papers", f"{name}.yaml").read_text(encoding="utf-8")
    paper = cast("dict[str, Any]", yaml.safe_load(text))
    for table in paper["tables"].values():
        table["differs"] = [*paper.get("differs", ()), *table.get("differs", ())]
        for key in {"model", "retriever", "questions"} & paper.keys():
            table.setdefault(key, paper[key])
        for row in table["rows"]:
            row |= {key: table[key] for key in ("model", "retriever") if key in table and key not in row}
    return ReportedPaper.model_validate(paper)


def read_table(name: str) -> tuple[ReportedPaper, PaperTable]:
    """Read a table by its name, as `tor/table5`; SettingsError where there is no such paper or table."""
    paper_name, _, table_name = name.partition("/")
    paper = read_paper(paper_name)
    if table_name not in paper.tables:
        raise SettingsError(f"{paper_name} has no table {table_name!r:.80}; there are: {', '.join(paper.tables)}")
    return paper, paper.tables[table_name]


@dataclass(frozen=True)
class PlannedRow:
    """A row, and what `hopgraph eval` is asked to do for it."""

    row: Row
    reason: str = ""
    """Why it is not run; then it has none of the following."""
    folder: str = ""
    """The run's folder below the table's."""
    preset: str | None = None
    assignments: tuple[str, ...] = ()
    """As `key=value`."""


def plan_runs(table: PaperTable, dataset: str, given: Sequence[str] = (), *, has_corpus: bool) -> list[PlannedRow]:
    """Plan the runs of a table: one entry per row; rows with the same method and settings name the same folder.

    Args:
        table: the paper's.
        dataset: the name of the data set's format, which chooses the preset.
        given: settings of the user, as `key=value`; they reach the methods that have them. SettingsError for one that
            no method of the table has, or that the table itself sets.
        has_corpus: whether there is a corpus other than the data set's own contexts.
    """
    _refuse_misplaced(table, given)
    family = FAMILIES.get(dataset, "multi_hop")
    folders: dict[tuple[object, ...], str] = {}
    found: list[PlannedRow] = []
    for row in table.rows:
        if row.reason:
            found.append(PlannedRow(row, row.reason))
        elif row.add_contexts and not has_corpus:
            found.append(PlannedRow(row, "adds the data set's contexts to a corpus: name one with --corpus"))
        else:
            assignments = _assignments(table, row, family, given)
            same_run = (row.method, assignments, row.add_contexts)
            folder = folders.setdefault(same_run, _unused(row.label, set(folders.values())))
            preset = family if family in _settings_class(row.method).presets else None
            found.append(PlannedRow(row, "", folder, preset, assignments))
    return found


def _settings_class(method: str) -> type[Context]:
    return EXPERIMENTS[method].context if method in EXPERIMENTS else cast("type[Context]", METHODS[method].Context)


def settings_of_row(table: PaperTable, row: Row) -> dict[str, JsonValue]:
    """List the settings of a row that can be run: the table's that its method has, and its own."""
    known = _settings_class(row.method).model_fields
    return {**{key: value for key, value in table.settings.items() if key in known}, **row.settings}


def _assignments(table: PaperTable, row: Row, family: str, given: Sequence[str]) -> tuple[str, ...]:
    """Write a row's settings as `--set` takes them: the user's that its method has, then the table's and its own."""
    known = _settings_class(row.method).model_fields
    assignments = [each for each in given if _key(each) in known]
    for key, value in settings_of_row(table, row).items():
        if isinstance(value, list) and known[key].default_factory is None:
            text = ",".join(map(str, value))
        else:
            text = value if isinstance(value, str) else json.dumps(value)
        assignments.append(f"{key}={text.replace('{family}', family)}")
    return tuple(assignments)


def _unused(label: str, taken: set[str]) -> str:
    """Make a folder's name of a label."""
    base = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") or "row"
    names = (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _key(assignment: str) -> str:
    return assignment.partition("=")[0].strip().replace("-", "_")


def _refuse_misplaced(table: PaperTable, given: Sequence[str]) -> None:
    rows = [row for row in table.rows if not row.reason]
    fixed = {key for row in rows for key in settings_of_row(table, row)}
    known = {key for row in rows for key in _settings_class(row.method).model_fields}
    for assignment in given:
        if _key(assignment) in fixed:
            raise SettingsError(f"--set {assignment!r:.80}: the table sets this itself; leave it out")
        if _key(assignment) not in known:
            raise SettingsError(f"--set {assignment!r:.80}: no method of this table has this setting")
