"""Comparisons of known runs: means, groups, losses, differences, and refusals."""

from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.comparison import Comparison, compare_runs, run_labels
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.report.run_report import differences_table
from support.hand_made_runs import failed, outcome, question, usage, write_run

QUESTIONS = [
    question("q1", "Ann"),
    question("q2", "Bea"),
    question("q3", "Cid", "comparison", ("g1", "g2", "g3")),
    question("q4", "Dan", "comparison", ("g1", "g2", "g3")),
]
SETTINGS = {"migres": {"model": "openai:m"}, "one_step": {"model": "openai:m"}}


@pytest.fixture
def reader(tmp_path: Path) -> RunReader:
    found = ("g1", "g2", "g3")
    return write_run(
        tmp_path / "run",
        QUESTIONS,
        [
            outcome("migres", "q1", "Ann"),
            outcome("migres", "q2", "Bea"),
            outcome("migres", "q3", "the Cid", found),
            outcome("migres", "q4", "Zoe Dan", found),
            outcome("one_step", "q1", "Ann"),
            outcome("one_step", "q2", "Zoe", ("g1",)),
            outcome("one_step", "q3", "", found),
            failed("one_step", "q4"),
        ],
        SETTINGS,
    )


@pytest.fixture
def comparison(reader: RunReader) -> Comparison:
    return compare_runs([reader])


def test_means_over_all_and_over_some(comparison: Comparison) -> None:
    migres, one_step = comparison.methods
    assert comparison.mean(migres, "em") == 0.75
    assert comparison.mean(migres, "f1") == pytest.approx((3 + 2 / 3) / 4)
    assert comparison.mean(one_step, "em") == 0.25
    assert comparison.mean(one_step, "recall@15") == pytest.approx((1 + 0.5 + 1 + 0) / 4)
    assert comparison.mean(migres, "em", ["q4"]) == 0.0
    assert comparison.mean(migres, "judged") is None
    assert comparison.interval(migres, "judged") is None
    # The calls of a failure are unknown.
    assert comparison.mean(one_step, "llm_calls") == 2.0


def test_questions_are_grouped(comparison: Comparison) -> None:
    assert comparison.groups(lambda each: each.type) == {"bridge": ["q1", "q2"], "comparison": ["q3", "q4"]}
    assert comparison.groups(lambda each: "" if each.id == "q1" else str(each.hop_count)) == {
        "2": ["q2"],
        "3": ["q3", "q4"],
    }


def test_differences_are_paired(comparison: Comparison) -> None:
    (difference,) = comparison.differences(["em"], "one_step")
    assert (difference.name, difference.n, difference.mean) == ("migres", 4, 0.5)
    # Both differing questions have the same sign, so half of all sign assignments are as extreme.
    assert difference.p == pytest.approx(0.5, abs=0.02)
    assert difference.p_holm == difference.p
    assert difference.ci95.low <= 0.5 <= difference.ci95.high
    with pytest.raises(RunError, match="no method 'gold' in these runs; available: migres, one_step"):
        comparison.differences(["em"], "gold")


def test_several_tests_are_corrected_by_holm(tmp_path: Path) -> None:
    many = [question(f"q{number}", "Ann") for number in range(12)]
    answers = {"migres": 12, "ircot": 7, "one_step": 0}
    outcomes = [
        outcome(name, each.id, "Ann" if number < right else "Zoe")
        for name, right in answers.items()
        for number, each in enumerate(many)
    ]
    found = compare_runs([write_run(tmp_path, many, outcomes, {name: {} for name in answers})]).differences(
        ["em"], "one_step"
    )
    best, second = found
    assert [best.name, second.name] == ["migres", "ircot"]
    assert best.p_holm == pytest.approx(2 * best.p)
    assert second.p_holm == max(second.p, best.p_holm)


def test_only_questions_finished_by_both_methods_are_paired(tmp_path: Path) -> None:
    outcomes = [outcome("migres", "q1", "Ann"), outcome("migres", "q2", "Bea"), outcome("one_step", "q1", "Zoe")]
    (difference,) = compare_runs([write_run(tmp_path, QUESTIONS, outcomes, SETTINGS)]).differences(["em"], "one_step")
    assert (difference.n, difference.mean) == (1, 1.0)


@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"answer": "Ann", "usage": usage(parse_failures=1), "stop_reason": "budget"}, "right"),
        ({"answer": "Zoe"}, "answered wrongly"),
        ({"answer": ""}, "not answered"),
        ({"answer": "Zoe", "retrieved": ["g2", "x"]}, "not retrieved"),
        ({"answer": "Zoe", "retrieved": [], "titles": []}, "not retrieved"),
        ({"answer": "Zoe", "retrieved": [], "titles": [], "usage": usage(retrievals=0)}, "answered wrongly"),
        ({"answer": "", "retrieved": ["x"], "usage": usage(parse_failures=1)}, "parse failure"),
        ({"answer": "", "stop_reason": "budget", "usage": usage(parse_failures=1)}, "budget"),
        ({"answer": "", "usage": None, "error": "gone"}, "failed"),
    ],
)
def test_every_wrong_question_has_one_loss(tmp_path: Path, fields: dict[str, object], lost: str) -> None:
    made = outcome("migres", "q1", "")
    made.update(fields)  # pyright: ignore[reportCallIssue, reportArgumentType]
    comparison = compare_runs([write_run(tmp_path, QUESTIONS, [made], {"migres": {}})])
    assert comparison.methods[0].losses == {"q1": lost}


