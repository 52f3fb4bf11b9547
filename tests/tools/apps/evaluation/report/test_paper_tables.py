"""The tables for a paper: known runs over two data sets and two models, entry by entry and as compiled LaTeX."""

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

from hopgraph.state import RunError, SettingsError
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.comparison import Comparison, compare_by_dataset
from hopgraph.tools.apps.evaluation.cost_estimate import ModelPrice, PriceTable
from hopgraph.tools.apps.evaluation.report.paper_tables import paper_rows, paper_tables
from hopgraph.tools.apps.evaluation.report.tables import Cell, Table
from hopgraph.tools.apps.evaluation.report.writers import as_html, as_json, as_latex, as_markdown, escape_latex
from support.hand_made_runs import outcome, question, usage, write_run
from support.latex import compiled_text

QUESTIONS = [question(f"q{number}", "Ann", gold=(f"g{number}",)) for number in range(40)]
RIGHT = {"one_step": 10, "migres": 30, "ircot": 14, "gold_passages": 38}
MODELS = ("openai:small", "openai:large")
PRICES = PriceTable({"openai:small": ModelPrice(prompt=1.0, completion=10.0)})


def write(
    folder: Path, dataset: str, model: str, right: Mapping[str, int], repeats: int = 3, sha256: str = "", **own: Any
) -> RunReader:
    """Write a run in which a method answers this many questions right, one fewer in each repeat."""
    outcomes = [
        outcome(
            *(method, each.id, "Ann" if number < count - repeat else "Zoe"),
            repeat=repeat,
            usage=usage(3),
            seconds=float(number),
        )
        for method, count in right.items()
        for repeat in range(repeats)
        for number, each in enumerate(QUESTIONS)
    ]
    settings = {method: {"model": model, **own} for method in right}
    return write_run(folder, QUESTIONS, outcomes, settings, repeats=repeats, name=dataset, sha256=sha256 or dataset)


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Comparison]:
    folder = tmp_path_factory.mktemp("study")
    readers = [
        write(folder / "hotpot-small", "hotpot_dev.json", "openai:small", RIGHT),
        write(folder / "hotpot-large", "hotpot_dev.json", "openai:large", {"one_step": 20, "migres": 21}),
        write(folder / "my_set-small", "my_set.jsonl", "openai:small", {"migres": 9, "one_step": 30}),
    ]
    return compare_by_dataset(readers, PRICES)


def cells(table: Table) -> dict[tuple[str, str, str], Cell]:
    """Return (model, method, data set and column) → cell."""
    flat = table.flat()
    return {
        (model, row[0].text, column): cell
        for model, row in zip(table.sections, table.rows, strict=True)
        for column, cell in zip(flat.columns[1:], row[1:], strict=True)
    }


@pytest.mark.parametrize(
    ("names", "shown"),
    [(("mini", "big"), ["mini", "big"]), (("mini", "mini"), [*MODELS]), (("", "big"), [MODELS[0], "big"])],
)
def test_a_model_has_its_unique_name_in_a_study(tmp_path: Path, names: tuple[str, str], shown: list[str]) -> None:
    readers: list[RunReader] = []
    for model, name in zip(MODELS, names, strict=True):
        folder = write(tmp_path / model[7:], "set", model, {"one_step": 9}).folder
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps({**manifest, "model_label": name}))
        readers.append(RunReader(folder))
    assert [row.model for row in paper_rows(compare_by_dataset(readers))] == shown


def test_captions_omit_the_address_of_a_model(tmp_path: Path) -> None:
    folder = write(tmp_path / "x", "set", "openai:small?base_url=http://10.0.0.7/v1", {"one_step": 9}).folder
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "model_label": "local"}))
    scores, _ = paper_tables(compare_by_dataset([RunReader(folder)]))
    assert scores.note.endswith(" Models: local is openai:small.")


