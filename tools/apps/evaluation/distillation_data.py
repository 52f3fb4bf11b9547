"""Training data from a run of a graph that makes it: files for trainers, what was dropped, and a summary."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from hopgraph.state import RunError, SettingsError
from hopgraph.state.distillation import Distilled, DroppedExample, TrainingExample
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.io.redact import redact
from hopgraph.tools.text.sanitize import pluralize

_PaperForm = Callable[[TrainingExample], tuple[str, str]]
"""From an example to the text that a student of the paper is given, and the text that it writes."""


class DataRecipe(NamedTuple):
    """What training data is made with, beside the settings of the run."""

    role: str
    teacher: str
    """`gold`, or a model's spec."""
    base: str | None
    """The model that answers from memory; None where none does."""
    balance: bool = False
    """Whether there are to be as many examples of one class as of the other."""


def _relevance_text(example: TrainingExample) -> tuple[str, str]:
    variables: Any = example["variables"]
    passages = "\n".join(f"{each['title']}\n{each['text']}" for each in variables["passages"])
    return f"{variables['question']}\n{passages}", "relevance" if example["reply"]["relevant"] else "irrelevance"


_PAPER_FORMS: dict[str, _PaperForm] = {"ra_isf/judge_relevance": _relevance_text}
"""By role."""


def check_overlap(questions: Iterable[EvalQuestion], files: Sequence[Path]) -> None:
    """Refuse questions that are in files for evaluation, by their text or by an id that is more than a number.

    SettingsError: says how many are. CorpusError: a file cannot be read.
    """
    own = {each.id: _text_key(each) for each in questions}
    texts = frozenset(own.values())
    for file in files:
        held_out = list(read_questions(file))
        ids = {each.id for each in held_out if not each.id.isdecimal()}
        shared_texts = texts & {_text_key(each) for each in held_out}
        if shared := sum(name in ids or text in shared_texts for name, text in own.items()):
            raise SettingsError(
                f"{shared:,} of {pluralize(len(own), 'question')} are in {file}, which is for evaluation; choose "
                "others with --skip and --limit, or give --allow-overlap"
            )


def _text_key(question: EvalQuestion) -> str:
    return " ".join(question.question.casefold().split())


def write_training_data(reader: RunReader, out: Path, recipe: DataRecipe) -> Mapping[str, Any]:
    """Write what a run has made so far, in the order of the questions, in place of earlier files; return the summary.

    RunError: there is no example.
    """
    (method,) = reader.manifest.methods
    examples: list[TrainingExample] = []
    dropped: list[DroppedExample] = []
    latest = reader.latest(method)
    order = {question.id: number for number, question in enumerate(reader.questions())}
    for outcome in sorted(latest.values(), key=lambda each: order[each["id"]]):
        if outcome["error"]:
            dropped.append(DroppedExample(id=outcome["id"], reason="failed", reply={"error": outcome["error"]}))
            continue
        distilled: Distilled = reader.trace(outcome)["distilled"]
        examples += distilled["examples"]
        dropped += distilled["dropped"]
    if recipe.balance:
        examples, surplus = balance_classes(examples)
        dropped += surplus
    if not examples:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in _counted(dropped).items())
        raise RunError(f"{reader.folder}: no example was made ({reasons or 'no question is finished'})")
    summary = _summarize(reader, recipe, examples, dropped)
    contents = {
        "train.jsonl": _lines(map(_chat_example, examples)),
        "dropped.jsonl": _lines(dropped),
        "paper/train.jsonl": _lines(_paper_example(recipe.role, each) for each in examples),
        "summary.json": f"{json.dumps(summary, indent=2)}\n".encode("ascii"),
    }
    write_files({out / name: content for name, content in contents.items()})
    return summary


def balance_classes(examples: Sequence[TrainingExample]) -> tuple[list[TrainingExample], list[DroppedExample]]:
    """Drop surplus examples of the larger classes (*ours*); the choice depends on their ids alone, the order stays."""
    classes: dict[str, list[TrainingExample]] = {}
    for each in examples:
        classes.setdefault(each.get("label", ""), []).append(each)
    least = min(map(len, classes.values()), default=0)
    kept = {
        each["id"]
        for of_class in classes.values()
        for each in sorted(of_class, key=lambda each: hashlib.sha256(each["id"].encode()).digest())[:least]
    }
    surplus = [DroppedExample(id=each["id"], reason="balance") for each in examples if each["id"] not in kept]
    return [each for each in examples if each["id"] in kept], surplus


def _chat_example(example: TrainingExample) -> dict[str, Any]:
    reply = json.dumps(example["reply"], ensure_ascii=False)
    label = {"label": example["label"]} if "label" in example else {}
    completion = [{"role": "assistant", "content": reply}]
    return {"prompt": example["prompt"], "completion": completion, "id": example["id"], **label}


def _paper_example(role: str, example: TrainingExample) -> dict[str, str]:
    given, written = _PAPER_FORMS[role](example)
    return {"id": example["id"], "input": given, "output": written}


def _lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records).encode("utf-8", "replace")


def _counted(dropped: Iterable[DroppedExample]) -> dict[str, int]:
    return dict(Counter(each["reason"] for each in dropped).most_common())


def _summarize(
    reader: RunReader, recipe: DataRecipe, examples: Sequence[TrainingExample], dropped: Sequence[DroppedExample]
) -> dict[str, JsonValue]:
    (method,) = reader.manifest.methods
    facts = reader.manifest.dataset
    labels = Counter(each["label"] for each in examples if "label" in each)
    return {
        "role": recipe.role,
        "teacher": redact(recipe.teacher),
        "base": recipe.base and redact(recipe.base),
        "prompts": {**reader.manifest.prompts[method]},
        "dataset": {"name": facts.name, "sha256": facts.sha256, "sample": facts.sample},
        "corpus": reader.manifest.corpus.retriever,
        "counts": {
            "questions": facts.questions,
            "finished": len(reader.latest(method)),
            "seen": len(examples) + len(dropped),
            "kept": len(examples),
            "dropped": {**_counted(dropped)},
            "labels": {**labels},
        },
        "filters": {"balance": recipe.balance},
        "hopgraph": reader.manifest.libraries["hopgraph"],
    }
