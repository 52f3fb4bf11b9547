"""Scores and sums of a run, on hand-made outcomes."""

import re
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import pytest

from hopgraph.state import Usage
from hopgraph.tools.apps.evaluation.batch.scores import deviation, gap_closed, score_outcome, summarize_run
from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldSentence
from hopgraph.tools.apps.evaluation.report.tables import tables
from support.evaluation_runs import citation, outcome, written_run

ANN = EvalQuestion(
    "q1",
    "Who wrote it?",
    ("Ann Lee",),
    "bridge",
    ("p1", "p2"),
    ("Book", "Lee"),
    sentences=(GoldSentence("p1", "Ann wrote it."), GoldSentence("p2", "Lee is Ann's name.")),
    contexts=(ContextPassage("p1", "Book", "x Ann wrote it."), ContextPassage("p2", "Lee", "Lee is Ann's name. y")),
)
NOBODY = EvalQuestion("q2", "Who wrote nothing?", (), "", ("p1",), ("Book",))


def test_an_answer_is_scored_with_its_evidence() -> None:
    cited = [citation("p1", "Ann wrote it. And more."), citation("p9", "Beside the point.")]
    given = outcome("q1", "Ann Lee", retrieved=["p1", "p9", "p8"], citations=cited)
    scores = score_outcome(given, ANN, "ids")
    assert (scores["em"], scores["f1"], scores["acc"], scores["grounded_em"]) == (1, 1, 1, 1)
    assert (scores["recall@2"], scores["recall@15"], scores["precision"]) == (0.5, 0.5, pytest.approx(1 / 3))
    assert scores["s_precision"] == 0.0
    assert (scores["sentence_precision"], scores["sentence_recall"]) == (0.5, 0.5)


def test_precision_counts_only_the_passages_retrieved() -> None:
    scores = score_outcome(outcome("q1", "no idea", retrieved=["p2", "p1"]), ANN, "ids")
    assert [scores[f"recall@{k}"] for k in (2, 5, 10, 15)] == [1, 1, 1, 1]
    assert (scores["precision"], scores["s_precision"]) == (1, 1)
    assert (scores["sentence_precision"], scores["sentence_recall"]) == (0, 0)


def test_sentences_are_matched_by_title_if_the_corpus_has_other_ids() -> None:
    found = outcome(
        "q1", "Ann", citations=[citation("d7", "Lee is Ann's name.", "Lee"), citation("d8", "Ann wrote it.")]
    )
    scores = score_outcome(found, ANN, "titles")
    assert (scores["sentence_precision"], scores["sentence_recall"]) == (0.5, 0.5)
    assert "sentence_recall" not in score_outcome(found, ANN, "none")


def test_a_quote_matches_every_sentence_it_overlaps_and_own_knowledge_matches_none() -> None:
    two = replace(ANN, sentences=(GoldSentence("p1", "Ann wrote it."), GoldSentence("p1", "So did Bo.")))
    cited = [citation("p1", "Ann wrote it.  So did Bo."), citation("", "Ann wrote it.", kind="model")]
    scores = score_outcome(outcome("q1", "Ann", citations=cited), two, "ids")
    assert (scores["sentence_precision"], scores["sentence_recall"]) == (1, 1)


@pytest.mark.parametrize(
    ("answer", "citations", "grounded"),
    [
        ("Ann Lee", [citation("p9", "x")], 0.0),
        ("Ann Lee", [], 0.0),
        ("Ann Lee", [citation("p2", "x", kind="model")], 0.0),
        ("Ann Lee", [citation("p2", "x")], 1.0),
        ("Bo", [citation("p2", "x")], 0.0),
    ],
)
def test_an_answer_counts_as_grounded_when_a_gold_passage_is_cited(
    answer: str, citations: list[object], grounded: float
) -> None:
    assert score_outcome(outcome("q1", answer, citations=citations), ANN, "ids")["grounded_em"] == grounded


def test_only_an_abstention_is_right_for_an_unanswerable_question() -> None:
    right, wrong = outcome("q2"), outcome("q2", "Ann", citations=[citation("p1", "x")])
    failed = outcome("q2", error="no connection", stop_reason="failed")
    for name in ("em", "f1", "grounded_em", "grounded_f1"):
        assert [score_outcome(each, NOBODY, "ids")[name] for each in (right, wrong, failed)] == [1, 0, 0]


def test_without_gold_passages_the_entailment_checker_decides() -> None:
    bare = EvalQuestion("q", "Who?", ("Ann",), "", (), ())
    values = [
        score_outcome(outcome("q", "Ann", supported=said), bare, "ids")["grounded_f1"] for said in (True, False, None)
    ]
    assert values == [1, 0, 0]
    assert "recall@5" not in score_outcome(outcome("q", "Ann"), bare, "ids")


def test_a_failure_scores_0_and_its_unknown_cost_is_ignored(tmp_path: Path) -> None:
    reader = written_run(tmp_path, [ANN, NOBODY], [outcome("q1", error="lost", stop_reason="failed"), outcome("q2")])
    summary = summarize_run(reader)["one_step"]
    assert (summary["n"], summary["failed"], summary["em"]) == (2, 1, 0.5)
    assert summary["llm_calls"] == 1.0  # of the one whose calls are known


