"""The default number of processes."""

import os
from typing import Any

import pytest

from hopgraph.graphs import blendfilter, migres
from hopgraph.state import Context
from hopgraph.tools.apps.evaluation.batch.local_engine import QUESTIONS_PER_PROCESS, choose_process_count
from hopgraph.tools.models.offline import RuleBasedModel
from hopgraph.tools.retrieval.resolve import resolve_retriever

MANY = 100_000
SERVED = migres.Context(
    model="openai:any?base_url=http://127.0.0.1:1/v1", retriever="bm25:index", max_parallel_calls=256
)


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(8)), raising=False)


@pytest.mark.parametrize(
    ("concurrency", "questions", "processes"),
    [(1, MANY, 1), (31, MANY, 1), (32, MANY, 2), (64, MANY, 4), (1000, MANY, 8), (64, 0, 1), (64, 40, 2)],
)
def test_one_process_per_sixteen_questions_up_to_the_number_of_cores(
    concurrency: int, questions: int, processes: int
) -> None:
    models = {"migres/decide": "openai:other?base_url=http://127.0.0.1:1/v1"}
    for settings in (SERVED, SERVED.model_copy(update={"models": models})):
        assert choose_process_count({"migres": settings}, concurrency, questions) == processes


@pytest.mark.parametrize(("calls", "processes"), [(40, 2), (1, 1)])
def test_concurrent_calls_limit_the_number_of_processes(calls: int, processes: int) -> None:
    few = SERVED.model_copy(update={"max_parallel_calls": calls})
    assert choose_process_count({"migres": SERVED, "other": few}, 200, MANY) == processes


def test_tracing_uses_a_single_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopgraph.tools.apps.evaluation.batch.local_engine.tracing_is_enabled", lambda: True)
    assert choose_process_count({"migres": SERVED}, 64, MANY) == 1


@pytest.mark.parametrize(
    "loaded",
    [
        {"reranker": "bge:BAAI/bge-reranker-base"},
        {"entailment": "nli:cross-encoder/nli-deberta-v3-base"},
        {"retriever": "faiss:index"},
        {"second_retriever": "hybrid:index"},
        {"retriever": resolve_retriever("sample")},
        {"model": RuleBasedModel()},
        {"models": {"migres/decide": RuleBasedModel()}},
    ],
    ids=lambda loaded: next(iter(loaded)),
)
def test_models_loaded_in_process_use_a_single_process(loaded: dict[str, Any]) -> None:
    methods: dict[str, Context] = {"blendfilter": blendfilter.Context(), "migres": SERVED.model_copy(update=loaded)}
    assert choose_process_count(methods, 4 * QUESTIONS_PER_PROCESS, MANY) == 1