def test_gold_passages_may_be_identified_by_title(tmp_path: Path) -> None:
    made = outcome("migres", "q1", "Zoe", ("other-1", "other-2"), titles=["G2", "G1"])
    comparison = compare_runs([write_run(tmp_path, QUESTIONS, [made], {"migres": {}}, gold_by="titles")])
    assert comparison.methods[0].losses == {"q1": "answered wrongly"}


def test_methods_of_several_runs_are_named_after_the_run(tmp_path: Path) -> None:
    one = write_run(tmp_path / "a" / "run", QUESTIONS, [outcome("migres", "q1", "Ann")], SETTINGS)
    two = write_run(tmp_path / "b" / "run", QUESTIONS, [outcome("migres", "q1", "Zoe")], {"migres": {}})
    names = [method.name for method in compare_runs([one, two]).methods]
    assert names == ["a/run/migres", "one_step", "b/run/migres"]
    with pytest.raises(RunError, match="is listed twice"):
        compare_runs([one, RunReader(tmp_path / "b" / ".." / "a" / "run")])


def test_run_labels_are_as_short_as_possible() -> None:
    assert run_labels([Path("/x/one"), Path("/y/two")]) == ["one", "two"]
    assert run_labels([Path("/one")]) == ["one"]


@pytest.mark.parametrize(
    ("asked", "facts"), [(QUESTIONS[:3], {"sample": "first 3"}), (QUESTIONS, {"name": "other.json"})]
)
def test_runs_over_other_questions_are_refused(
    tmp_path: Path, asked: list[EvalQuestion], facts: dict[str, Any]
) -> None:
    one = write_run(tmp_path / "one", QUESTIONS, [], SETTINGS)
    two = write_run(tmp_path / "two", asked, [], SETTINGS, **facts)
    with pytest.raises(RunError, match=r"two asked other questions \(.*\) than .*one \(hand\.json, all\); compare"):
        compare_runs([one, two])


def test_the_frontier_is_pareto_optimal(tmp_path: Path) -> None:
    """A method as good with fewer calls, or better with as many, dominates; ties stay, the bound is excluded."""
    made = {"one_step": (1, 1), "react": (2, 3), "ircot": (2, 3), "migres": (2, 4), "searchain": (1, 3)}
    made |= {"self_ask": (3, 6), "genground": (3, 7), "gold_passages": (3, 1)}
    outcomes = [
        outcome(name, each.id, (each.answers or ("",))[0] if number < right else "Zoe", usage=usage(calls))
        for name, (right, calls) in made.items()
        for number, each in enumerate(QUESTIONS)
    ]
    comparison = compare_runs([write_run(tmp_path / "run", QUESTIONS, outcomes, {name: {} for name in made})])
    assert [each.name for each in comparison.frontier("llm_calls")] == ["one_step", "react", "ircot", "self_ask"]
    assert comparison.frontier("cost") == []


def test_runs_over_parts_of_a_data_set_are_merged_if_they_agree(tmp_path: Path, reader: RunReader) -> None:
    whole = {name: [*reader.latest(name).values()] for name in SETTINGS}

    def part(name: str, chosen: list[EvalQuestion], settings: dict[str, dict[str, Any]] = SETTINGS) -> RunReader:
        ids = {each.id for each in chosen}
        outcomes = [each for found in whole.values() for each in found if each["id"] in ids]
        return write_run(tmp_path / name, chosen, outcomes, settings, sample=name)

    first, second = part("first", QUESTIONS[:3]), part("second", QUESTIONS[3:])
    merged, alone = compare_runs([first, second]), compare_runs([reader])
    assert [each.rows for each in merged.methods] == [each.rows for each in alone.methods]
    assert [each.losses for each in merged.methods] == [each.losses for each in alone.methods]
    facts = merged.methods[0].reader.manifest.dataset
    assert (facts.sample, facts.questions) == ("first and second", 4)
    assert len(compare_runs([first, second, reader]).methods) == 4, "a whole run beside its parts is another run"
    with pytest.raises(RunError, match="other questions"):
        compare_runs([first, part("other", QUESTIONS[3:], {"one_step": {"model": "openai:n"}})])


def test_only_differing_settings_are_listed(tmp_path: Path) -> None:
    settings = {name: {**each, "seed": 1} for name, each in SETTINGS.items()}
    settings["migres"]["max_iterations"] = 2
    runs = [
        write_run(tmp_path / f"run-{number}", QUESTIONS, [], each) for number, each in enumerate((SETTINGS, settings))
    ]
    table = differences_table(runs)
    assert table.columns == ["run", "max_iterations", "seed"]
    assert [[cell.text for cell in row] for row in table.rows] == [["run-0", "5", ""], ["run-1", "2", "1"]]
    assert differences_table(runs[:1]).rows == []