def test_repeats_are_averaged_within_a_question_and_failures_counted_by_question(tmp_path: Path) -> None:
    usage = {**dict.fromkeys(get_type_hints(Usage), 0), "llm_calls": 3, "parse_failures": 2}
    outcomes = [
        outcome("q1", "Ann Lee", repeat=0, usage=usage),
        outcome("q1", error="lost", repeat=1),
        outcome("q1", "Bo", repeat=2, usage=usage),
        outcome("q2", repeat=0),
    ]
    summary = summarize_run(written_run(tmp_path, [ANN, NOBODY], outcomes, repeats=3))["one_step"]
    assert summary["n"] == 2
    assert summary["em"] == pytest.approx((1 / 3 + 1) / 2)
    assert (summary["failed"], summary["parse_failures"]) == (1, 4)
    assert summary["llm_calls"] == pytest.approx((3 + 1) / 2)


def test_the_deviation_over_repeats_covers_their_common_questions(tmp_path: Path) -> None:
    other = replace(ANN, id="q3")
    answers = {"q1": ["Ann Lee", "Bo", "Bo"], "q2": ["", "", "Bo"], "q3": ["Ann Lee", "Ann Lee"]}
    outcomes = [outcome(name, said, repeat=n) for name, each in answers.items() for n, said in enumerate(each)]
    run = written_run(tmp_path, [ANN, NOBODY, other], outcomes, repeats=3)
    summary = summarize_run(run)["one_step"]
    assert summary["sd"]["em"] == pytest.approx(0.5)  # of 1, 1/2 and 0 on q1 and q2
    (scored,) = compare_runs([run]).methods
    assert deviation(scored.repeats, "em", ["q3"]) is None
    assert deviation(scored.repeats[:2], "em", ["q1", "q3"]) == pytest.approx(0.5**1.5)
    scores = next(each for each in tables(compare_runs([run])) if each.title.startswith("Scores"))
    cell = scores.rows[0][scores.columns.index("EM")]
    assert (cell.sd, cell.brief) == (pytest.approx(0.5), "66.7 ± 50.0")
    assert "sd" not in summarize_run(written_run(tmp_path / "once", [ANN], [outcome("q1", "Bo")]))["one_step"]


def test_the_gap_is_measured_on_the_common_finished_questions(tmp_path: Path) -> None:
    names = ("one_step", "gold_passages", "migres")
    questions = [EvalQuestion(f"q{n}", "Who?", ("Ann",), "", ("p",), ("P",)) for n in range(4)]
    right = {"one_step": {0}, "gold_passages": {0, 1, 2}, "migres": {0, 1, 3}}
    done = {"one_step": range(4), "gold_passages": range(3), "migres": range(4)}
    outcomes = [outcome(f"q{n}", "Ann" if n in right[m] else "Bo", method=m) for m in names for n in done[m]]
    summary = summarize_run(written_run(tmp_path, questions, outcomes, methods=names))
    assert summary["migres"]["f1"] == 0.75
    assert summary["migres"]["gap_closed"] == pytest.approx(0.5)  # of the first three: 2 of 3, between 1 and 3
    assert (summary["one_step"]["gap_closed"], summary["gold_passages"]["gap_closed"]) == (0, 1)


def test_the_gap_has_an_interval_and_a_deviation_over_repeats(tmp_path: Path) -> None:
    names = ("one_step", "gold_passages", "migres")
    questions = [EvalQuestion(f"q{n}", "Who?", ("Ann",), "", ("p",), ("P",)) for n in range(4)]
    right = {"one_step": [{0}, {0}], "gold_passages": [{0, 1, 2, 3}] * 2, "migres": [{0, 1}, {0, 1, 2}]}
    outcomes = [
        outcome(f"q{n}", "Ann" if n in right[method][repeat] else "Bo", method=method, repeat=repeat)
        for method in names
        for repeat in range(2)
        for n in range(4)
    ]
    run = written_run(tmp_path, questions, outcomes, methods=names, repeats=2)
    scores = next(each for each in tables(compare_runs([run])) if each.title.startswith("Scores"))
    own = {row[0].text: row[scores.columns.index("gap closed")] for row in scores.rows}
    assert own["migres"].value == pytest.approx(0.5)  # a third, then two thirds
    assert own["migres"].sd == pytest.approx(2**-0.5 / 3)
    assert re.fullmatch(r"50\.0 ± 23\.6 \[\d+, \d+\]", own["migres"].text)
    assert (own["one_step"].text, own["gold_passages"].text) == ("0.0", "100.0")


def test_there_is_no_gap_without_both_ends_or_a_better_bound() -> None:
    rows = {"one_step": {"q": {"f1": 1.0}}, "gold_passages": {"q": {"f1": 1.0}}, "migres": {"q": {"f1": 1.0}}}
    assert gap_closed(rows, "migres") is None
    assert gap_closed({"one_step": rows["one_step"]}, "one_step") is None


def test_a_method_without_answers_has_only_its_count(tmp_path: Path) -> None:
    summary = summarize_run(written_run(tmp_path, [ANN], [outcome("q1", "Ann Lee")], methods=("one_step", "direct")))
    assert summary["direct"] == {"n": 0}
