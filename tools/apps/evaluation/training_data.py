"""Training data from runs: examples for a role's student, labels for SKR, worked examples for DSP."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from langchain_core.retrievers import BaseRetriever
from pydantic import JsonValue

from hopgraph.nodes.core.excerpts import passages_by_id
from hopgraph.nodes.core.reply_text import normalized_query
from hopgraph.nodes.core.search import SearchRequest, search_all
from hopgraph.nodes.selection import reason_of_search
from hopgraph.state import Passage, RunError, SettingsError
from hopgraph.state.baselines import DspContext
from hopgraph.state.events import QuerySent, Retrieved, United, parse_event
from hopgraph.tools.apps.evaluation.batch.run_directory import OutcomeKey, RunReader, models_in
from hopgraph.tools.apps.evaluation.batch.run_setup import CORPUS
from hopgraph.tools.apps.evaluation.batch.scores import score_questions
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.distillation import Example, drop
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.prompts import Value
from hopgraph.tools.prompts.render import Demonstration
from hopgraph.tools.retrieval import resolve_retriever
from hopgraph.tools.retrieval.index_folder import is_index
from hopgraph.tools.retrieval.labeled_questions import LabeledQuestion
from hopgraph.tools.text.sanitize import pluralize

WORKED_EXAMPLES = 4
"""Questions whose steps are shown in a prompt; DSPy's default number of bootstrapped demonstrations."""


def check_overlap(questions: Sequence[EvalQuestion], files: Iterable[Path]) -> None:
    """Raise a SettingsError if questions are also in evaluation files, by text or by non-numeric id.

    CorpusError: a file cannot be read.
    """
    for file in files:
        held_out = list(read_questions(file))
        names = {normalized_query(each.question) for each in held_out}
        names |= {each.id for each in held_out if not each.id.isdecimal()}
        if shared := sum(not names.isdisjoint([each.id, normalized_query(each.question)]) for each in questions):
            raise SettingsError(
                f"{shared:,} of {pluralize(len(questions), 'question')} are in {file}, which is for evaluation; choose "
                "others with --skip and --limit, or use --allow-overlap"
            )


