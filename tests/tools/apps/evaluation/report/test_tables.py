"""The tables of hand-made runs, entry by entry, and hostile texts in every format."""

import csv
import io
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.apps.evaluation.batch.run_directory import describe_simulated
from hopgraph.tools.apps.evaluation.comparison import Comparison, compare_runs
from hopgraph.tools.apps.evaluation.report.tables import Cell, Table, tables
from hopgraph.tools.apps.evaluation.report.writers import (
    WRITERS,
    as_csv,
    as_html,
    as_markdown,
    question_pages,
    questions_section,
    settings_section,
)
from support.hand_made_runs import failed, outcome, question, usage, write_run
from support.step_events import sparse_event

QUESTIONS = [question("q1", "Ann"), question("q2", "Bea"), question("q3", "Cid", "comparison", ("g1", "g2", "g3"))]
MODEL = {"model": "openai:m"}


def steps(*settled: tuple[str, str]) -> dict[str, Any]:
    """Return a trace of RA-ISF from question ids and how each was settled."""
    return {"trace": [sparse_event("question_settled", {"id": key, "how": how}) for key, how in settled]}


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    cited = [{"kind": "passage", "passage_id": "g1", "title": "G1", "quote": "x", "start": 0, "end": 1}]
    outcomes = [
        outcome("one_step", "q1", "Ann", citations=cited),
        outcome("one_step", "q2", "Zoe", ("g1",), usage=usage(1)),
        failed("one_step", "q3"),
        *(outcome("gold_passages", each.id, each.answers[0] if each.answers else "") for each in QUESTIONS),
        (outcome("ra_isf", "q1", "Ann"), steps(("0", "known"))),
        (outcome("ra_isf", "q2", "Bea"), steps(("0.1", "passages"), ("0.2", "unsolved"), ("0", "composed"))),
        (outcome("ra_isf", "q3", ""), steps(("0", "depth"))),
    ]
    return compare_runs([write_run(tmp_path / "run", QUESTIONS, outcomes, dict.fromkeys(_NAMES, MODEL))])


_NAMES = ("one_step", "gold_passages", "ra_isf")


def by_title(made: list[Table]) -> dict[str, dict[str, dict[str, str]]]:
    """Return title → method → column → text."""
    return {
        table.title: {
            row[0].text: {name: cell.text for name, cell in zip(table.columns[1:], row[1:], strict=True)}
            for row in table.rows
        }
        for table in made
    }


def test_the_entries_of_every_table(comparison: Comparison) -> None:
    found = by_title(tables(comparison))
    assert list(found) == [
        "Scores",
        "Costs",
        "Frontier",
        "Against one_step",
        "By type of question",
        "By number of hops",
        "Where questions are lost",
    ]
    scores = found["Scores"]
    assert scores["one_step"]["n"] == "3"
    assert scores["one_step"]["EM"].startswith("33.3 [0.0, ")
    assert scores["one_step"]["grounded EM"].startswith("33.3 [")
    assert scores["gold_passages"]["EM"] == "100.0 [100.0, 100.0]"
    assert [scores[name]["gap closed"] for name in _NAMES] == ["0.0", "100.0", "50.0 [0, 100]"]
    assert found["Costs"]["one_step"]["model calls"] == "1.5"
    assert found["Costs"]["one_step"]["failed"] == "0.33"
    assert found["Against one_step"]["gold_passages"]["F1 difference"].startswith("+66.7 [")
    assert "one_step" not in found["Against one_step"]
    assert found["By type of question"]["ra_isf"] == {"bridge (2)": "100.0", "comparison (1)": "0.0"}
    assert found["By number of hops"]["one_step"] == {"2 hops (2)": "50.0", "3 hops (1)": "0.0"}
    lost = found["Where questions are lost"]["one_step"]
    assert {name: count for name, count in lost.items() if count != "0"} == {
        "right": "1",
        "not retrieved": "1",
        "failed": "1",
    }


