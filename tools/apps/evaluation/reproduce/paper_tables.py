"""What the papers report: one YAML file per paper in `papers/`, with its tables, their rows and their numbers.

A number is null where the paper prints none or it cannot be read; a row with such doubts is `unsure`. A column is
[data set, our metric or null where a run has none, the paper's head], and a row's numbers stand in that order.
"""

from importlib.resources import files
from typing import Any, Literal, NamedTuple, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from hopgraph.state import SettingsError

PAPERS = ("migres", "blendfilter", "genground", "ra_isf", "tor")
"""The files, by name."""


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
    """Read what a paper reports.

    Raises:
        SettingsError: there is no paper of this name.
    """
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
    """Read a table by its name, as `tor/table5`.

    Raises:
        SettingsError: no such paper, or it has no such table.
    """
    paper_name, _, table_name = name.partition("/")
    paper = read_paper(paper_name)
    if table_name not in paper.tables:
        raise SettingsError(f"{paper_name} has no table {table_name!r:.80}; there are: {', '.join(paper.tables)}")
    return paper, paper.tables[table_name]
