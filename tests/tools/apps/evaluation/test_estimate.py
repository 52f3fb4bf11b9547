"""Cost estimates, compared with the costs of the same run."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from hopgraph.graphs import METHODS
from hopgraph.tools.apps.cli.evaluation.run_tables import print_estimate
from hopgraph.tools.apps.evaluation.batch.local_engine import RunEngine, RunTally
from hopgraph.tools.apps.evaluation.batch.run_directory import RunWriter
from hopgraph.tools.apps.evaluation.batch.run_setup import PreparedRun, RunSpec, list_jobs, prepare_run
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.cost_estimate import (
    MethodEstimate,
    ModelPrice,
    PriceTable,
    RunEstimate,
    choose_stand_in,
    estimate_run,
)
from hopgraph.tools.apps.evaluation.datasets import QuestionSample
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion

NAMES = ("direct", "one_step", "migres")
PAID = "openai:gpt-x?base_url=http://127.0.0.1:9/v1"
PRICES = PriceTable({"openai:gpt-x": ModelPrice(prompt=2.0, completion=8.0)})
TEXTS = {"Ann Lee": "Ann Lee was born in Oslo.", "Oslo": "Oslo is the capital of Norway.", "Bo": "Bo is a dog."}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    rows = [
        {
            "_id": f"q{number}",
            "question": f"Where was Ann Lee born{'?' * number}",
            "answer": "Oslo",
            "type": "bridge",
            "supporting_facts": [["Ann Lee", 0]],
            "context": [[title, [text]] for title, text in TEXTS.items()],
        }
        for number in range(1, 6)
    ]
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def prepared_for(dataset: Path, out: Path, model: str | None = PAID, **settings: object) -> PreparedRun:
    methods = {name: METHODS[name].Context.model_validate({"model": model, **settings}) for name in NAMES}
    return prepare_run(RunSpec(dataset, methods, out, QuestionSample()))


def left_for(prepared: PreparedRun) -> dict[str, int]:
    return dict.fromkeys(prepared.methods, len(prepared.questions))


async def test_an_estimate_is_free_and_counts_the_calls_of_the_stand_in(dataset: Path, tmp_path: Path) -> None:
    prepared = prepared_for(dataset, tmp_path / "run")
    found = await estimate_run(
        prepared.methods, prepared.questions[:3], left_for(prepared), stand_in="offline:extractive", prices=PRICES
    )
    by_name = {each.method: each for each in found.methods}
    assert list(by_name) == list(NAMES)
    assert all((each.questions, each.tried) == (5, 3) for each in found.methods)
    assert by_name["direct"].calls == 1
    assert by_name["migres"].calls > by_name["one_step"].calls >= 1
    for each in found.methods:
        million = 2.0 * each.prompt_tokens + 8.0 * each.completion_tokens
        assert each.cost == pytest.approx(5 * million / 1_000_000)
    assert found.cost == pytest.approx(sum(each.cost or 0 for each in found.methods))


async def test_an_estimate_from_all_questions_equals_the_cost_of_the_run(dataset: Path, tmp_path: Path) -> None:
    prepared = prepared_for(dataset, tmp_path / "run", None)
    found = await estimate_run(
        prepared.methods, prepared.questions, left_for(prepared), stand_in="offline:extractive", prices=PRICES
    )
    with RunWriter(tmp_path / "run", prepared.manifest, prepared.questions) as directory:
        jobs = list_jobs(prepared, directory, keep_traces=False, retry_failed=False)
        await RunEngine(directory, RunTally(len(jobs)), PRICES).run(jobs)
        summary = summarize_run(directory)
    for each in found.methods:
        taken = summary[each.method]
        assert each.calls == pytest.approx(taken["llm_calls"])
        assert each.prompt_tokens == pytest.approx(taken["prompt_tokens"])
        assert each.completion_tokens == pytest.approx(taken["completion_tokens"])
        assert each.cost is None  # the offline model has no price


async def test_each_role_is_priced_by_its_model(dataset: Path, tmp_path: Path) -> None:
    prepared = prepared_for(dataset, tmp_path / "run", models={"one_step": "openai:dear", "direct": "openai:free-ish"})
    prices = PriceTable({**PRICES, "openai:dear": ModelPrice(prompt=200.0, completion=0.0)})
    found = await estimate_run(
        prepared.methods, prepared.questions, left_for(prepared), stand_in="offline:extractive", prices=prices
    )
    direct, one_step, _ = found.methods
    assert direct.cost is None
    assert one_step.cost == pytest.approx(5 * 200 * one_step.prompt_tokens / 1_000_000)
    assert found.cost is None


async def test_scoring_models_are_excluded_and_listed(dataset: Path, tmp_path: Path) -> None:
    prepared = prepared_for(dataset, tmp_path / "run", reranker=f"model:{PAID}")
    found = await estimate_run(
        prepared.methods, prepared.questions[:1], {"direct": 5}, stand_in="offline:extractive", prices=PRICES
    )
    assert found.left_out == (f"model:{PAID}",)
    assert "Not counted: model:openai:gpt-x" in found.label
    assert [each.questions for each in found.methods] == [5, 0, 0]
    assert found.cost == found.methods[0].cost


async def test_the_rehearsal_model_stands_in_if_the_data_set_has_annotations(dataset: Path, tmp_path: Path) -> None:
    prepared = prepared_for(dataset, tmp_path / "run")
    spec = choose_stand_in(dataset, prepared.questions, rename=None)
    assert spec == f"rehearsal:{dataset}"
    found = await estimate_run(
        prepared.methods, prepared.questions[:2], left_for(prepared), stand_in=spec, prices=PRICES
    )
    assert all(each.tried == 2 and each.calls >= 1 for each in found.methods)
    assert found.label.startswith(f"An estimate from the first 2 questions, answered by rehearsal:{dataset.name},")


def test_the_offline_model_stands_in_without_annotations(dataset: Path) -> None:
    known = EvalQuestion("q", "Who?", ("Ann",), "", ("p",), ("P",))
    bare = EvalQuestion("q", "Who?", ("Ann",), "", (), ())
    assert choose_stand_in(dataset, [known, bare], rename=None) == "offline:extractive"
    assert choose_stand_in(dataset, [known], rename=7) == f"rehearsal:{dataset}?rename=7"


def shown(found: RunEstimate) -> str:
    console = Console(width=110, record=True, file=StringIO())
    print_estimate(console, found)
    return console.export_text()


def test_the_table_shows_its_basis_and_the_total_cost() -> None:
    rows = [
        MethodEstimate("direct", 100, 3, 1.0, 200.0, 20.0, 1.5),
        MethodEstimate("migres", 100, 3, 4.5, 900.0, 90.0, 6.0),
    ]
    text = shown(RunEstimate("offline:extractive", rows))
    assert text.startswith("An estimate from the first 3 questions, answered by offline:extractive")
    assert [" ".join(line.split()) for line in text.splitlines() if line.startswith("migres")] == [
        "migres 100 4.5 450 90,000 9,000 6.00"
    ]
    assert "in total: 7.50" in text


def test_unknown_costs_are_reported() -> None:
    text = shown(RunEstimate("offline:extractive", [MethodEstimate("direct", 7, 0, 0.0, 0.0, 0.0, None)]))
    assert "not known" in text
    assert "cost" not in text