def test_without_gold_passages_it_is_unknown_whether_they_were_retrieved(tmp_path: Path) -> None:
    own = [question(f"q{number}", "Ann", gold=()) for number in range(2)]
    outcomes = [outcome("one_step", each.id, "Zoe") for each in own]
    comparison = compare_runs([write_run(tmp_path, own, outcomes, {"one_step": MODEL}, gold_by="none")])
    lost = by_title(tables(comparison))["Where questions are lost"]["one_step"]
    assert (lost["answered wrongly"], lost["not retrieved"]) == ("2", "unknown")


def test_a_pilot_run_estimates_the_questions_needed(tmp_path: Path) -> None:
    many = [question(f"q{number}", "Ann", gold=(f"g{number}",)) for number in range(100)]
    right = {"one_step": 40, "migres": 50, "ircot": 40}
    outcomes = [
        outcome(method, each.id, "Ann" if number < count else "Zoe")
        for method, count in right.items()
        for number, each in enumerate(many)
    ]
    comparison = compare_runs([write_run(tmp_path, many, outcomes, dict.fromkeys(right, MODEL))])
    rows = by_title(tables(comparison, plan=True))["Questions needed"]
    # (1.96 + 0.84)² · 0.1 · 0.9 · 100 / 99 / 0.1², and √(71.4 / 100) · 10 points
    assert rows["migres"]["questions (EM)"] == "72"
    assert rows["migres"]["EM shown by 100"] == "8.4"
    assert rows["ircot"]["questions (EM)"] == ""


def test_the_base_can_be_chosen(comparison: Comparison) -> None:
    assert comparison.default_base == "one_step"
    assert "Against ra_isf" in by_title(tables(comparison, "ra_isf"))


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ({}, "offline"),
        ({"model": "rehearsal:x.json?error=0.1"}, "rehearsal"),
        ({"model": "openai:m", "models": {"one_step": "offline:extractive"}}, "offline"),
        ({"model": "openai:m"}, ""),
    ],
)
def test_stand_ins_are_named_in_every_table(tmp_path: Path, settings: dict[str, Any], kinds: str) -> None:
    outcomes = [outcome("one_step", each.id, "Ann") for each in QUESTIONS]
    comparison = compare_runs([write_run(tmp_path, QUESTIONS, outcomes, {"one_step": settings})])
    made = tables(comparison)
    assert made
    for table in made:
        assert table.title.endswith(f" ({kinds}: no language model)") == bool(kinds)
    said = describe_simulated(each.settings for each in comparison.methods)
    assert ("which is not a language model" in said) == bool(kinds)
    for write in WRITERS.values():
        assert ("no language model" in write("x", [], made)) == bool(kinds)


def test_a_data_set_without_answers_has_no_answer_tables(tmp_path: Path) -> None:
    from dataclasses import replace

    untold = [replace(each, answers=None) for each in QUESTIONS]
    comparison = compare_runs([write_run(tmp_path, untold, [outcome("one_step", "q1", "Ann")], {"one_step": MODEL})])
    found = by_title(tables(comparison))
    assert "Where questions are lost" not in found
    assert "EM" not in found["Scores"]["one_step"]
    assert found["Scores"]["one_step"]["R@15"] == "100.0 [100.0, 100.0]"


def test_a_run_without_a_finished_question_has_tables(tmp_path: Path) -> None:
    comparison = compare_runs([write_run(tmp_path, QUESTIONS, [], {"one_step": MODEL, "migres": MODEL})])
    assert by_title(tables(comparison))["Scores"] == {"one_step": {"n": "0"}, "migres": {"n": "0"}}


HOSTILE = '=cmd|"/c calc"!A1 <script>alert(1)</script> | **b** [x](javascript:1) \n# h `c` &amp;'


def hostile_table() -> Table:
    return Table(
        HOSTILE,
        HOSTILE,
        ["method", HOSTILE],
        [[Cell(HOSTILE, HOSTILE), Cell(-1.5, "-1.5")], [Cell("@x", "@x"), Cell(None, "")]],
    )