def test_one_table_covers_all_methods_data_sets_and_models(comparisons: dict[str, Comparison]) -> None:
    scores, costs = paper_tables(comparisons)
    assert scores.columns == ["method", "EM", "F1", "EM", "F1"]
    assert scores.groups == ["", "hotpot_dev", "hotpot_dev", "my_set", "my_set"]
    assert scores.sections == [*["openai:small"] * 4, *["openai:large"] * 2]
    found = cells(scores)
    migres = found["openai:small", "migres", "hotpot_dev EM"]
    shares = [30 / 40, 29 / 40, 28 / 40]
    assert migres.value == pytest.approx(shares[1])
    assert migres.sd == pytest.approx(stdev(shares))
    assert migres.text == "72.5 ± 2.5 [58, 85]"
    assert migres.low
    assert migres.high
    assert migres.low < shares[1] < migres.high
    assert found["openai:large", "migres", "my_set EM"].text == ""  # it did not run there
    # Best and second best of each model, without the bound.
    ranks = {key: cell.rank for key, cell in found.items() if key[2] == "hotpot_dev F1"}
    assert [*ranks.values()] == [0, 1, 2, 0, 2, 1]
    # Against one_step of the same model.
    assert (migres.mark, found["openai:small", "gold_passages", "hotpot_dev EM"].mark) == ("**", "**")
    assert found["openai:small", "ircot", "hotpot_dev EM"].mark == ""
    assert found["openai:large", "migres", "hotpot_dev EM"].mark == ""
    assert found["openai:small", "migres", "my_set EM"].mark == "**"  # significantly worse
    assert not any(found[key].mark or found[key].p for key in found if key[1] == "one_step")
    for said in (
        "over 3 repeats",
        "against one_step with the same model",
        "10 differences",
        "40 (hotpot_dev), 40 (my_set)",
    ):
        assert said in scores.note
    small = cells(costs)["openai:small", "migres", "hotpot_dev cost"]
    assert small.value == pytest.approx((300 * 1 + 30 * 10) / 1e6)
    assert cells(costs)["openai:large", "migres", "hotpot_dev cost"].value is None
    by_name = {key[2]: cell.text for key, cell in cells(costs).items() if key[:2] == ("openai:small", "ircot")}
    assert by_name["hotpot_dev calls"] == "3.0"
    assert by_name["hotpot_dev tokens"] == "330"
    assert (by_name["hotpot_dev median s"], by_name["hotpot_dev 95 % s"]) == ("19.50", "37.05")


def test_rows_name_the_settings_in_which_runs_differ(tmp_path: Path) -> None:
    runs = [write(tmp_path / str(k), "x.json", "openai:small", {"migres": k}, 1, max_iterations=k) for k in (3, 5)]
    again = write(tmp_path / "again", "x.json", "openai:small", {"migres": 4}, 1, max_iterations=3)
    rows = [row.name for row in paper_rows(compare_by_dataset([*runs, again]))]
    assert sorted(rows) == ["again/migres", "migres (max_iterations=3)", "migres (max_iterations=5)"]


def test_data_sets_with_the_same_file_name_are_distinguished_by_their_runs(tmp_path: Path) -> None:
    runs = [write(tmp_path / name, "dev.json", "openai:small", {"migres": 3}, 1, name) for name in ("a", "b")]
    assert [*compare_by_dataset(runs)] == ["dev (a)", "dev (b)"]


def test_unknown_baselines_and_scores_are_refused(comparisons: dict[str, Comparison]) -> None:
    with pytest.raises(RunError, match="no method 'ircot' in these runs"):  # my_set lacks it
        paper_tables(comparisons, "ircot")
    with pytest.raises(SettingsError, match=r"'recall@3' is unknown; did you mean 'recall@\d+'"):
        paper_tables(comparisons, scores=["recall@3"])


HOSTILE = r"\input{/etc/passwd} $x$ 50% & #1 {a}_b^c ~ `` '' <i> |[2]* -- \\ \end{table}" + '"é ł 中\x1b[31m\u202e'


def test_every_format_shows_marks_and_ranks(comparisons: dict[str, Comparison]) -> None:
    made = paper_tables(comparisons)
    latex = as_latex("h", [], made)
    assert r"\textbf{72.5} $\pm$ 2.5$^{**}$" in latex
    assert r" & \scriptsize {[}58, 85] & " in latex
    assert r"| **72.5 ± 2.5**\*\* \[58, 85] |" in as_markdown("h", [], made)
    assert "<b>72.5 ± 2.5</b><sup>**</sup><small> [58, 85]</small>" in as_html("h", [], made)


def test_untrusted_text_is_escaped_in_latex() -> None:
    written = escape_latex(HOSTILE)
    assert r"\input" not in written
    assert r"\end" not in written
    assert "U+4E2D" in written
    assert "U+0142" in written
    assert "é" in written
    assert not {"\x1b", "\u202e", "中"} & set(written)


@pytest.mark.slow
def test_the_compiled_latex_has_the_numbers_of_the_json(comparisons: dict[str, Comparison], tmp_path: Path) -> None:
    made = paper_tables(comparisons)
    hostile = Table(HOSTILE, HOSTILE, ["method", HOSTILE], [[Cell(HOSTILE, HOSTILE), Cell(1.0, HOSTILE, rank=1)]])
    (tmp_path / "tables.tex").write_text(as_latex(HOSTILE, [], [*made, hostile]), encoding="utf-8")
    raised = "_\N{ASTERISK OPERATOR}"  # superscripts may be elsewhere in the extracted text
    text = compiled_text(tmp_path / "tables.tex").translate(dict.fromkeys(map(ord, raised)))
    rows: dict[tuple[str, str, str], str] = {}
    intervals: dict[tuple[str, str, str], str] = {}
    for table in json.loads(as_json("h", [], made))["tables"]:
        for entry in table["entries"]:
            row = table["title"], entry["model"], entry["method"]
            number, _, interval = entry["text"].partition(" [")
            rows[row] = rows.get(row, entry["method"]) + number
            intervals[row] = intervals.get(row, "") + f"[{interval}" * bool(interval)
    assert len(rows) == 2 * 6
    for row in (*rows.values(), *intervals.values()):
        assert row.replace(" ", "").replace("_", "") in text
