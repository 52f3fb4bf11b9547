"""What the papers report: one YAML file per paper in `papers/`, with its tables, their rows and their numbers.

A number is null where the paper prints none or it cannot be read; a row with such doubts is `unsure`. A column is
[data set, our metric or null where a run has none, the paper's head], and a row's numbers stand in that order.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, Self, cast

import yaml
from pydantic import BaseModel, ConfigDict, JsonValue, model_validator

from hopgraph.state import SettingsError

PAPERS = ("migres", "blendfilter", "genground", "ra_isf", "tor")
"""The files, by name."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Column(_Entry):
    """One column of a table."""

    dataset: str
    metric: str | None
    """Our name of the score or cost, as in `summary.json`; None: a run does not measure it."""
    head: str
    """What the paper calls it."""


class Row(_Entry):
    """One row: a method with settings, and the numbers that the paper has for it."""

    label: str
    paper: tuple[int | float | None, ...]
    method: str = ""
    experiment: str = ""
    """In place of a method: an experiment of the paper's own."""
    settings: dict[str, JsonValue] = {}
    """Over the preset of the data set's family; `{family}` in a text is that family's name."""
    model: str = ""
    retriever: str = ""
    add_contexts: bool = False
    """The data set's contexts are added to the corpus: MIGRES's oracle."""
    available: bool = True
    reason: str = ""
    """Why it cannot be run."""
    unsure: bool = False
    """Numbers of it cannot be read with certainty."""

    @property
    def runs(self) -> str:
        """The name of the method, or of the experiment."""
        return self.experiment or self.method

    @model_validator(mode="after")
    def _runs_or_says_why(self) -> Self:
        if self.available == bool(self.reason) or self.available == (bool(self.method) == bool(self.experiment)):
            raise ValueError(f"row {self.label!r}: give a method or an experiment, or available: false with a reason")
        return self


class PaperTable(_Entry):
    """One table or figure."""

    title: str
    model: str = ""
    retriever: str = ""
    questions: str = ""
    settings: dict[str, JsonValue] = {}
    """For all rows whose methods have them."""
    differs: tuple[str, ...] = ()
    """What the paper did otherwise, of this table; the paper's own list comes first."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for row in self.rows:
            if len(row.paper) != len(self.columns):
                raise ValueError(f"row {row.label!r}: {len(row.paper)} numbers for {len(self.columns)} columns")
            if not row.unsure and all(number is None for number in row.paper):
                raise ValueError(f"row {row.label!r} has no number and is not marked as unsure")
        return self

    @property
    def datasets(self) -> list[str]:
        """The data sets, in the order of the columns."""
        return list(dict.fromkeys(column.dataset for column in self.columns))


class ReportedPaper(_Entry):
    """One paper."""

    title: str
    scale: Literal["percent", "share"]
    """How it prints scores: 45.1 or 0.451; costs are printed as they are."""
    tables: dict[str, PaperTable]


def read_paper(name: str) -> ReportedPaper:
    """Read what a paper reports.

    Raises:
        SettingsError: there is no paper of this name.
    """
    if name not in PAPERS:
        raise SettingsError(f"paper {name!r:.80} is unknown; there are: {', '.join(PAPERS)}")
    text = files(__package__ or "").joinpath("papers", f"{name}.yaml").read_text(encoding="utf-8")
    raw = cast("dict[str, Any]", yaml.safe_load(text))
    tables = {key: _table(raw, table) for key, table in raw["tables"].items()}
    return ReportedPaper(title=raw["paper"], scale=raw["scale"], tables=tables)


def _table(paper: Mapping[str, Any], raw: Mapping[str, Any]) -> PaperTable:
    """Read a table; it takes model, retriever and questions from its paper, and its rows the first two from it."""
    inherited = {name: paper[name] for name in ("model", "retriever", "questions") if name in paper}
    table = {**inherited, **raw}
    of_rows = {name: table[name] for name in ("model", "retriever") if name in table}
    return PaperTable.model_validate(
        {
            **table,
            "differs": (*paper.get("differs", ()), *raw.get("differs", ())),
            "columns": [dict(zip(Column.model_fields, column, strict=True)) for column in raw["columns"]],
            "rows": [{**of_rows, **row} for row in raw["rows"]],
        }
    )


def read_table(name: str) -> tuple[ReportedPaper, PaperTable]:
    """Read a table by its name, as `tor/table5`.

    Raises:
        SettingsError: no such paper, or it has no such table.
    """
    paper_name, _, table_name = name.partition("/")
    paper = read_paper(paper_name)
    if table_name not in paper.tables:
        raise SettingsError(f"{paper_name} has no table {table_name!r:.80}; there are: {', '.join(paper.tables)}")
    return paper, paper.tables[table_name]
