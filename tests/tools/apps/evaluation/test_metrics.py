import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.apps.evaluation.metrics import (
    COVER_EM,
    EXACT_MATCH,
    F1,
    PRECISION,
    S_PRECISION,
    normalize_answer,
    recall_at,
)

ANSWER_METRICS = (EXACT_MATCH, F1, COVER_EM)
# Few letters, so that texts often share tokens, and everything that normalization treats specially.
texts = st.one_of(
    st.text("ab c.", max_size=12),
    st.lists(st.sampled_from(["a", "The", "an", "yes", "no", "noanswer", "b.b", "c", "?", "1,000"])).map(" ".join),
)
ids = st.lists(st.sampled_from("abcdef"), max_size=8)


@pytest.mark.parametrize(
    ("prediction", "answers", "em", "f1", "cover"),
    [
        ("The Eiffel Tower!", ["eiffel  tower"], 1, 1, 1),
        ("Tim Burton", ["Burton", "tim burton"], 1, 1, 1),
        ("film director Tim Burton", ["Tim Burton"], 0, 2 * 2 / (4 + 2), 1),
        ("in 1994", ["1994 in London"], 0, 2 * 2 / (2 + 3), 0),
        ("b b c", ["b c c"], 0, 2 * 2 / (3 + 3), 0),
        ("New Yorker", ["New York"], 0, 0.5, 0),
        ("1,000", ["1000"], 1, 1, 1),
        ("yes", ["yes, they were"], 0, 0, 0),
        ("yes, they were", ["yes"], 0, 0, 1),
        ("Yes.", ["yes"], 1, 1, 1),
        ("noanswer here", ["noanswer"], 0, 0, 1),
        ("Paris", ["Rome"], 0, 0, 0),
        ("", ["Rome"], 0, 0, 0),
        ("Rome", [], 0, 0, 0),
        ("", [], 1, 1, 1),
        (" ", ["", "\n"], 1, 1, 1),
        ("Rome", ["", "Rome"], 1, 1, 1),
        ("A", ["The"], 0, 0, 0),
        ("A", ["a"], 1, 1, 1),
        ("?", ["!"], 0, 0, 0),
        ("a", ["?"], 0, 0, 0),
        ("...", ["word"], 0, 0, 0),
        ("no", ["no man"], 0, 0, 0),  # MuSiQue's script gives 2/3
        ("no", ["none"], 0, 0, 0),
        ("President Kennedy", ["John F. Kennedy", "Jack Kennedy"], 0, 0.5, 0),  # 1 of 2 tokens on both sides
        ("12 March 1990", ["March 12, 1990"], 0, 1, 0),
    ],
)
def test_answers_worked_by_hand(prediction: str, answers: list[str], em: float, f1: float, cover: float) -> None:
    assert EXACT_MATCH(prediction, answers) == em
    assert F1(prediction, answers) == pytest.approx(f1)
    assert COVER_EM(prediction, answers) == cover


def test_normalization_equals_squads() -> None:
    assert normalize_answer(" An  apple, the\tpie & a-la  MODE.") == "apple pie ala mode"
    assert normalize_answer("The a An") == ""


@given(texts, texts)
def test_exact_match_and_f1_are_symmetric(one: str, other: str) -> None:
    assert EXACT_MATCH(one, [other]) == EXACT_MATCH(other, [one])
    assert F1(one, [other]) == F1(other, [one])


@given(texts.filter(str.strip), st.lists(texts.filter(str.strip), min_size=1, max_size=3), texts.filter(str.strip))
def test_another_gold_answer_never_lowers_a_score(prediction: str, answers: list[str], more: str) -> None:
    for metric in ANSWER_METRICS:
        assert metric(prediction, [*answers, more]) == max(metric(prediction, answers), metric(prediction, [more]))


def test_recall_and_precision_worked_by_hand() -> None:
    ranked = ["a", "b", "a", "c", "d"]
    assert recall_at(1)(ranked, ["a", "c"]) == 0.5
    assert recall_at(2)(ranked, ["a", "c"]) == 0.5
    assert recall_at(3)(ranked, ["a", "c"]) == 1.0  # the duplicate "a" is ignored
    assert recall_at(5)([], ["a"]) == 0.0
    assert recall_at(5)(ranked, []) == 1.0
    assert PRECISION(ranked, ["a", "c"]) == 0.5
    assert PRECISION([], ["a"]) == 0.0
    assert PRECISION([], []) == 1.0


@given(ids, ids, st.integers(1, 8))
def test_ranking_metrics_are_bounded_and_recall_grows_with_k(ranked: list[str], gold: list[str], k: int) -> None:
    assert 0 <= recall_at(k)(ranked, gold) <= recall_at(k + 1)(ranked, gold) <= 1
    assert 0 <= PRECISION(ranked, gold) <= 1


@given(ids, st.permutations("abcdef"), st.integers(1, 8))
def test_order_and_repeats_of_the_gold_ids_do_not_matter(ranked: list[str], gold: list[str], k: int) -> None:
    some = gold[:3]
    assert recall_at(k)(ranked, some) == recall_at(k)(ranked, [*reversed(some), *some])


def test_s_precision_is_all_or_nothing() -> None:
    assert S_PRECISION(["b", "a", "b"], ["a", "b"]) == 1.0
    assert S_PRECISION(["a"], ["a", "b"]) == S_PRECISION(["a", "b", "c"], ["a", "b"]) == S_PRECISION([], ["a"]) == 0.0
