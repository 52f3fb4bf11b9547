"""Calibration of stated confidence, on answers with known results."""

from pathlib import Path

import pytest

from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.report.measure_tables import measure_tables
from hopgraph.tools.apps.evaluation.verdicts import Calibration
from support.hand_made_runs import outcome, question, write_run


def test_a_confidence_that_is_always_right_is_calibrated() -> None:
    perfect = Calibration([(5, True)] * 3 + [(1, False)] * 2 + [(3, True), (3, False)])
    assert perfect.levels == {1: (2, 0.0), 3: (2, 0.5), 5: (3, 1.0)}
    assert perfect.expected_error == 0
    assert perfect.brier == pytest.approx(2 * 0.25 / 7)
    assert perfect.auroc == pytest.approx((3 * 3 + 1 * 2.5) / 12)


def test_an_overconfident_model_is_not_calibrated() -> None:
    sure = Calibration([(5, False)] * 3 + [(5, True)])
    assert (sure.expected_error, sure.brier, sure.auroc) == (0.75, 0.75, 0.5)


def test_undefined_measures_are_none() -> None:
    none, right = Calibration([]), Calibration([(4, True)])
    assert (none.levels, none.expected_error, none.brier, none.auroc) == ({}, None, None, None)
    assert (right.expected_error, right.auroc) == (0.25, None)


def test_the_table_has_the_methods_that_state_a_confidence(tmp_path: Path) -> None:
    asked = [question("q1", "Ann"), question("q2", "Bea"), question("q3", "Cid")]
    stated = [
        outcome("migres", "q1", "Ann", confidence=5),
        outcome("migres", "q2", "wrong", confidence=2),
        outcome("migres", "q3", "Cid"),
    ]
    silent = [outcome("one_step", each.id, "Ann") for each in asked]
    reader = write_run(tmp_path, asked, [*stated, *silent], {"migres": {}, "one_step": {}})
    (table,) = measure_tables(compare_runs([reader]))
    (row,) = table.rows
    assert dict(zip(table.columns, [cell.value for cell in row], strict=True)) == {
        "method": "migres",
        "answers": 2,
        "right at 2": 0.0,
        "right at 5": 1.0,
        "ECE": pytest.approx(0.125),
        "Brier": pytest.approx(0.25**2 / 2),
        "AUROC": 1.0,
    }
