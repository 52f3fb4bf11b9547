"""Hand-made evaluation runs, so that every number in their tables is known in advance."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hopgraph.graphs import METHODS
from hopgraph.state import Usage
from hopgraph.tools.apps.evaluation.batch.run_directory import (
    CorpusSource,
    DatasetInfo,
    GoldBy,
    Outcome,
    RunManifest,
    RunReader,
    RunWriter,
    compress_record,
    frozen_settings,
)
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion


def question(name: str, answer: str, kind: str = "bridge", gold: Sequence[str] = ("g1", "g2")) -> EvalQuestion:
    """Return a question whose gold titles are the upper-case gold ids."""
    titles = tuple(each.upper() for each in gold)
    contexts = tuple(ContextPassage(each, each.upper(), f"Text of {each}.") for each in gold)
    return EvalQuestion(name, f"What is {name}?", (answer,), kind, tuple(gold), titles, contexts=contexts)


def usage(calls: int = 2, retrievals: int = 1, parse_failures: int = 0) -> Usage:
    """Return the usage of a question: 100 prompt tokens and 10 completion tokens per call."""
    return Usage(
        llm_calls=calls,
        cached_calls=0,
        prompt_tokens=100 * calls,
        completion_tokens=10 * calls,
        retrievals=retrievals,
        passages=5,
        knowledge_tokens=50,
        parse_failures=parse_failures,
        iterations=1,
    )


def outcome(method: str, name: str, answer: str, retrieved: Sequence[str] = ("g1", "g2"), **fields: Any) -> Outcome:
    """Return the outcome of a question."""
    made = Outcome(
        method=method,
        id=name,
        repeat=0,
        answer=answer,
        explanation="",
        citations=[],
        retrieved=list(retrieved),
        titles=[each.upper() for each in retrieved],
        supported=None,
        stop_reason="answered",
        usage=usage(),
        seconds=0.5,
        error="",
        trace=[],
    )
    made.update(fields)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return made


def failed(method: str, name: str) -> Outcome:
    """Return a failure."""
    return outcome(method, name, "", (), usage=None, error="the server is gone", stop_reason="failed")


def write_run(
    folder: Path,
    questions: Sequence[EvalQuestion],
    outcomes: Iterable[Outcome | tuple[Outcome, Mapping[str, Any]]],
    settings: Mapping[str, Mapping[str, Any]],
    *,
    gold_by: GoldBy = "ids",
    repeats: int = 1,
    **facts: Any,
) -> RunReader:
    """Write a run.

    Args:
        folder: where.
        questions: what was asked.
        outcomes: in the order in which they were finished; with a record of the steps or without.
        settings: method → its settings.
        gold_by: how gold passages are told.
        repeats: of each question.
        facts: of the data set, where they are to differ.
    """
    given: dict[str, Any] = {"name": "hand.json", "sha256": "0", "sample": "all", "ids": "1", **facts}
    manifest = RunManifest(
        dataset=DatasetInfo(questions=len(questions), **given),
        corpus=CorpusSource(retriever="bm25:index", fingerprint="f", gold_by=gold_by),
        repeats=repeats,
        methods={name: frozen_settings(METHODS[name].Context(**own)) for name, own in settings.items()},
        prompts={name: {} for name in settings},
    )
    with RunWriter(folder, manifest, list(questions)) as run:
        for each in outcomes:
            made, record = each if isinstance(each, tuple) else (each, None)
            run.add(made, compress_record(record) if record else None)
    return RunReader(folder)
