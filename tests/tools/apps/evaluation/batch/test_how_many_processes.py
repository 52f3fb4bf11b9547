"""How many processes answer where nobody says so."""

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
    [
        (1, MANY, 1),
        (16, MANY, 1),
        (31, MANY, 1),
        (32, MANY, 2),
        (64, MANY, 4),
        (1000, MANY, 8),
        (64, 0, 1),
        (64, 40, 2),
    ],
)
def test_one_for_each_sixteen_questions_up_to_the_cores(concurrency: int, questions: int, processes: int) -> None:
    assert choose_process_count({"migres": SERVED}, concurrency, questions) == processes


def test_no_more_than_the_calls_that_may_be_under_way_keep_busy() -> None:
    few = SERVED.model_copy(update={"max_parallel_calls": 40})
    assert choose_process_count({"migres": SERVED, "other": few}, 200, MANY) == 2
    assert (
        choose_process_count({"migres": SERVED, "other": few.model_copy(update={"max_parallel_calls": 1})}, 200, MANY)
        == 1
    )


def test_where_traces_are_sent_one_process_sends_them(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_what_each_would_load_is_loaded_once(loaded: dict[str, Any]) -> None:
    methods: dict[str, Context] = {"blendfilter": blendfilter.Context(), "migres": SERVED.model_copy(update=loaded)}
    assert choose_process_count(methods, 4 * QUESTIONS_PER_PROCESS, MANY) == 1


def test_models_for_single_steps_on_a_server_are_no_hindrance() -> None:
    settings = SERVED.model_copy(update={"models": {"migres/decide": "openai:other?base_url=http://127.0.0.1:1/v1"}})
    assert choose_process_count({"migres": settings}, 2 * QUESTIONS_PER_PROCESS, MANY) == 2