def test_csv_text_is_never_a_formula() -> None:
    lines = list(csv.reader(io.StringIO(as_csv("h", [], [hostile_table()]))))
    assert lines[0] == ["table", "dataset", "model", "method", "column", "value", "low95", "high95", "sd", "p", "note"]
    assert lines[1] == [f"'{HOSTILE}", "", "", *[f"'{HOSTILE}"] * 2, "-1.5", "", "", "", "", f"'{HOSTILE}"]
    assert len(lines) == 2


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags = list[str]()
        self.texts = list[str]()
        self.attributes = list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_hostile_texts_are_escaped_in_html() -> None:
    page = as_html(HOSTILE, [HOSTILE], [hostile_table()])
    parsed = _Tags()
    parsed.feed(page)
    assert not {"script", "a", "b", "img", "link"} & set(parsed.tags)
    assert parsed.texts.count(HOSTILE) == 7  # title, heading, note; the table's title, note, head and name
    assert "http" not in page


UNSEEN = "\x1b[31m\u202e\u2066\x07\x9b\u200b"


@pytest.mark.parametrize("write", WRITERS.values())
def test_no_report_has_control_or_direction_characters(write: Any, tmp_path: Path) -> None:
    text = f"a{UNSEEN}b"
    table = Table(text, text, ["method", text], [[Cell(text, text), Cell(1.0, "1.0")]])
    asked = replace(question("q1", text), question=text)
    record = {"question": text, "trace": []}
    run = write_run(tmp_path / "run", [asked], [(outcome("direct", "q1", text), record)], {"direct": MODEL})
    ((_, page),) = question_pages(compare_runs([run]))
    for written in (write(text, [text], [table]), page):
        assert not set(UNSEEN.replace("[31m", "")) & set(written)


def test_hostile_texts_are_escaped_on_question_pages(tmp_path: Path) -> None:
    asked = replace(question("q1", HOSTILE), question=HOSTILE)
    record = {"question": HOSTILE, "trace": []}
    run = write_run(tmp_path / "run", [asked], [(outcome("direct", "q1", HOSTILE), record)], {"direct": MODEL})
    comparison = compare_runs([run])
    ((name, page),) = question_pages(comparison)
    assert name == "0001.html"
    for text in (page, questions_section(comparison, "pages")):
        parsed = _Tags()
        parsed.feed(text)
        assert not {"script", "b", "img", "link", "iframe"} & set(parsed.tags)
        assert all(not each.startswith("on") for each in parsed.attributes)


def test_the_settings_of_each_method_are_in_a_report(tmp_path: Path) -> None:
    made = {"migres": {"model": "openai:<b>m</b>", "max_iterations": 7}, "one_step": {"top_k": 9}}
    parsed = _Tags()
    parsed.feed(settings_section(compare_runs([write_run(tmp_path / "run", QUESTIONS, [], made)])))
    assert "b" not in parsed.tags
    shown = [text.strip() for text in parsed.texts]
    assert shown[shown.index("max_iterations") + 1] == "7"
    assert "openai:<b>m</b>" in shown
    assert "bm25:index" in shown
    row = shown[shown.index("top_k") + 1 :]
    assert "9" in row[:4]


def test_hostile_texts_are_escaped_in_markdown() -> None:
    page = as_markdown(HOSTILE, [HOSTILE], [hostile_table()])
    grid = [line for line in page.splitlines() if line.startswith("| ")]
    assert [line.replace("\\|", "").count("|") for line in grid] == [3, 3, 3, 3]
    for mark in ("<", "*", "[", "`", "#", "&"):
        plain = page.replace(f"\\{mark}", "").replace("# ", "", 1).replace("\n## ", "")
        assert mark not in plain


def test_every_number_is_in_the_csv_unrounded(comparison: Comparison) -> None:
    made = tables(comparison)
    lines = list(csv.DictReader(io.StringIO(as_csv("h", [], made))))
    chosen = {(each["table"], each["method"], each["column"]): each for each in lines}
    em = chosen["Scores", "one_step", "EM"]
    assert float(em["value"]) == pytest.approx(1 / 3)
    assert 0.0 <= float(em["low95"]) <= 1 / 3 <= float(em["high95"]) <= 1.0
    assert len(lines) == sum(cell.value is not None for table in made for row in table.rows for cell in row[1:])
