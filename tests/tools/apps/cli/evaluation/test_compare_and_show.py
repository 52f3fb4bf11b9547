"""`hopgraph compare` and `hopgraph show` on a real run of the offline model."""

import csv
import html
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.apps.cli.console import console_on
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.apps.cli.evaluation.run_tables import print_table
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.report.tables import Cell, Table
from support.hand_made_runs import failed, outcome, question, write_run
from support.paths import SAMPLE

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "sample"
    run_eval(EvalOptions(SAMPLE, "one_step,migres,tree_of_reviews,ra_isf", out, model="offline:extractive", limit=2))
    return out


def test_compare_prints_and_writes_tables(run: Run, folder: Path, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a/report.md", "report.html", "REPORT.CSV")]
    options = [argument for name in files for argument in ("--out", name)]
    ran = run("compare", str(folder), *options, "--against", "migres", "--trec", str(tmp_path / "trec"))
    assert (ran.code, ran.err) == (0, "")
    assert "Not a language model's scores: answered by offline:extractive" in ran.out
    assert "Against migres (offline: no language model)" in ran.out
    assert "Written: " in ran.out.replace("\n", " ")
    with Path(files[2]).open(newline="") as lines:
        rows = {(row["table"], row["method"], row["column"]): row["value"] for row in csv.DictReader(lines)}
    summary = json.loads((folder / "summary.json").read_text())
    for method, score in (("migres", "em"), ("one_step", "f1"), ("ra_isf", "em")):
        column = {"em": "EM", "f1": "F1"}[score]
        found = rows["Scores (offline: no language model)", method, column]
        assert float(found) == pytest.approx(summary[method][score])
    assert "## Scores (offline: no language model)" in Path(files[0]).read_text()
    assert sorted(path.name for path in (tmp_path / "trec").iterdir()) == [
        "migres.run",
        "one_step.run",
        "qrels",
        "ra_isf.run",
        "tree_of_reviews.run",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("with_figures", [True, False])
def test_the_html_report_embeds_figures_and_links_to_trees(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, with_figures: bool
) -> None:
    if not with_figures:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = run("compare", str(folder), "--out", str(tmp_path / "report.html"))
    assert (ran.code, ran.err) == (0, "")
    page = (tmp_path / "report.html").read_text()
    assert page.count('src="data:image/svg+xml;base64,') == (4 if with_figures else 0)
    assert with_figures or "pip install 'hopgraph[figures]'" in page
    links = dict.fromkeys(re.findall(r'href="([^"#]+)#(\w+)"', page))
    assert len(links) == 4 * 2
    for link, method in links:
        linked = (tmp_path / link).read_text()
        assert f'<h2 id="{method}">{method}: ' in linked
        assert linked.count("<svg ") == 4
    assert RunReader(folder).questions()[1].question in html.unescape(
        (tmp_path / "report-questions/0002.html").read_text()
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["compare", "nowhere"], 1, "nowhere is not an evaluation run"),
        (["compare", "RUN", "--against", "nobody"], 1, "no method 'nobody' in these runs; available: one_step"),
        (["compare", "RUN", "--out", "report.pdf"], 2, "must end in one of .md, .html, .csv, .json, .tex"),
        (["compare", "RUN", "RUN"], 1, "is listed twice"),
        (["show", "nowhere", "x", "--method", "migres"], 1, "nowhere is not an evaluation run"),
        (["show", "RUN", "x"], 1, "has several methods; name one with --method: one_step, migres"),
        (["show", "RUN", "x", "--method", "nope"], 2, "method 'nope' is unknown"),
        (["show", "RUN", "x", "--method", "direct"], 1, "has no direct; it has: one_step"),
        (["show", "RUN", "x", "--method", "migres"], 1, "did not ask 'x'"),
        (["show", "RUN", "ID", "--method", "migres", "--repeat", "2"], 1, "migres has not finished"),
    ],
)
def test_errors_are_one_line(run: Run, folder: Path, arguments: list[str], code: int, said: str) -> None:
    places = {"RUN": str(folder), "ID": RunReader(folder).questions()[0].id}
    ran = run(*(places.get(each, each) for each in arguments))
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_show_prints_the_steps_and_the_tree(run: Run, folder: Path) -> None:
    asked = RunReader(folder).questions()[0]
    for method, step in (("tor", "review"), ("migres", "extract"), ("ra_isf", "judge"), ("one_step", "search")):
        ran = run("show", str(folder), asked.id, "--method", method)
        assert (ran.code, ran.err) == (0, "")
        flat = " ".join(ran.out.split())
        assert f"Question {asked.question}" in flat
        assert " · model offline:extractive · " in flat
        assert f"Gold {(asked.answers or ('',))[0]}" in flat
        assert step in flat
        assert "Answered by offline:extractive, which is not a language model." in flat
        assert any(line.startswith("EM ") for line in ran.out.splitlines())
        for passage in asked.contexts:
            assert f"{passage.title}: found" in flat or f"{passage.title}: not found" in flat
    assert "The run" in run("show", str(folder), "1", "--method", "tor").out


def test_a_shown_record_can_be_drawn(run: Run, folder: Path, tmp_path: Path) -> None:
    asked = RunReader(folder).questions()[0]
    ran = run("show", str(folder), asked.id, "--method", "tor", "--json")
    record = json.loads(ran.out)
    assert (record["method"], record["question"]) == ("tree_of_reviews", asked.question)
    assert record["evaluation"]["gold_answers"] == list(asked.answers or ())
    assert record["evaluation"]["scores"]["em"] in (0.0, 1.0)
    assert record["evaluation"]["stand_in"]
    (tmp_path / "run.json").write_text(ran.out)
    drawn = run("draw", "--run", str(tmp_path / "run.json"))
    assert drawn.code == 0
    assert asked.question in drawn.out


def test_show_reports_a_failure_and_missing_steps(run: Run, tmp_path: Path) -> None:
    questions = [question("q1", "Ann"), question("q2", "\x1b[31mBea")]
    write_run(tmp_path / "r", questions, [failed("migres", "q1"), outcome("migres", "q2", "Bea")], {"migres": {}})
    lost = run("show", str(tmp_path / "r"), "q1")
    assert lost.code == 0
    assert "Failed: the server is gone" in lost.out
    assert "G1: not found" in lost.out
    assert json.loads(run("show", str(tmp_path / "r"), "q1", "--json").out)["evaluation"]["error"]
    ran = run("show", str(tmp_path / "r"), "q2")
    assert ran.code == 1
    assert "the run kept no steps (--no-traces)" in ran.err
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_wide_table_keeps_every_entry(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [[Cell(name, name), *(Cell(n / 7, f"{n}.5 [{n}.1, {n}.9]", n, n) for n in range(9))] for name in ("a", "b")]
    console = console_on()
    console.width = width
    print_table(console, Table("T", "", ["method", *(f"column {n}" for n in range(9))], rows))
    out = capsys.readouterr().out
    assert all(len(line) <= width for line in out.splitlines())
    assert all(out.count(f"{n}.5") == 2 and f"column {n}" in out for n in range(9))
    assert ("[3.1, 3.9]" in out) == (width == 200)
