"""`hopgraph show`: how a method of a run answered one question, as `hopgraph ask` prints it."""

import json
import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from hopgraph.graphs import METHODS
from hopgraph.state import Passage, RunError, StepEvent
from hopgraph.state.events import Retrieved, parse_event
from hopgraph.tools.apps.cli.answer_output import print_answer
from hopgraph.tools.apps.cli.console import console_on, print_hanging
from hopgraph.tools.apps.cli.run_output import RunDisplay, print_tree
from hopgraph.tools.apps.cli.settings_options import method_named
from hopgraph.tools.apps.evaluation.batch.run_directory import Outcome, OutcomeKey, RunReader
from hopgraph.tools.apps.evaluation.batch.run_manifest import describe_simulated
from hopgraph.tools.apps.evaluation.batch.run_setup import CONTEXTS, CORPUS
from hopgraph.tools.apps.evaluation.batch.scores import gold_names, score_outcome
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.runs.narration import Narrator
from hopgraph.tools.apps.runs.tree_text import TerminalTree
from hopgraph.tools.retrieval.passage_store import PassageFile
from hopgraph.tools.text.sanitize import sanitize_line

_SCORES = {"em": "EM", "f1": "F1", "grounded_f1": "grounded F1", "recall@15": "R@15"}


def run_show(
    folder: Path, question_id: str, *, method: str | None, repeat: int = 0, as_json: bool = False, verbose: bool = False
) -> None:
    """Replay one question of a run.

    Raises:
        RunError: no such run, question or method, it is not finished yet, or its steps were not kept.
        SettingsError: a name that no method has.
    """
    reader = RunReader(folder.expanduser())
    name = _method(reader, method)
    question = _question(reader, question_id)
    outcome = reader.latest(name).get(OutcomeKey(name, question.id, repeat))
    if outcome is None:
        raise RunError(f"{folder}: {name} has not finished {question.id!r:.80} (repeat {repeat + 1})")
    if as_json:
        _print_json(_record(reader, question, outcome))
        return
    console = console_on()
    _print_head(console, reader, name, question, outcome)
    if outcome["error"]:
        print_hanging(console, Text(), Text(f"Failed: {sanitize_line(outcome['error'])}", "bold red"), indent=0)
        return
    record = reader.trace(outcome)
    _replay(console, question, record["trace"], _passages(reader, outcome, record["trace"]), verbose=verbose)
    print_answer(console, {**record, "passages": []}, outcome["seconds"])
    _print_verdict(console, reader, question, outcome)


def _method(reader: RunReader, given: str | None) -> str:
    names = list(reader.manifest.methods)
    if given is None:
        if len(names) == 1:
            return names[0]
        raise RunError(f"{reader.folder} has several methods; name one with --method: {', '.join(names)}")
    name = method_named(given).Context.method
    if name not in names:
        raise RunError(f"{reader.folder} has no {name}; it has: {', '.join(names)}")
    return name


def _question(reader: RunReader, question_id: str) -> EvalQuestion:
    questions = {question.id: question for question in reader.questions()}
    if question_id in questions:
        return questions[question_id]
    close = get_close_matches(question_id, questions, n=1)
    meant = (
        f"; did you mean {close[0]!r:.80}?"
        if close
        else f"; the first of its {len(questions):,} is " + repr(next(iter(questions), ""))
    )
    raise RunError(f"{reader.folder} did not ask {question_id!r:.80}{meant}")


def _record(reader: RunReader, question: EvalQuestion, outcome: Outcome) -> dict[str, Any]:
    """Return the stored record with what the run knows about the question; a failure has no steps."""
    steps: Mapping[str, Any] = (
        {"question": question.question, "method": outcome["method"], "trace": []}
        if outcome["error"]
        else reader.trace(outcome)
    )
    gold_by = reader.manifest.corpus.gold_by
    known = {
        "id": question.id,
        "type": question.type,
        "gold_answers": None if question.answers is None else list(question.answers),
        "gold_passages": list(gold_names(question, gold_by)),
        "retrieved": outcome["retrieved"],
        "titles": outcome["titles"],
        "scores": score_outcome(outcome, question, gold_by),
        "seconds": outcome["seconds"],
        "error": outcome["error"],
        "stand_in": describe_simulated(reader.manifest),
    }
    return {**steps, "evaluation": known}


