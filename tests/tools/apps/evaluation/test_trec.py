"""TREC files: other tools read them and compute the same scores."""

import re
from dataclasses import replace
from math import log2
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import RunError, SettingsError
from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.ranking_measures import format_trec_files, parse_measures, safe_id
from hopgraph.tools.apps.evaluation.report.measure_tables import measure_tables
from support.hand_made_runs import failed, outcome, question, write_run

QUESTIONS = [
    question("q 1", "Ann", gold=("a b", "a%20b", "c")),
    question("q2", "Bea", gold=("d", "e")),
    question("q3", "Cid", gold=("f",)),
]
RETRIEVED = {"q 1": ["x", "a b", "a b", "y", "a%20b", "z"], "q2": [*(f"p{number}" for number in range(12)), "d"]}


def made(folder: Path, method: str = "migres", **fields: Any) -> Any:
    outcomes = [outcome(method, name, "Ann", found) for name, found in RETRIEVED.items()]
    return write_run(folder, QUESTIONS, [*outcomes, failed(method, "q3")], {method: {}}, **fields)


def test_ir_measures_reads_the_files_and_agrees(tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="needs the models-dev extra")
    comparison = compare_runs([made(tmp_path / "run")])
    for name, content in format_trec_files(comparison).items():
        (tmp_path / name).write_text(content)
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    ranked = list(ir_measures.read_trec_run(str(tmp_path / "migres.run")))
    measures = {k: ir_measures.R @ k for k in (2, 5, 10, 15)}
    theirs = ir_measures.calc_aggregate(measures.values(), qrels, ranked)
    (method,) = comparison.methods
    for k, measure in measures.items():
        assert theirs[measure] == pytest.approx(comparison.mean(method, f"recall@{k}"))
    each = {found.query_id: found.value for found in ir_measures.iter_calc([ir_measures.R @ 5], qrels, ranked)}
    assert each["q%201"] == pytest.approx(2 / 3)


def test_scores_decrease_with_rank_and_fields_stay_separate(tmp_path: Path) -> None:
    files = format_trec_files(compare_runs([made(tmp_path)]))
    lines = [line.split(" ") for line in files["migres.run"].splitlines()]
    assert all(len(line) == 6 for line in lines)
    assert [(line[2], line[3], line[4]) for line in lines if line[0] == "q%201"] == [
        ("x", "1", "5"),
        ("a%20b", "2", "4"),
        ("y", "3", "3"),
        ("a%2520b", "4", "2"),
        ("z", "5", "1"),
    ]
    assert files["qrels"].splitlines()[:2] == ["q%201 0 a%20b 1", "q%201 0 a%2520b 1"]


def test_titles_replace_ids_if_gold_is_known_by_title(tmp_path: Path) -> None:
    files = format_trec_files(compare_runs([made(tmp_path, gold_by="titles")]))
    assert "q2 Q0 D 13 1 migres" in files["migres.run"].splitlines()
    assert "q2 0 D 1" in files["qrels"].splitlines()


def test_graded_qrels_stay_graded(tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="needs the models-dev extra")
    graded = replace(QUESTIONS[1], grades=(3, 1))
    run = write_run(tmp_path / "run", [graded], [outcome("migres", "q2", "Bea", ["e", "d"])], {"migres": {}})
    files = format_trec_files(compare_runs([run]))
    assert files["qrels"].splitlines() == ["q2 0 d 3", "q2 0 e 1"]
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    found = ir_measures.calc_aggregate(
        [ir_measures.nDCG @ 5], qrels, ir_measures.read_trec_run(str(tmp_path / "migres.run"))
    )
    # Gains 1 and 3; the ideal order is 3 and 1.
    assert found[ir_measures.nDCG @ 5] == pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3)))


def test_runs_that_cannot_be_written_are_reported(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="has no gold passages"):
        format_trec_files(compare_runs([made(tmp_path / "none", gold_by="none")]))
    two = [made(tmp_path / "ids"), made(tmp_path / "titles", gold_by="titles")]
    with pytest.raises(RunError, match="some of these runs have gold passages by id, others by title"):
        format_trec_files(compare_runs(two))


def test_each_run_has_its_own_file(tmp_path: Path) -> None:
    files = format_trec_files(compare_runs([made(tmp_path / "one"), made(tmp_path / "two")]))
    assert list(files) == ["one-migres.run", "two-migres.run", "qrels"]


@pytest.mark.parametrize(
    ("name", "safe"), [("a", "a"), ("a b", "a%20b"), ("a\u00a0b\tc", "a%C2%A0b%09c"), ("50%", "50%25"), ("", "%")]
)
def test_safe_ids(name: str, safe: str) -> None:
    assert safe_id(name) == safe


def test_measures_of_the_library_are_shown_in_a_table(tmp_path: Path) -> None:
    pytest.importorskip("ir_measures", reason="needs the extra trec")
    comparison = compare_runs([made(tmp_path)])
    (table,) = measure_tables(comparison, measures=parse_measures(["nDCG@10", "RR", "AP"]))
    values = dict(zip(table.columns[1:], [cell.value for cell in table.rows[0][1:]], strict=True))
    assert values["n"] == 3
    assert values["RR"] == pytest.approx((1 / 2 + 1 / 13 + 0) / 3)  # the failed question counts
    assert values["AP"] == pytest.approx(((1 / 2 + 2 / 4) / 3 + (1 / 13) / 2) / 3)
    assert values["nDCG@10"] == pytest.approx((1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / log2(4)) / 3)


@pytest.mark.parametrize("measures", ["nDGC@10", "nDCG(x=3)", "nDCG@"])
def test_a_measure_unknown_to_the_library_is_refused(measures: str) -> None:
    pytest.importorskip("ir_measures", reason="needs the extra trec")
    with pytest.raises(SettingsError, match=re.escape(measures)):
        parse_measures([measures])
