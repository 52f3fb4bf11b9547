"""Runs over parts of a data set, read as one run; and the runs of a study."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from typing_extensions import override

from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.batch.run_directory import MANIFEST, Outcome, RunReader
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion

_GOLD_COUNTS = ("gold_found", "gold_sought")
_MAY_DIFFER: Any = {
    "dataset": {"sample", "questions", "ids"},
    "corpus": {*_GOLD_COUNTS},
    "libraries": True,
    "commit": True,
}
"""The fields in which runs over parts of a data set may differ."""


class MergedRuns(RunReader):
    """Runs that differ only in their questions and have none in common."""

    def __init__(self, parts: Sequence[RunReader]) -> None:
        first, every = parts[0].manifest, [each.manifest.dataset for each in parts]
        self.parts = parts
        self.folder = parts[0].folder
        together = {
            "sample": " and ".join(each.sample for each in every),
            "questions": sum(each.questions for each in every),
            "ids": hashlib.sha256("\n".join(each.ids for each in every).encode()).hexdigest(),
        }
        counted = {name: [getattr(each.manifest.corpus, name) for each in parts] for name in _GOLD_COUNTS}
        counts = {name: None if None in own else sum(own) for name, own in counted.items()}
        dataset, corpus = first.dataset.model_copy(update=together), first.corpus.model_copy(update=counts)
        self.manifest = first.model_copy(update={"dataset": dataset, "corpus": corpus})
        self._part_of = {question.id: each for each in parts for question in each.questions()}

    @property
    @override
    def folders(self) -> list[Path]:
        return [each.folder for each in self.parts]

    @override
    def questions(self) -> list[EvalQuestion]:
        return [question for each in self.parts for question in each.questions()]

    @override
    def outcomes(self, method: str) -> Iterator[Outcome]:
        return chain.from_iterable(each.outcomes(method) for each in self.parts)

    @override
    def trace(self, outcome: Outcome) -> Mapping[str, Any]:
        return self._part_of[outcome["id"]].trace(outcome)


def open_runs(folder: Path) -> list[RunReader]:
    """Open a run, or the runs of a study's folder in order of their names; RunError if there is none."""
    if (folder / MANIFEST).exists() or not folder.is_dir():
        return [RunReader(folder)]
    runs = [RunReader(each.parent) for each in sorted(folder.glob(f"*/{MANIFEST}"))]
    if not runs:
        raise RunError(f"{folder} is neither a run of `hopgraph eval` nor the folder of a study's runs")
    return runs


def merge_parts(readers: Sequence[RunReader]) -> list[RunReader]:
    """Merge runs with the same settings over different questions of one data set; other runs are unchanged."""
    groups: dict[str, list[list[RunReader]]] = defaultdict(list)
    asked = {id(each): {question.id for question in each.questions()} for each in readers}
    for each in readers:
        parts = groups[repr(each.manifest.model_dump(mode="json", exclude=_MAY_DIFFER))]
        alike = (own for own in parts if not any(asked[id(each)] & asked[id(other)] for other in own))
        if (own := next(alike, None)) is None:
            parts.append(own := [])
        own.append(each)
    merged = [own for parts in groups.values() for own in parts]
    return [own[0] if len(own) == 1 else MergedRuns(own) for own in merged]