def write_training_data(reader: RunReader, out: Path, about: Mapping[str, Any], *, balance: bool) -> dict[str, Any]:
    """Write a run's examples so far, in the order of the questions, replacing earlier files; return the summary.

    It has `about`, the data set, the prompts and the counts. RunError: there are no examples.
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
    labels = dict(Counter(each["label"] for each in examples if each["label"]))
    sizes = {"questions": len(finished), "seen": len(made), "kept": len(examples)}
    facts = reader.manifest.dataset.model_dump(include={"name", "sha256", "sample"})
    counts = {**sizes, "dropped": dict(reasons), "labels": labels}
    summary = {**about, "prompts": prompts, "dataset": facts, "counts": counts}
    dropped = ({name: each[name] for name in ("id", "reason", "reply")} for each in made if each["reason"])
    contents = {
        out / "train.jsonl": json_lines(map(_chat_example, examples)),
        out / "dropped.jsonl": json_lines(dropped),
        out / "paper/train.jsonl": json_lines(map(_paper_example, examples)),
        out / "summary.json": f"{json.dumps(summary, indent=2)}\n".encode("ascii"),
    }
    write_files(contents)
    return summary


def balance_classes(made: Sequence[Example]) -> list[Example]:
    """Drop surplus examples of the larger class, chosen by a hash of their ids, keeping the order (*ours*)."""
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
    """Return an example as text: the prompt's input without instructions, and the reply in the paper's format."""
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
    """Return records as JSON Lines."""
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records).encode("utf-8", "replace")


def right_answers(reader: RunReader, method: str) -> dict[str, bool]:
    """Return answered question → whether it is right, by exact match in every repeat."""
    scores = score_questions(reader, method, {each.id: each for each in reader.questions()})
    return {name: row["em"] == 1.0 for name, row in scores.items() if not row["failed"] and "em" in row}


def write_labels(reader: RunReader, out: Path) -> str:
    """Label questions by whether retrieval helps, harms or makes no difference; return how to use the file.

    The last kind is kept, as SKR's margin counts it. RunError: there are no others.
    """
    alone, helped = right_answers(reader, "cot"), right_answers(reader, "one_step_cot")
    model, corpus = models_in(reader.manifest.methods["cot"])[0], reader.manifest.corpus.fingerprint
    labeled: list[LabeledQuestion] = []
    for each in reader.questions():
        if each.id in alone.keys() & helped.keys():
            differs = alone[each.id] != helped[each.id]
            label = ("helps" if helped[each.id] else "harms") if differs else "same"
            labeled.append(LabeledQuestion(question=each.question, label=label, model=model, corpus=corpus))
    counts = Counter(each.label for each in labeled)
    if not counts["helps"] + counts["harms"]:
        raise RunError(f"{reader.folder}: retrieval made no difference to any question; ask more")
    write_files({out: json_lines(each.model_dump() for each in labeled)})
    said = f"retrieval helps {counts['helps']}, harms {counts['harms']}, makes no difference {counts['same']}"
    return f"{len(labeled)} labeled ({said}): --set labels={out}"


async def worked_example(
    record: Mapping[str, Any], retriever: BaseRetriever, more: Mapping[str, Value], *, keeps: bool
) -> dict[str, list[Demonstration]]:
    """Return the steps of a question answered by DSP as demonstrations, by step, with each hop's first query.

    A trace has no texts, so passages are searched for again; empty if one is not found. `more` has the variables of the
    reader's prompt other than question and passages. With `keeps` each hop's passages are added to the earlier ones;
    else they replace them, after the reason for the search.
    """
    found: dict[str, list[Demonstration]] = {"write_query": []}
    texts, shown, why = dict[str, Passage](), dict[str, Mapping[str, str]](), ""
    asked: dict[str, Value] = {"question": record["question"]}
    for event in map(parse_event, record["trace"]):
        match event:
            case QuerySent() if event.why and event.hop > len(found["write_query"]):
                written: dict[str, JsonValue] = {"rationale": event.why, "query": event.query}
                found["write_query"].append(Demonstration(dict(asked), written))
                why = event.why
            case Retrieved(passage_ids=ids) if ids:
                request = SearchRequest(event.query, len(ids), frozenset(), 1, "")
                texts |= passages_by_id((await search_all([retriever], request)).passages)
            case United():
                if not texts.keys() >= {*event.passage_ids}:
                    return {}
                hop = len(found["write_query"])
                kept = [texts[key] for key in event.passage_ids]
                new = kept if keeps else [*reason_of_search(hop, why), *kept]
                shown = shown if keeps else {}
                shown |= {each["id"]: {"title": each["title"], "text": each["text"]} for each in new}
                asked["passages"] = list(shown.values())
            case _:
                pass
    used: list[JsonValue] = [list(shown).index(each["passage_id"]) + 1 for each in record["citations"]]
    answered: dict[str, JsonValue] = {"reasoning": record["explanation"], "answer": record["answer"]}
    return {**found, "answer_step_by_step": [Demonstration({**asked, **more}, {**answered, "used_passages": used})]}


def write_examples(reader: RunReader, out: Path) -> str:
    """Write the steps of DSP's first right answers with citations; return how to use them. RunError: there are none."""
    right, latest = right_answers(reader, "dsp"), reader.latest("dsp")
    outcomes = (latest[OutcomeKey("dsp", each.id, 0)] for each in reader.questions() if right.get(each.id))
    is_yes_no = reader.manifest.methods["dsp"]["answer_type"] == "yes_no"
    more: dict[str, Value] = {"answer_type": "yes_no"} if is_yes_no else {}
    own = reader.folder / CORPUS
    retriever = resolve_retriever(f"bm25:{own}" if is_index(own) else reader.manifest.corpus.retriever)
    traces = (reader.trace(each) for each in outcomes if each["citations"])
    keeps = reader.manifest.methods["dsp"]["context"] == "all_hops"
    made = (run_in_background(worked_example(each, retriever, more, keeps=keeps)) for each in traces)
    examples = list(islice(filter(None, made), WORKED_EXAMPLES))
    if not examples:
        raise RunError(f"{reader.folder}: no question was answered right from cited passages; ask more")
    for step in DspContext.steps:
        write_files({out / f"{step}.jsonl": json_lines(asdict(each) for shown in examples for each in shown[step])})
    return f"the steps of {pluralize(len(examples), 'question')}: --set demonstrations={out}"


TRAINING_FILES = {"skr_knn": ("cot,one_step_cot", write_labels), "dsp": ("dsp", write_examples)}
"""Method → the methods that answer its training questions, and the function that writes its file from their run."""
