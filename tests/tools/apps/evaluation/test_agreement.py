import pytest

from hopgraph.tools.apps.evaluation.metrics import measure_agreement


def test_kappa_worked_by_hand() -> None:
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    found = measure_agreement(pairs)
    assert (found.n, found.accuracy) == (50, pytest.approx(0.7))
    assert found.kappa == pytest.approx(0.4)  # chance agrees on 0.5 * 0.6 + 0.5 * 0.4


def test_kappa_is_one_for_the_same_verdicts_and_minus_one_for_opposite_ones() -> None:
    assert measure_agreement([(True, True), (False, False)]).kappa == 1.0
    assert measure_agreement([(True, False), (False, True)]).kappa == -1.0


def test_kappa_is_not_told_where_chance_agrees_always() -> None:
    assert measure_agreement([(True, True)] * 3) == (3, 1.0, None)
