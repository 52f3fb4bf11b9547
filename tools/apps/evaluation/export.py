"""Export the answers of a run to other tools: a table with a row per answer, or a run of an experiment tracker."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.scores import summarize_run
from hopgraph.tools.apps.evaluation.comparison import compare_runs
from hopgraph.tools.apps.evaluation.cost_estimate import PriceTable
from hopgraph.tools.apps.evaluation.report.tables import COST_NAMES, SCORE_NAMES
from hopgraph.tools.apps.evaluation.report.writers import protect_csv_text
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.io.optional_packages import require

ExportRow = Mapping[str, JsonValue]
ANSWER_COLUMNS: dict[str, tuple[str, str]] = {
    "dataset": ("string", "name of the question file or folder"),
    "model": ("string", "spec of the method's model, without keys"),
    "method": ("string", "the method that answered"),
    "id": ("string", "id of the question in its data set"),
    "repeat": ("integer", "number of the repeat, from 0"),
    "question": ("string", "the question as asked"),
    "type": ("string", "the data set's question type; may be empty"),
    "hops": ("integer", "number of facts to combine; 0 if unknown"),
    "gold_answers": ("array", "gold answers (JSON in a CSV); null if the data set has none, empty if unanswerable"),
    "answer": ("string", "the answer; empty for an abstention or a failure"),
    "stop_reason": ("string", "why the method ended, as in the results"),
    "error": ("string", "why it failed, in one line; else empty"),
}
"""Column → its JSON type and description; scores and costs follow these."""
MLFLOW_DATABASE = "mlflow.db"
_SCORE = "{}, from 0 to 1; null if not applicable to the question"
_COST = "{} of this answer; null if it failed"


def answer_rows(reader: RunReader, prices: PriceTable | None = None) -> list[ExportRow]:
    """Return every answer of a run with its scores and costs, method by method; all rows have the same columns."""
    comparison = compare_runs([reader], prices)
    rows: list[dict[str, JsonValue]] = []
    for method in comparison.methods:
        for outcome in reader.latest(method.method).values():
            if question := comparison.questions.get(outcome["id"]):
                gold: JsonValue = None if question.answers is None else [*question.answers]
                known = reader.manifest.dataset.name, method.model, method.method, outcome["id"], outcome["repeat"]
                asked = question.question, question.type, question.hop_count, gold
                said = outcome["answer"], outcome["stop_reason"], outcome["error"]
                row = dict[str, JsonValue](zip(ANSWER_COLUMNS, (*known, *asked, *said), strict=True))
                row.update(method.repeats[outcome["repeat"]][outcome["id"]])
                rows.append(row)
    columns = dict.fromkeys([*ANSWER_COLUMNS, *SCORE_NAMES, *COST_NAMES, *(name for row in rows for name in row)])
    kept = [name for name in columns if name in ANSWER_COLUMNS or any(name in row for row in rows)]
    return [{name: row.get(name) for name in kept} for row in rows]


def describe_columns(rows: Sequence[ExportRow]) -> dict[str, Any]:
    """Return a JSON schema of the rows, with column descriptions."""
    properties: dict[str, Any] = {}
    for name in rows[0] if rows else ANSWER_COLUMNS:
        kind, about = ANSWER_COLUMNS.get(name) or (
            "number",
            _SCORE.format(SCORE_NAMES[name])
            if name in SCORE_NAMES
            else _COST.format(COST_NAMES.get(name, name.replace("_", " "))),
        )
        properties[name] = {"type": [kind, "null"], "description": about}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": properties}


def write_csv(rows: Sequence[ExportRow], path: Path) -> None:
    """Write rows as CSV; text that a spreadsheet would read as a formula is prefixed with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0] if rows else ANSWER_COLUMNS)
    for row in rows:
        writer.writerow(
            [json.dumps(value) if isinstance(value, list) else protect_csv_text(value) for value in row.values()]
        )
    write_files({path: out.getvalue().encode("utf-8", "replace")})


def write_parquet(rows: Sequence[ExportRow], path: Path) -> None:
    """Write rows as Parquet, with column descriptions as metadata; SpecError if pyarrow is missing."""
    arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    kinds = {"string": arrow.string(), "integer": arrow.int64(), "number": arrow.float64()}
    kinds["array"] = arrow.list_(arrow.string())
    fields = [
        arrow.field(name, kinds[about["type"][0]], metadata={"description": about["description"]})
        for name, about in describe_columns(rows)["properties"].items()
    ]
    sink = arrow.BufferOutputStream()
    parquet.write_table(arrow.Table.from_pylist([*rows], schema=arrow.schema(fields)), sink)
    write_files({path: sink.getvalue().to_pybytes()})


def log_to_wandb(reader: RunReader, rows: Sequence[ExportRow], folder: Path | None, project: str) -> None:
    """Log a Weights & Biases run for each method: settings, scores, and the answers as a table.

    Offline into a folder, or, without one, as configured for the package. SpecError if it is missing.
    """
    wandb = require("wandb", "wandb")
    where = {} if folder is None else {"mode": "offline", "dir": str(folder)}
    for method, config, scores in _tracked(reader):
        with wandb.init(project=project, name=f"{reader.folder.name}/{method}", config=config, **where) as run:
            run.summary.update(scores)
            own = [[*row.values()] for row in rows if row["method"] == method]
            run.log({"answers": wandb.Table(columns=[*rows[0]], data=own)} if own else {})


def log_to_mlflow(reader: RunReader, rows: Sequence[ExportRow], folder: Path | None, project: str) -> None:
    """Log an MLflow run for each method: settings, scores, and the answers as JSON Lines; SpecError without mlflow.

    Into a database and files in a folder, or, without one, as configured for the package.
    """
    mlflow = require("mlflow", "mlflow")
    entities = require("mlflow.entities", "mlflow")
    database = files = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        database, files = f"sqlite:///{folder.absolute() / MLFLOW_DATABASE}", (folder.absolute() / "artifacts").as_uri()
    client = mlflow.MlflowClient(database)
    experiment = client.get_experiment_by_name(project)
    number = experiment.experiment_id if experiment else client.create_experiment(project, files)
    for method, config, scores in _tracked(reader):
        run = client.create_run(number, run_name=f"{reader.folder.name}/{method}").info
        params = [entities.Param(name, json.dumps(value)[:6000]) for name, value in config.items()]
        metrics = [
            entities.Metric(name.replace("@", "_at_"), value, run.start_time, 0) for name, value in scores.items()
        ]
        client.log_batch(run.run_id, metrics=metrics, params=params)
        lines = "".join(f"{json.dumps(row)}\n" for row in rows if row["method"] == method)
        client.log_text(run.run_id, lines, "answers.jsonl")
        client.set_terminated(run.run_id)


def _tracked(reader: RunReader) -> Iterator[tuple[str, dict[str, JsonValue], dict[str, float]]]:
    """Yield each method's name, its setup, and its scores and costs."""
    facts = reader.manifest.model_dump(mode="json", include={"dataset", "corpus", "repeats", "libraries"})
    for method, summary in summarize_run(reader).items():
        numbers = {name: float(value) for name, value in summary.items() if isinstance(value, int | float)}
        yield method, {**reader.manifest.methods[method], **facts, "method": method}, numbers
