"""What methods take from training questions, made of the run that answered them: SKR's labels."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, models_in
from hopgraph.tools.apps.evaluation.batch.scores import score_questions
from hopgraph.tools.io.atomic_files import write_files
from hopgraph.tools.retrieval.labeled_questions import LabeledQuestion, LabelOrigin


class TrainingFile(NamedTuple):
    """How one kind of file is made."""

    methods: str
    """The methods that answer the training questions, comma-separated."""
    write: Callable[[RunReader, Path, int], str]
    """Writes it of the run, to a place, with at most so many entries, and returns how it is used."""


def right_answers(reader: RunReader, method: str) -> dict[str, bool]:
    """Say of each question that a method has answered whether it is right, by exact match in every repeat."""
    scores = score_questions(reader, method, {each.id: each for each in reader.questions()})
    return {name: row["em"] == 1.0 for name, row in scores.items() if not row["failed"] and "em" in row}


def write_labels(reader: RunReader, out: Path, most: int) -> str:
    """Label the questions that are right with passages alone or without them alone; the others say nothing.

    RunError: there is none.
    """
    alone, helped = right_answers(reader, "cot"), right_answers(reader, "one_step_cot")
    both = {
        each.question: (alone[each.id], helped[each.id])
        for each in reader.questions()
        if each.id in alone & helped.keys()
    }
    labeled = [
        LabeledQuestion(question=question, label="helps" if with_passages else "harms")
        for question, (without, with_passages) in both.items()
        if without != with_passages
    ][:most]
    if not labeled:
        raise RunError(f"{reader.folder}: of {len(both)} questions none was answered right in one way alone; ask more")
    model = models_in(reader.manifest.methods["cot"])[0]
    records = [LabelOrigin(model=model, corpus=reader.manifest.corpus.fingerprint), *labeled]
    write_files({out: "".join(f"{each.model_dump_json()}\n" for each in records).encode()})
    harmed = sum(each.label == "harms" for each in labeled)
    return f"{len(labeled)} labelled (retrieval helps {len(labeled) - harmed}, harms {harmed}): --set labels={out}"


TRAINING_FILES = {"skr_knn": TrainingFile("cot,one_step_cot", write_labels)}
"""By the method that reads them."""
