"""EM and F1 on 200 tricky pairs, against the definitions of HotpotQA's and MuSiQue's scripts, written anew."""

import json
import re
import string
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.apps.evaluation.metrics import EXACT_MATCH, F1

PAIRS: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("official_pairs.jsonl").read_text(encoding="utf-8").split("\n")
    if line
]
CLOSED = ("yes", "no", "noanswer")


def plain(text: str) -> str:
    """Both scripts: small letters, no ASCII punctuation, no article that stands as a word, single spaces."""
    kept = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def harmonic(prediction: list[str], gold: list[str]) -> float:
    same = (Counter(prediction) & Counter(gold)).total()
    if same == 0:
        return 0.0
    precision, recall = same / len(prediction), same / len(gold)
    return 2 * precision * recall / (precision + recall)


def hotpot_em(prediction: str, gold: str) -> float:
    return float(plain(prediction) == plain(gold))


def hotpot_f1(prediction: str, gold: str) -> float:
    one, other = plain(prediction), plain(gold)
    if one != other and (one in CLOSED or other in CLOSED):
        return 0.0
    return harmonic(one.split(), other.split())


def musique_f1(prediction: str, gold: str) -> float:
    """As SQuAD 2.0's script: where either side has no token the value is 1 if both have none."""
    one, other = plain(prediction).split(), plain(gold).split()
    return float(one == other) if not one or not other else harmonic(one, other)


def vanishes(pair: dict[str, Any]) -> bool:
    """Tell whether normalisation leaves nothing of the prediction or of a gold answer."""
    return any(not plain(text) for text in (pair["prediction"], *pair["answers"]))


def is_closed(pair: dict[str, Any]) -> bool:
    return any(plain(text) in CLOSED for text in (pair["prediction"], *pair["answers"]))


def test_there_are_200_pairs_of_every_kind() -> None:
    kinds = Counter(pair["kind"] for pair in PAIRS)
    assert len(PAIRS) >= 200
    assert kinds.keys() == {"articles", "punctuation", "yes_no", "numbers", "unicode", "aliases", "overlap"}
    assert min(kinds.values()) >= 15
    assert sum(vanishes(pair) for pair in PAIRS) < 20


def test_exact_match_is_that_of_both_scripts() -> None:
    for pair in PAIRS:
        if not vanishes(pair):
            official = max(hotpot_em(pair["prediction"], gold) for gold in pair["answers"])
            assert EXACT_MATCH(pair["prediction"], pair["answers"]) == official, pair


def test_f1_is_that_of_hotpotqa() -> None:
    for pair in PAIRS:
        if not vanishes(pair):
            official = max(hotpot_f1(pair["prediction"], gold) for gold in pair["answers"])
            assert F1(pair["prediction"], pair["answers"]) == pytest.approx(official), pair


def test_f1_is_that_of_musique_but_for_yes_and_no() -> None:
    compared = 0
    for pair in PAIRS:
        if not vanishes(pair) and not is_closed(pair):
            compared += 1
            official = max(musique_f1(pair["prediction"], gold) for gold in pair["answers"])
            assert F1(pair["prediction"], pair["answers"]) == pytest.approx(official), pair
    assert compared > 150


@pytest.mark.parametrize(
    ("prediction", "gold", "ours", "official"),
    [("the", "The", 1, 1), ("A", "The", 0, 1), ("!!!", "???", 0, 1), ("a", "?", 0, 1), ("...", "word", 0, 0)],
)
def test_where_normalisation_leaves_nothing_we_compare_what_was_said(
    prediction: str, gold: str, ours: float, official: float
) -> None:
    assert hotpot_em(prediction, gold) == musique_f1(prediction, gold) == official
    assert EXACT_MATCH(prediction, [gold]) == ours


def test_a_closed_answer_matches_whole_or_not_at_all_in_every_data_set() -> None:
    assert F1("no", ["no man"]) == hotpot_f1("no", "no man") == 0.0
    assert musique_f1("no", "no man") == pytest.approx(2 / 3)
    assert EXACT_MATCH("no", ["none"]) == F1("no", ["none"]) == 0.0


@pytest.mark.parametrize(
    ("prediction", "answers", "em", "f1"),
    [
        ("President Kennedy", ["John F. Kennedy", "Jack Kennedy"], 0, 0.5),  # 1 of 2 tokens on both sides
        ("one two three", ["two three four", "three"], 0, 2 / 3),
        ("12 March 1990", ["March 12, 1990"], 0, 1),
        ("1,234,567 people", ["1234567"], 0, 2 / 3),
        ("O\u2019Brien", ["O'Brien"], 0, 0),  # only ASCII signs go
        ("Beyonce\u0301", ["Beyoncé"], 0, 0),  # no Unicode normalisation in the scripts
        ("STRASSE", ["straße"], 0, 0),  # small letters, not folded ones
    ],
)
def test_pairs_worked_by_hand(prediction: str, answers: list[str], em: float, f1: float) -> None:
    assert EXACT_MATCH(prediction, answers) == em
    assert F1(prediction, answers) == pytest.approx(f1)
