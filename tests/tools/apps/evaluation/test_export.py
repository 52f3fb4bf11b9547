"""Exports of a run, read back with the respective tools."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.export import MLFLOW_DATABASE, answer_rows, describe_columns
from support.hand_made_runs import failed, outcome, question, write_run

Run = Callable[..., Any]
QUESTIONS = [question("q1", "Ann"), question("q2", "Bea"), question("q3", "Cid")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    outcomes = [
        outcome("migres", "q1", "=Ann(\x1b[31m)"),
        outcome("migres", "q2", "Bea"),
        outcome("migres", "q1", "Ann", repeat=1),
        failed("one_step", "q1"),
    ]
    settings = {"migres": {"model": "openai:m"}, "one_step": {"model": "openai:m"}}
    write_run(tmp_path / "run", QUESTIONS, outcomes, settings, repeats=2)
    return tmp_path / "run"


def test_each_answer_is_a_row_and_each_column_is_described(folder: Path) -> None:
    rows = answer_rows(RunReader(folder))
    assert [(row["method"], row["id"], row["repeat"], row["em"]) for row in rows] == [
        ("migres", "q1", 0, 0.0),
        ("migres", "q2", 0, 1.0),
        ("migres", "q1", 1, 1.0),
        ("one_step", "q1", 0, 0.0),
    ]
    assert rows[0]["answer"] == "=Ann(\x1b[31m)"
    assert (rows[0]["gold_answers"], rows[0]["llm_calls"], rows[3]["llm_calls"]) == (["Ann"], 2.0, None)
    schema = describe_columns(rows)["properties"]
    assert schema.keys() == rows[0].keys()
    assert all(each["description"] for each in schema.values())


def test_a_csv_is_written_with_its_schema(run: Run, folder: Path, tmp_path: Path) -> None:
    ran = run("export", str(folder), "--to", "csv", "--out", str(tmp_path / "a.csv"))
    assert (ran.code, ran.err) == (0, "")
    with (tmp_path / "a.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["answer"] for row in rows] == ["'=Ann(\x1b[31m)", "Bea", "Ann", ""]
    assert json.loads(rows[0]["gold_answers"]) == ["Ann"]
    assert json.loads((tmp_path / "a.csv.schema.json").read_text())["properties"].keys() == rows[0].keys()
    assert run("export", str(folder), "--to", "csv").code == 2


@pytest.mark.slow
def test_parquet_has_the_same_rows(run: Run, folder: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    assert run("export", str(folder), "--to", "parquet", "--out", str(tmp_path / "a.parquet")).code == 0
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.to_pylist() == answer_rows(RunReader(folder))
    assert b"from 0 to 1" in table.schema.field("em").metadata[b"description"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*noload.*")  # mlflow's, of SQLAlchemy 2.1
def test_mlflow_gets_settings_scores_and_answers(run: Run, folder: Path, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="needs the extra mlflow")
    ran = run("export", str(folder), "--to", "mlflow", "--out", str(tmp_path / "mlruns"), "--project", "hops")
    assert ran.code == 0, ran.err
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/mlruns/{MLFLOW_DATABASE}")
    found = client.search_runs([client.get_experiment_by_name("hops").experiment_id])
    summary = summarize_run(RunReader(folder))
    by_method = {each.data.params["method"]: each for each in found}
    assert by_method.keys() == {'"migres"', '"one_step"'}
    migres = by_method['"migres"']
    assert migres.data.metrics["f1"] == pytest.approx(summary["migres"]["f1"])
    assert migres.data.metrics["recall_at_5"] == pytest.approx(summary["migres"]["recall@5"])
    assert migres.data.params["model"] == '"openai:m"'
    (file,) = Path(migres.info.artifact_uri.removeprefix("file://")).glob("answers.jsonl")
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == ["q1", "q2", "q1"]


@pytest.mark.slow
def test_wandb_gets_an_offline_run(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="needs the extra wandb")
    for name in ("WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    out = tmp_path / "tracked"
    out.mkdir()
    ran = run("export", str(folder), "--to", "wandb", "--out", str(out))
    assert ran.code == 0, ran.err
    files = list(out.glob("wandb/offline-run-*/*.wandb"))
    assert len(files) == 2
    content = b"".join(path.read_bytes() for path in files)
    assert b"migres" in content
    assert b"recall@5" in content
    (table,) = (
        json.loads(path.read_text())
        for path in out.glob("wandb/offline-run-*/files/media/table/*.json")
        if "Bea" in path.read_text()
    )
    assert len(table["data"]) == 3
