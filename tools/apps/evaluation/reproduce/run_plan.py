"""Plan evaluation runs for the rows of a paper's table; rows that differ only in the paper's model share one."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from hopgraph.state import SettingsError
from hopgraph.tools.apps.evaluation.reproduce.experiments import context_named
from hopgraph.tools.apps.evaluation.reproduce.paper_tables import PaperTable, Row

FAMILIES = {"strategyqa": "yes_no", "nq": "open_domain", "triviaqa": "open_domain"}
"""Data set → the family whose preset its methods get; for all others it is multi_hop."""


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
    """Plan the runs of a table.

    Args:
        table: the paper's.
        dataset: the name of the data set's format, which chooses the preset.
        given: settings of the user, as `key=value`; they reach the methods that have them.
        has_corpus: whether there is a corpus other than the data set's own contexts.

    Returns:
        One entry per row, in their order; rows with the same method and settings name the same folder.

    Raises:
        SettingsError: a setting that no method of the table has, or that the table itself sets.
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
            preset = family if family in context_named(row.method).presets else None
            found.append(PlannedRow(row, "", folder, preset, assignments))
    return found


def settings_of_row(table: PaperTable, row: Row) -> dict[str, JsonValue]:
    """List the settings of a row that can be run: the table's that its method has, and its own."""
    known = context_named(row.method).model_fields
    return {**{key: value for key, value in table.settings.items() if key in known}, **row.settings}


def _assignments(table: PaperTable, row: Row, family: str, given: Sequence[str]) -> tuple[str, ...]:
    """Write a row's settings as `--set` takes them: the user's that its method has, then the table's and its own."""
    known = context_named(row.method).model_fields
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
    known = {key for row in rows for key in context_named(row.method).model_fields}
    for assignment in given:
        if _key(assignment) in fixed:
            raise SettingsError(f"--set {assignment!r:.80}: the table sets this itself; leave it out")
        if _key(assignment) not in known:
            raise SettingsError(f"--set {assignment!r:.80}: no method of this table has this setting")
