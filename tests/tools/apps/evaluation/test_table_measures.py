"""Measures from a run's steps, checked by hand and in small runs of table rows."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import StepEvent
from hopgraph.state.events import Filtered, KeptExcerpt, QuerySent, Recalled, Retrieved, Shortened, United
from hopgraph.tools.apps.cli.evaluation.reproduce_command import ReproduceOptions, run_reproduce
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, RunWriter, compress_record
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion, GoldHop
from hopgraph.tools.apps.evaluation.reproduce.table_measures import (
    COUNTS,
    MEANS,
    SHARES,
    TracedAnswer,
    measure_run,
)
from support.evaluation_runs import outcome, written_run
from support.step_events import sparse_event, step_event

HOPS = (GoldHop("Who directed Blue Hour?", "Ann Berg", ()), GoldHop("Where was #1 born?", "Oslo", ()))
QUESTION = EvalQuestion("q", "Where was the director of Blue Hour born?", ("Oslo",), gold=("p1", "p2"), hops=HOPS)


def sent(query: str, hop: int, *found: str) -> list[StepEvent]:
    titles = [f"title of {each}" for each in found]
    retrieved = Retrieved(query=query, passage_ids=[*found], titles=titles, scores=[1.0] * len(found))
    return [step_event(QuerySent(query=query, why="", hop=hop)), step_event(retrieved)]


def kept(query: str, *ids: str) -> StepEvent:
    excerpts = [
        KeptExcerpt(passage_id=each, title="", score=1.0, spans=[], sentences=1, whole=False, text="") for each in ids
    ]
    return step_event(Filtered(query=query, threshold=None, passages_in=9, sentences_in=9, kept=excerpts))


def answered(
    trace: list[StepEvent], question: EvalQuestion = QUESTION, answer: str = "Oslo", *, by_title: bool = False
) -> TracedAnswer:
    gold = [f"title of {each}" for each in question.gold] if by_title else question.gold
    return TracedAnswer(question, outcome("q", answer), trace, gold, by_title)


def test_passages_of_an_iteration_are_counted_over_all_its_queries() -> None:
    first = [*sent("a", 1, "p1", "p2", "p3"), kept("a", "p1")]
    second = [*sent("b", 2, "p1", "p2"), *sent("c", 2, "p2", "p3"), kept("b", "p1", "p2"), kept("c", "p2")]
    assert MEANS["passages_per_iteration"](answered([*first, *second])) == (3, 2)
    assert MEANS["passages_per_iteration"](answered(first[:2])) == (3, 1)
    assert MEANS["passages_per_iteration"](answered([])) == (0, 0)


@pytest.mark.parametrize("by_title", [False, True])
def test_the_reader_saw_the_last_remaining_passages(by_title: bool) -> None:
    plain = sent("a", 1, "p1", "p8", "p9", "p7")
    united = [
        *plain,
        kept("a", "p1"),
        *sent("b", 1, "p2"),
        kept("b", "p2"),
        step_event(United(passage_ids=["p1", "p2"])),
    ]
    turns = [*plain, *sent("b", 2, "p2", "p9")]
    for trace, precision, recall, same in ((plain, 0.25, 0.5, 0), (united, 1, 1, 1), (turns, 0.5, 0.5, 0)):
        seen = answered(trace, by_title=by_title)
        found = [SHARES[f"shown_{name}"](seen) for name in ("precision", "recall", "s_precision")]
        assert found == [(precision, 1), (recall, 1), (same, 1)]
    emptied = [*united, kept(QUESTION.question)]  # the filter over the union
    assert SHARES["shown_precision"](answered(emptied)) == (0, 1)
    assert SHARES["shown_precision"](answered(plain, replace(QUESTION, gold=()))) == (0, 0)


def test_recalled_texts_are_right_if_they_contain_any_sub_answer() -> None:
    texts = ("It was directed by Ann Berg.", "She lives in Oslo.", "Osloers are many.")
    trace = [step_event(Recalled(query="a", known=True, text=text)) for text in texts]
    trace.append(step_event(Recalled(query="b", known=False, text="")))
    assert SHARES["recalled_right"](answered(trace)) == (2, 3)
    one_hop = EvalQuestion("n", "Where?", ("Oslo",))
    assert SHARES["recalled_right"](answered(trace, one_hop)) == (1, 3)


def test_hops_are_judged_if_there_are_sub_answers() -> None:
    def judged(*hops: tuple[str, str], question: EvalQuestion = QUESTION) -> list[tuple[float, float]]:
        trace = [
            sparse_event("revised", {"hop": number, "generated": before, "answer": after})
            for number, (before, after) in enumerate(hops, 1)
        ]
        names = ("success", "answered_directly", "revised", "failure", "misled")
        return [SHARES[name](answered(trace, question)) for name in names]

    right = ("Ann Berg", "Ann Berg")
    assert judged(right, ("Bergen", "in Oslo"), ("Rome", "Rome")) == [(2, 3), (1, 3), (1, 3), (1, 3), (0, 3)]
    assert judged(("Ann Berg", ""), ("Oslo", "Oslo")) == [(1, 2), (1, 2), (0, 2), (0, 2), (1, 2)]
    assert judged(right, right)[:4] == [(1, 2), (1, 2), (0, 2), (1, 2)]  # the answer to a step counts once
    assert judged(right, question=replace(QUESTION, hops=())) == [(0, 0)] * 5


def test_a_tree_counts_its_questions_and_the_module_that_settled_the_root() -> None:
    parts = [{"id": "0.1", "question": "a"}, {"id": "0.2", "question": "b"}]
    trace = [
        sparse_event("tree_started", {"id": "0"}),
        sparse_event("decomposed", {"id": "0", "sub_questions": parts}),
        sparse_event("question_settled", {"id": "0.1", "how": "known"}),
        sparse_event("question_settled", {"id": "0.2", "how": "unsolved"}),
        sparse_event("composed", {"id": "0", "how": "composed"}),
    ]
    assert MEANS["questions"](answered(trace)) == (3, 1)
    for ending, module in (({"how": "composed"}, "decomposition"), ({"how": "known"}, "self-knowledge")):
        made = answered([*trace[:-1], sparse_event("composed", {"id": "0", **ending})])
        assert {name for name in SHARES if name.startswith("workload") and SHARES[name](made).of} == {
            f"workload {module}"
        }
        assert COUNTS[f"right {module}"](made) == (1, 1)
        wrong = TracedAnswer(QUESTION, outcome("q", "Rome"), made.trace, (), by_title=False)
        assert COUNTS[f"right {module}"](wrong) == (0, 1)
    assert SHARES["workload decomposition"](answered(trace[:-1])) == (1, 1)  # the budget ended it


def test_a_review_tree_counts_its_paragraphs_and_its_evidence() -> None:
    nodes = [[{"id": f"0.{key}", "passage_ids": [key]} for key in level] for level in ("abc", "cd", "a")]
    trace = [
        *(sparse_event(kind, {"nodes": each}) for kind, each in zip(("grown", "grown", "pruned"), nodes, strict=True)),
        *(sparse_event("reviewed", {"verdict": each}) for each in ("accept", "search", "accept", "reject")),
    ]
    own = answered(trace)
    assert (MEANS["documents"](own), MEANS["evidence"](own)) == ((4, 1), (2, 1))
    usage = outcome("q", "Oslo")["usage"]
    assert usage
    calls: Any = replace(own, outcome={**own.outcome, "usage": {**usage, "llm_calls": 8}})
    assert SHARES["documents_per_call"](calls) == (4, 8)


def test_the_best_repeat_counts_and_failures_are_ignored(tmp_path: Path) -> None:
    outcomes = [outcome("q", "Rome"), outcome("q", "Oslo", repeat=1), outcome("r", error="lost")]
    run = written_run(tmp_path, [QUESTION, replace(QUESTION, id="r")], outcomes, repeats=2)
    assert measure_run(run, "one_step", ["best_em", "em", "questions"]) == {"best_em": 0.5}
    assert measure_run(run, "one_step", ["em"]) == {}


def test_samples_count_as_answers(tmp_path: Path) -> None:
    empty = written_run(tmp_path, [QUESTION], [], methods=["blendfilter"])
    steps = [step_event(Shortened(sampled=["Rome", "Oslo", ""]))]
    with RunWriter(tmp_path, empty.manifest, [QUESTION]) as writer:
        writer.add(outcome("q", "Rome", method="blendfilter"), compress_record({"trace": steps}))
    run = RunReader(tmp_path)
    assert measure_run(run, "blendfilter", ["best_em", "best_f1"]) == {"best_em": 1.0, "best_f1": 1.0}
    assert summarize_run(run)["blendfilter"]["em"] == 0.0


def rows_of(name: str, dataset: Path, out: Path, **options: object) -> list[dict[str, str]]:
    """Run a table with a rehearsal model, and return its rows."""
    model = f"rehearsal:{dataset}"
    run_reproduce(ReproduceOptions(name, dataset, model=model, out=out, limit=4, **options))  # pyright: ignore[reportArgumentType]
    with (out / "reproduction.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["column"].endswith(" ours")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "heads"),
    [
        pytest.param("migres/table4", {"# Passages per iteration ours"}, marks=pytest.mark.long),
        pytest.param("blendfilter/figure2", {"Precision ours", "S-Precision ours"}, marks=pytest.mark.long),
        ("ra_isf/table4", {"Sub ours"}),
        ("tor/table6", {"#Doc ours", "Rate ours", "#Evidence ours"}),
        ("ra_isf/table7", {"WR ours", "Corr ours"}),
        ("genground/figure5", {"Success rate ours", "revised ours", "Error rate ours"}),
    ],
)
def test_a_run_fills_the_columns_of_its_table(name: str, heads: set[str], films: Path, tmp_path: Path) -> None:
    rows = rows_of(name, films, tmp_path)
    assert heads <= {row["column"] for row in rows}
    assert all(row["value"] for row in rows if "not run" not in row["method"])


@pytest.mark.long
def test_a_mean_of_three_runs_asks_each_question_three_times(films: Path, tmp_path: Path) -> None:
    options = ReproduceOptions("genground/table4", films, model=f"rehearsal:{films}", out=tmp_path, limit=1)
    run_reproduce(options)
    runs = [RunReader(results.parent) for results in tmp_path.glob("*/results")]
    assert len(runs) == 3
    for run in runs:
        assert sorted(key.repeat for key in run.latest("genground")) == [0, 1, 2]
