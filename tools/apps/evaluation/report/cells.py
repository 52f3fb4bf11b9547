"""A report's tables: titled, with cells that machines and people read."""

from collections.abc import Sequence
from dataclasses import dataclass

from hopgraph.tools.apps.evaluation.comparison import Comparison, Difference, ScoredMethod


@dataclass(frozen=True)
class Cell:
    """One entry: what a machine reads, and what people read."""

    value: float | str | None
    """Unrounded; None for a missing entry."""
    text: str
    low: float | None = None
    """The lower end of the value's 95 % interval, where it has one."""
    high: float | None = None

    @property
    def brief(self) -> str:
        """The text without the interval."""
        return self.text.partition(" [")[0] if self.low is not None else self.text


@dataclass(frozen=True)
class Table:
    """A titled table; the first column names the methods."""

    title: str
    note: str
    """How to read it; may be empty."""
    columns: list[str]
    rows: list[list[Cell]]


def text_cell(text: str) -> Cell:
    """Return a cell that says something; without a value where it says nothing."""
    return Cell(text or None, text)


def number_cell(value: float | None, digits: int = 0) -> Cell:
    """Return a number with so many decimals; empty for None."""
    return Cell(value, "" if value is None else f"{value:,.{digits}f}")


def percent_cell(
    share: float | None, interval: Sequence[float] | None = None, *, digits: int = 1, sign: str = ""
) -> Cell:
    """Return a share in percent with one decimal, and its interval with so many `digits`; empty for None."""
    if share is None:
        return Cell(None, "")
    if interval is None:
        return Cell(share, f"{100 * share:{sign}.1f}")
    low, high = interval
    ends = ", ".join(f"{100 * end:{sign}.{digits}f}" for end in (low, high))
    return Cell(share, f"{100 * share:{sign}.1f} [{ends}]", low, high)


def score_cell(comparison: Comparison, method: ScoredMethod, score: str) -> Cell:
    """Return a method's mean score in percent with its interval; empty where no question has it."""
    return percent_cell(comparison.mean(method, score), comparison.interval(method, score))


def difference_cell(difference: Difference) -> Cell:
    """Return a difference in points with its interval."""
    return percent_cell(difference.mean, difference.ci95, sign="+")
