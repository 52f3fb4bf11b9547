"""Hand-made evaluation runs, by default of one method, whose outcomes have no retrieved passages."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from hopgraph.state import Citation
from hopgraph.tools.apps.evaluation.batch.run_directory import GoldBy, Outcome, RunReader
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from support import hand_made_runs


def outcome(name: str, answer: str = "", *, method: str = "one_step", **fields: Any) -> Outcome:
    """Return an outcome; with `error`, a failure."""
    given: dict[str, Any] = {"usage": None if fields.get("error") else hand_made_runs.usage(1), **fields}
    return hand_made_runs.outcome(method, name, answer, **{"retrieved": (), **given})


def citation(passage: str, quote: str, title: str = "", kind: str = "passage") -> Citation:
    """Return a citation, with dummy offsets."""
    made = {"passage_id": passage, "title": title, "quote": quote, "start": 0, "end": len(quote), "kind": kind}
    return cast("Citation", made)


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
    settings: dict[str, dict[str, Any]] = {name: {} for name in methods}
    return hand_made_runs.write_run(folder, questions, outcomes, settings, gold_by=gold_by, repeats=repeats)


def results(out: Path) -> dict[Any, Any]:
    """Return the outcomes of a run without times, paths and cache counts."""
    reader, found = RunReader(out), dict[Any, Any]()
    for method in reader.manifest.methods:
        assert len(list(reader.outcomes(method))) == len(reader.latest(method))
        for key, each in reader.latest(method).items():
            usage = {name: value for name, value in (each["usage"] or {}).items() if name != "cached_calls"}
            found[key] = {**each, "seconds": 0, "trace": [], "usage": usage}
    return found
