"""Recall and precision on random rankings, against the independent library `ir_measures`."""

import importlib
import random
from typing import Any

import pytest

from hopgraph.tools.apps.evaluation.metrics import PRECISION, RECALL, recall_at

pytest.importorskip("ir_measures", reason="needs the models-dev extra")


def test_recall_and_precision_equal_those_of_ir_measures() -> None:
    ir_measures: Any = importlib.import_module("ir_measures")
    chance, names = random.Random(5), [f"p{number}" for number in range(40)]
    gold = {f"q{number}": chance.sample(names, chance.randint(1, 6)) for number in range(200)}
    ranked = {query: chance.sample(names, chance.randint(1, 30)) for query in gold}
    qrels = {query: dict.fromkeys(each, 1) for query, each in gold.items()}
    run = {query: {name: float(-place) for place, name in enumerate(each)} for query, each in ranked.items()}
    ours = {
        **{str(ir_measures.R @ k): recall_at(k) for k in (2, 5, 10, 15)},
        str(ir_measures.SetP): PRECISION,
        str(ir_measures.SetR): RECALL,
    }
    measures = [ir_measures.parse_measure(name) for name in ours]
    values = list(ir_measures.iter_calc(measures, qrels, run))
    assert len(values) == len(gold) * len(ours)
    for each in values:
        metric = ours[str(each.measure)]
        assert metric(ranked[each.query_id], gold[each.query_id]) == pytest.approx(each.value), each
