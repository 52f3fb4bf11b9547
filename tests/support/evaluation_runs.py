"""Evaluation runs that a test writes by hand: questions and outcomes, without a method."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast, get_type_hints

from hopgraph.state import Citation, Usage
from hopgraph.tools.apps.evaluation.batch.run_directory import (
    CorpusSource,
    DatasetInfo,
    GoldBy,
    Outcome,
    RunManifest,
    RunReader,
    RunWriter,
)
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion


def outcome(name: str, answer: str = "", *, method: str = "one_step", **fields: Any) -> Outcome:
    """An outcome as a method would give it; with `error` a failure."""
    counts = {"llm_calls": 1, "prompt_tokens": 10, "completion_tokens": 2}
    usage = {**dict.fromkeys(get_type_hints(Usage), 0), **counts}
    return cast(
        "Outcome",
        {
            "method": method,
            "id": name,
            "repeat": 0,
            "answer": answer,
            "explanation": "",
            "citations": [],
            "retrieved": [],
            "titles": [],
            "supported": None,
            "stop_reason": "answered",
            "usage": None if fields.get("error") else cast("Usage", usage),
            "seconds": 1.0,
            "error": "",
            "trace": [],
            **fields,
        },
    )


def citation(passage: str, quote: str, title: str = "", kind: str = "passage") -> Citation:
    """A citation; where the quote stands in the passage plays no part here."""
    return cast(
        "Citation",
        {"passage_id": passage, "title": title, "quote": quote, "start": 0, "end": len(quote), "kind": kind},
    )


def written_run(
    folder: Path,
    questions: list[EvalQuestion],
    outcomes: Iterable[Outcome],
    *,
    methods: Iterable[str] = ("one_step",),
    gold_by: GoldBy = "ids",
    repeats: int = 1,
) -> RunReader:
    """Write a run and open it to read."""
    manifest = RunManifest(
        dataset=DatasetInfo(name="x", sha256="0", sample="all", questions=len(questions), ids="1"),
        corpus=CorpusSource(retriever="contexts", fingerprint="f", gold_by=gold_by),
        repeats=repeats,
        methods={name: {} for name in methods},
        prompts={name: {} for name in methods},
    )
    with RunWriter(folder, manifest, questions) as directory:
        for each in outcomes:
            directory.add(each, None)
    return RunReader(folder)
