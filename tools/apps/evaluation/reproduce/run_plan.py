"""From the rows of a paper's table to evaluation runs; rows that differ only in the paper's model share one."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from hopgraph.state import Context, SettingsError
from hopgraph.tools.apps.evaluation.reproduce.experiments import context_named
from hopgraph.tools.apps.evaluation.reproduce.paper_tables import PaperTable, Row

FAMILIES = {
    "hotpotqa": "multi_hop",
    "2wikimultihopqa": "multi_hop",
    "musique": "multi_hop",
    "strategyqa": "yes_no",
    "nq": "open_domain",
    "triviaqa": "open_domain",
}
"""Data set → the family whose preset its methods get."""
_DEFAULT_FAMILY = "multi_hop"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class RowRun:
    """What `hopgraph eval` is asked to do for one row."""

    folder: str
    """The run's folder below the table's."""
    method: str
    """Or the experiment."""
    preset: str | None
    assignments: tuple[str, ...]
    """As `key=value`."""
    add_contexts: bool


@dataclass(frozen=True)
class PlannedRow:
    """A row and its run; None where it cannot be run, for the reason given."""

    row: Row
    run: RowRun | None
    reason: str = ""


def planned(table: PaperTable, dataset: str, given: Sequence[str] = (), *, has_corpus: bool) -> list[PlannedRow]:
    """Plan the runs of a table.

    Args:
        table: the paper's.
        dataset: the name of the data set's format, which chooses the preset.
        given: settings of the user, as `key=value`; they reach the methods that have them.
        has_corpus: whether there is a corpus beside the data set's own contexts.

    Returns:
        One entry per row of the table, in its order; rows with the same method and settings name the same folder.

    Raises:
        SettingsError: a setting that no method of the table has, or that the table itself sets.
    """
    _refuse_misplaced(table, given)
    folders: dict[tuple[object, ...], str] = {}
    found: list[PlannedRow] = []
    for row in table.rows:
        if not row.available:
            found.append(PlannedRow(row, None, row.reason))
        elif row.add_contexts and not has_corpus:
            found.append(PlannedRow(row, None, "adds the data set's contexts to a corpus: name one with --corpus"))
        else:
            found.append(PlannedRow(row, _run(table, row, dataset, given, folders)))
    return found


def _run(
    table: PaperTable, row: Row, dataset: str, given: Sequence[str], folders: dict[tuple[object, ...], str]
) -> RowRun:
    context = context_named(_name(row))
    family = FAMILIES.get(dataset, _DEFAULT_FAMILY)
    preset = family if family in context.presets else None
    assignments = (
        *(each for each in given if _key(each) in context.model_fields),
        *(_assignment(context, key, value, family) for key, value in settings_of_row(table, row).items()),
    )
    same = (_name(row), assignments, row.add_contexts)
    folder = folders.setdefault(same, _unused(row.label, set(folders.values())))
    return RowRun(folder, _name(row), preset, assignments, row.add_contexts)


def _name(row: Row) -> str:
    return row.experiment or row.method


def settings_of_row(table: PaperTable, row: Row) -> dict[str, JsonValue]:
    """List the settings of a row that can be run: the table's that its method has, and its own."""
    known = context_named(_name(row)).model_fields
    return {**{key: value for key, value in table.settings.items() if key in known}, **row.settings}


def _assignment(context: type[Context], key: str, value: JsonValue, family: str) -> str:
    """Write a setting as `--set` takes it: a list as JSON where the default is made anew, else parted by commas."""
    if isinstance(value, list) and context.model_fields[key].default_factory is None:
        text = ",".join(map(str, value))
    else:
        text = value if isinstance(value, str) else json.dumps(value)
    return f"{key}={text.replace('{family}', family)}"


def _unused(label: str, taken: set[str]) -> str:
    """Make a folder's name of a label."""
    base = _NOT_IN_NAMES.sub("-", label.lower()).strip("-") or "row"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name


def _key(assignment: str) -> str:
    return assignment.partition("=")[0].strip().replace("-", "_")


def _refuse_misplaced(table: PaperTable, given: Sequence[str]) -> None:
    rows = [row for row in table.rows if row.available]
    fixed = {key for row in rows for key in settings_of_row(table, row)}
    known = {key for row in rows for key in context_named(_name(row)).model_fields}
    for assignment in given:
        if _key(assignment) in fixed:
            raise SettingsError(f"--set {assignment!r:.80}: the table sets this itself; leave it out")
        if _key(assignment) not in known:
            raise SettingsError(f"--set {assignment!r:.80}: no method of this table has this setting")
