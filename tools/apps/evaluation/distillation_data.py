"""Training data from a run of a graph that makes it: files for trainers, what was dropped, and a summary."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hopgraph.nodes.core.reply_text import normalized_query
from hopgraph.nodes.distillation.record import drop
from hopgraph.state import RunError, SettingsError
from hopgraph.state.distillation import Example
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.text.sanitize import pluralize


def check_overlap(questions: Sequence[EvalQuestion], files: Iterable[Path]) -> None:
    """Refuse questions that are in files for evaluation, by their text or by an id that is more than a number.

    SettingsError: says how many are. CorpusError: a file cannot be read.
    """
    for file in files:
        held_out = list(read_questions(file))
        names = {normalized_query(each.question) for each in held_out}
        names |= {each.id for each in held_out if not each.id.isdecimal()}
        if shared := sum(not names.isdisjoint([each.id, normalized_query(each.question)]) for each in questions):
            raise SettingsError(
                f"{shared:,} of {pluralize(len(questions), 'question')} are in {file}, which is for evaluation; choose "
                "others with --skip and --limit, or give --allow-overlap"
            )


def write_training_data(reader: RunReader, out: Path, about: Mapping[str, Any], *, balance: bool) -> dict[str, Any]:
    """Write what a run has made so far, in the order of the questions, in place of earlier files.

    Returns what is in `summary.json`: `about`, the data set, the prompts and the counts. RunError: there is no example.
    """
    ((method, prompts),) = reader.manifest.prompts.items()
    order = {question.id: number for number, question in enumerate(reader.questions())}
    finished = sorted(reader.latest(method).values(), key=lambda each: order[each["id"]])
    made: list[Example] = []
    for outcome in finished:
        made += [drop(outcome["id"], "failed")] if outcome["error"] else reader.trace(outcome)["distilled"]
    made = balance_classes(made) if balance else made
    examples = [each for each in made if not each["reason"]]
    reasons = Counter(each["reason"] for each in made if each["reason"])
    if not examples:
        why = ", ".join(f"{reason} {number:,}" for reason, number in reasons.items()) or "no question is finished"
        raise RunError(f"{reader.folder}: no example was made ({why})")
    counts = {
        "questions": len(finished),
        "seen": len(made),
        "kept": len(examples),
        "dropped": dict(reasons),
        "labels": dict(Counter(each["label"] for each in examples if each["label"])),
    }
    facts = reader.manifest.dataset.model_dump(include={"name", "sha256", "sample"})
    summary = {**about, "prompts": prompts, "dataset": facts, "counts": counts}
    contents = {
        "train.jsonl": json_lines(map(_chat_example, examples)),
        "dropped.jsonl": json_lines(
            {name: each[name] for name in ("id", "reason", "reply")} for each in made if each["reason"]
        ),
        "paper/train.jsonl": json_lines(map(_paper_example, examples)),
        "summary.json": f"{json.dumps(summary, indent=2)}\n".encode("ascii"),
    }
    write_files({out / name: content for name, content in contents.items()})
    return summary


def balance_classes(made: Sequence[Example]) -> list[Example]:
    """Drop surplus examples of the larger class (*ours*); the choice depends on their ids alone, the order stays."""
    examples = [each for each in made if not each["reason"]]
    sizes = Counter(each["label"] for each in examples)
    left, kept = dict.fromkeys(sizes, min(sizes.values(), default=0)), set[str]()
    for each in sorted(examples, key=lambda each: hashlib.sha256(each["id"].encode("utf-8", "replace")).digest()):
        if left[each["label"]]:
            left[each["label"]] -= 1
            kept.add(each["id"])
    return [each if each["id"] in kept else {**each, "reason": each["reason"] or "balance"} for each in made]


def _chat_example(example: Example) -> dict[str, Any]:
    completion = [{"role": "assistant", "content": json.dumps(example["reply"], ensure_ascii=False)}]
    label = {"label": example["label"]} if example["label"] else {}
    return {"prompt": example["prompt"], "completion": completion, "id": example["id"], **label}


def _paper_example(example: Example) -> dict[str, str]:
    """Write an example as text: all that the prompt shows but its instructions, and the reply in the paper's words."""
    variables: Any = example["variables"]
    given = [f"{at}. {each['title']}\n{each['text']}" for at, each in enumerate(variables.get("passages", ()), start=1)]
    given += [variables[name] for name in ("question", "generated_answer") if name in variables]
    reply: Any = example["reply"]
    match reply:
        case {"relevant": relevant}:
            written = "relevance" if relevant else "irrelevance"
        case {"known": known}:
            written = "know" if known else "unknow"
        case {"sub_questions": parts}:
            written = "\n".join(f"{at}. {part}" for at, part in enumerate(parts, start=1))
        case _:
            written = f"<ref>{reply['ref']}</ref> <revise>{reply['revise']}</revise>"
    return {"id": example["id"], "input": "\n\n".join(given), "output": written}


def json_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Write records as JSON, one a line."""
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records).encode("utf-8", "replace")
