"""Right, wrong and not attempted answers, and abstention on unanswerable questions."""

from dataclasses import replace
from pathlib import Path

import pytest

from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.report.measure_tables import measure_tables
from hopgraph.tools.apps.evaluation.verdicts import Verdicts, judge_verdicts
from support.hand_made_runs import failed, outcome, question, write_run

ASKED = [question(f"q{number}", "Ann") for number in range(1, 5)]
NONE = [replace(question(f"n{number}", ""), answers=()) for number in range(1, 4)]


def sorted_out(folder: Path, *answers: str, fails: str = "") -> Verdicts:
    asked = [*ASKED, *NONE]
    outcomes = [
        failed("migres", each.id) if each.id == fails else outcome("migres", each.id, answer)
        for each, answer in zip(asked, answers, strict=True)
    ]
    reader = write_run(folder, asked, outcomes, {"migres": {}})
    (method,) = compare_runs([reader]).methods
    return judge_verdicts(method.rows, {each.id: each for each in asked})


def test_each_question_has_one_verdict(tmp_path: Path) -> None:
    found = sorted_out(tmp_path, "Ann", "Bea", "", "", "", "", "Cid", fails="q4")
    assert found.right == [1, 0, 0, 0, 1, 1, 0]
    assert found.wrong == [0, 1, 0, 1, 0, 0, 1]  # a failure is not an abstention
    assert found.not_attempted == [0, 0, 1, 0, 0, 0, 0]
    assert found.right_of_attempted == pytest.approx(1 / 3)
    assert found.f_score == pytest.approx(2 * (1 / 4) * (1 / 3) / (1 / 4 + 1 / 3))
    assert (found.abstention_precision, found.abstention_recall) == pytest.approx((2 / 3, 2 / 3))


def test_ratios_with_a_zero_denominator_are_missing(tmp_path: Path) -> None:
    silent = sorted_out(tmp_path, *[""] * 7)
    assert (silent.right_of_attempted, silent.f_score) == (None, None)
    assert (silent.abstention_precision, silent.abstention_recall) == (3 / 7, 1.0)
    none = judge_verdicts({}, {})
    assert (none.f_score, none.abstention_precision, none.abstention_recall) == (None, None, None)


def test_the_table_is_shown_if_a_method_abstains(tmp_path: Path) -> None:
    told = write_run(tmp_path / "told", ASKED, [outcome("migres", each.id, "Ann") for each in ASKED], {"migres": {}})
    assert measure_tables(compare_runs([told])) == []
    silent = write_run(tmp_path / "silent", ASKED, [outcome("migres", each.id, "") for each in ASKED], {"migres": {}})
    (table,) = measure_tables(compare_runs([silent]))
    assert table.columns == ["method", "right", "wrong", "not attempted"]
    assert [cell.value for cell in table.rows[0][1:]] == [0.0, 0.0, 1.0]