def _print_json(record: Mapping[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(record, ensure_ascii=True, indent=2 if sys.stdout.isatty() else None)}\n")


def _print_head(console: Console, reader: RunReader, name: str, question: EvalQuestion, outcome: Outcome) -> None:
    settings = reader.manifest.methods[name]
    title = METHODS[name].graph.get_name()
    line = f"{title} · model {settings.get('model')} · corpus {reader.manifest.corpus.retriever} · {question.id}"
    print_hanging(console, Text(), Text(sanitize_line(line), "bold"), indent=0)
    if label := describe_simulated(reader.manifest):
        print_hanging(console, Text(), Text(f"A{sanitize_line(label)[1:]}.", "yellow"), indent=0)
    print_hanging(console, Text("Question", "bold"), Text(sanitize_line(question.question)))
    if question.answers is not None:
        gold = " | ".join(map(sanitize_line, question.answers)) or "none: it cannot be answered"
        print_hanging(console, Text("Gold", "bold"), Text(gold))
    _print_gold_passages(console, reader, question, outcome)


def _print_gold_passages(console: Console, reader: RunReader, question: EvalQuestion, outcome: Outcome) -> None:
    """Print of each gold passage whether it was found, and at which rank."""
    gold_by = reader.manifest.corpus.gold_by
    found = list(dict.fromkeys(outcome["titles"] if gold_by == "titles" else outcome["retrieved"]))
    titles = {each.id: each.title for each in question.contexts}
    for number, name in enumerate(gold_names(question, gold_by)):
        rank = f"found, {found.index(name) + 1} of {len(found)}" if name in found else "not found"
        text = Text.assemble(
            f"{sanitize_line(titles.get(name) or name)}: ", (rank, "green" if name in found else "red")
        )
        print_hanging(console, Text("" if number else "Passages", "bold"), text)


def _replay(
    console: Console,
    question: EvalQuestion,
    trace: Iterable[StepEvent],
    passages: Iterable[Passage],
    *,
    verbose: bool,
) -> None:
    narrator = Narrator(verbose=verbose)
    narrator.add_passages(passages)
    display = RunDisplay(console)
    for event in trace:
        display.print_lines(narrator.add_event(event))
    display.print_lines(narrator.flush())
    print_tree(console, TerminalTree(question.question, narrator.events, verbose))


def _passages(reader: RunReader, outcome: Outcome, trace: Iterable[StepEvent]) -> list[Passage]:
    """Return the passages of the steps: titles from the steps, texts where the run has a corpus of its own."""
    titles = dict(zip(outcome["retrieved"], outcome["titles"], strict=True))
    for step in trace:
        if isinstance(event := parse_event(step), Retrieved):
            titles.update(zip(event.passage_ids, event.titles, strict=False))
    texts = _texts(reader, titles)
    return [
        Passage(id=key, title=title, text=texts.get(key, ""), score=0.0, source="", hop=1)
        for key, title in titles.items()
    ]


def _texts(reader: RunReader, wanted: Mapping[str, str]) -> dict[str, str]:
    """Read texts from the corpus of the data set's contexts; none for another corpus, which may be anywhere."""
    folder = reader.folder / CORPUS
    if not reader.manifest.corpus.retriever.endswith(CONTEXTS) or not folder.is_dir():
        return {}
    passages = PassageFile(folder)
    every = (passages[row] for row in range(len(passages)))
    return {each.id: each.text for each in every if each.id in wanted}


def _print_verdict(console: Console, reader: RunReader, question: EvalQuestion, outcome: Outcome) -> None:
    scores = score_outcome(outcome, question, reader.manifest.corpus.gold_by)
    parts = [f"{label} {100 * scores[name]:.0f}" for name, label in _SCORES.items() if name in scores]
    if parts:
        right = scores.get("em") == 1.0
        style = "green" if right else "red" if "em" in scores else "dim"
        print_hanging(console, Text(), Text(" · ".join(parts), style), indent=0)
