"""Question samples, statistics and prices."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state import SettingsError
from hopgraph.tools.apps.evaluation.cost_estimate import read_prices
from hopgraph.tools.apps.evaluation.datasets import QuestionSample, parse_sample, select_questions
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.significance import bootstrap, permutation_test
from support.paths import ROOT

QUESTIONS = [EvalQuestion(f"q{n}", f"Question {n}?", (), "", (), ()) for n in range(50)]


def ids(sample: QuestionSample, questions: list[EvalQuestion] | None = None) -> list[str]:
    return [question.id for question in select_questions(iter(questions or QUESTIONS), sample)]


def test_a_limit_selects_the_first_questions() -> None:
    assert ids(QuestionSample(3)) == ["q0", "q1", "q2"]
    assert len(ids(QuestionSample())) == 50


def test_a_random_sample_is_independent_of_file_order_and_nested_across_limits() -> None:
    drawn = ids(QuestionSample(10, seed=7))
    assert drawn == ids(QuestionSample(10, seed=7), QUESTIONS[::-1])
    assert ids(QuestionSample(4, seed=7)) == drawn[:4]
    assert len(set(drawn)) == 10
    assert ids(QuestionSample(10, seed=8)) != drawn


def test_skipped_questions_are_never_sampled() -> None:
    assert ids(QuestionSample(3, skip=5)) == ["q5", "q6", "q7"]
    assert len(ids(QuestionSample(skip=40))) == 10
    assert ids(QuestionSample(50, seed=7, skip=40)) == ids(QuestionSample(50, seed=7), QUESTIONS[40:])
    assert ids(QuestionSample(skip=50)) == []


def test_questions_by_id_must_exist() -> None:
    assert ids(QuestionSample(ids=("q9", "q2"))) == ["q2", "q9"]
    with pytest.raises(SettingsError, match="no question has the id 'q99'"):
        ids(QuestionSample(ids=("q9", "q99")))


@pytest.mark.parametrize(
    ("text", "limit", "chosen", "message"),
    [
        ("random", 3, (), "use first, or random:SEED"),
        ("random:x", 3, (), "use first"),
        ("first:3", 3, (), "use first"),
        ("random:1", None, (), "needs --limit"),
        ("first", 3, ("q1",), "either by id, or by"),
        ("random:1", None, ("q1",), "either by id, or by"),
    ],
)
def test_invalid_samples_are_refused(text: str, limit: int | None, chosen: tuple[str, ...], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_sample(text, limit, chosen)
    with pytest.raises(SettingsError, match="either by id, or by --limit, --skip and --sample"):
        parse_sample(None, None, ["q1"], 3)


def test_samples_are_described_in_words() -> None:
    named = [
        parse_sample(None, None),
        parse_sample("first", 3),
        parse_sample("random:7", 5),
        parse_sample(None, None, ["a"]),
        parse_sample("random:7", 5, skip=500),
        parse_sample(None, None, skip=500),
    ]
    assert [str(sample) for sample in named] == [
        "all",
        "first 3",
        "5 at random (seed 7)",
        "1 by id",
        "5 at random (seed 7) after the first 500",
        "all after the first 500",
    ]


def test_the_bootstrap_interval_approaches_the_normal_one_for_many_values() -> None:
    values = np.random.default_rng(1).normal(10, 2, 400)
    low, high = bootstrap(values.tolist())
    assert (low, high) == pytest.approx((values.mean() - 1.96 * 0.1, values.mean() + 1.96 * 0.1), abs=0.03)
    assert bootstrap([3.0]) == (3.0, 3.0)


def test_the_permutation_test_matches_the_exact_sign_counts() -> None:
    # Of the 2^8 signs of eight equal differences two are as extreme as those observed.
    assert permutation_test([1.0] * 8) == pytest.approx(2 / 256, abs=0.003)
    assert permutation_test([1.0, -1.0] * 10) == 1.0
    assert permutation_test([0.0, 0.0]) == 1.0


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40))
def test_a_p_value_is_positive_at_most_1_and_reproducible(differences: list[float]) -> None:
    found = permutation_test(differences, resamples=200)
    assert 0 < found <= 1
    assert found == permutation_test(differences, resamples=200)


def test_the_longest_matching_prefix_determines_the_price(tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text(
        '["openai:gpt"]\nprompt = 1\ncompletion = 2\n["openai:gpt-mini"]\nprompt = 0.5\ncompletion = 4.0\n'
    )
    prices = read_prices(table)
    assert prices.price("openai:gpt-5", 1_000_000, 1_000_000) == 3
    assert prices.price("openai:gpt-mini-2026", 1_000_000, 500_000) == 2.5
    assert prices.price("offline:extractive", 10, 10) == 0
    assert prices.knows("openai:gpt-5")
    assert not read_prices(None)
    example = read_prices(ROOT / "examples" / "prices.toml")
    assert example.price("openai:gpt-4.1-mini-2025-04-14", 1_000_000, 1_000_000) == 2.0
    assert example.price("openai:my-own", 1_000_000, 1_000_000) == 0
    assert example.knows("openai:my-own")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\nprompt = 1", "a.completion: Field required"),
        ("[a]\nprompt = -1\ncompletion = 0", "greater than or equal to 0"),
        ("[a", "prices.toml: cannot be read: Expected"),
    ],
)
def test_invalid_price_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    table = tmp_path / "prices.toml"
    table.write_text(text)
    with pytest.raises(SettingsError, match=message):
        read_prices(table)
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_prices(tmp_path / "none.toml")
