"""A report's tables: titled, with cells that machines and people read."""

from dataclasses import dataclass

from hopgraph.tools.apps.evaluation.comparison import Comparison, Difference, Scored


@dataclass(frozen=True)
class Cell:
    """One entry: what a machine reads, and what people read."""

    value: float | str | None
    """Unrounded; None for an entry that there is not."""
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


def name_cell(method: Scored) -> Cell:
    """Show a method's name."""
    return Cell(method.name, method.name)


def share_cell(comparison: Comparison, method: Scored, score: str) -> Cell:
    """Show a mean score in percent with its interval; empty where no question has it."""
    mean, interval = comparison.mean(method, score), comparison.interval(method, score)
    if mean is None or interval is None:
        return Cell(None, "")
    low, high = interval
    return Cell(mean, f"{100 * mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]", low, high)


def difference_cell(difference: Difference) -> Cell:
    """Show a difference in points with its interval."""
    low, high = difference.ci95
    text = f"{100 * difference.mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
    return Cell(difference.mean, text, low, high)
