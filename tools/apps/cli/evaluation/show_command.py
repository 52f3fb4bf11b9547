"""`hopgraph show`: how a method of a run answered one question."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from rich.console import Console
from rich.text import Text

from hopgraph.graphs import METHODS, find_method
from hopgraph.state import Passage, RunError, StepEvent
from hopgraph.state.events import Retrieved, parse_event
from hopgraph.tools.apps.cli.console import console_on, print_hanging, print_json, print_line
from hopgraph.tools.apps.cli.evaluation.evaluation_options import ShowOptions
from hopgraph.tools.apps.cli.run_output import RunDisplay, print_answer, print_tree
from hopgraph.tools.apps.evaluation.batch.run_directory import (
    Outcome,
    OutcomeKey,
    RunReader,
    describe_simulated,
    models_in,
    shown_model,
)
from hopgraph.tools.apps.evaluation.batch.run_setup import CONTEXTS, CORPUS
from hopgraph.tools.apps.evaluation.batch.scores import gold_names, score_outcome
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.step_oracle import ALL_STEPS, PlayedRuns
from hopgraph.tools.apps.runs.narration import Narrator
from hopgraph.tools.retrieval import open_index
from hopgraph.tools.text.sanitize import sanitize_line

_SCORES = {"em": "EM", "f1": "F1", "grounded_f1": "grounded F1", "recall@15": "R@15"}


def run_show(options: ShowOptions) -> None:
    """Replay one question of a run, whose steps must have been stored."""
    folder, verbose = options.run, options.verbose
    reader = RunReader(folder.expanduser())
    name = _method(reader, options.method)
    question = _question(reader, options.question)
    outcome = reader.latest(name).get(OutcomeKey(name, question.id, options.repeat - 1))
    if outcome is None:
        raise RunError(f"{folder}: {name} has not finished {question.id!r:.80} (repeat {options.repeat})")
    if options.as_json:
        print_json(_record(reader, question, outcome))
        return
    console = console_on()
    _print_head(console, reader, question, outcome)
    if outcome["error"]:
        print_line(console, f"Failed: {outcome['error']}", "bold red")
        return
    record, narrator = reader.trace(outcome), Narrator(verbose=verbose)
    narrator.add_passages(_passages(reader, outcome, record["trace"]))
    with RunDisplay(console, whole=verbose) as display:
        for event in record["trace"]:
            display.print_lines(narrator.add_event(event))
        display.print_lines(narrator.flush())
    print_tree(console, question.question, narrator.events, whole=verbose)
    print_answer(console, record, outcome["seconds"])
    scores = score_outcome(outcome, question, reader.manifest.corpus.gold_by)
    if parts := [f"{label} {100 * scores[name]:.0f}" for name, label in _SCORES.items() if name in scores]:
        judged = "green" if scores.get("em") == 1.0 else "red"
        print_line(console, " · ".join(parts), judged if "em" in scores else "dim")
    if wrong := _describe_first_wrong(reader, outcome, question):
        print_line(console, wrong, "yellow")


def _describe_first_wrong(reader: RunReader, outcome: Outcome, question: EvalQuestion) -> str:
    """Return the first wrong step of a wrong answer; empty for a right one, or if no step was replayed."""
    runs = PlayedRuns(reader)
    step = runs.first_wrong_step(outcome, question)
    if step is None:
        return ""
    if step:
        key = OutcomeKey(outcome["method"], outcome["id"], outcome["repeat"])
        played = runs.outcome(step, key)
        answer = sanitize_line(played["answer"]) if played else ""
        return f"First wrong step: {step}. Answered from the gold annotations, it leads to {answer!r}."
    said = "No single step answered from the gold annotations corrects this"
    if ALL_STEPS not in runs.readers:
        return f"{said}."
    together = (
        "all of them together do" if runs.repairs(ALL_STEPS, outcome, question) else "nor do all of them together"
    )
    return f"{said}; {together}."


def _method(reader: RunReader, given: str | None) -> str:
    names = list(reader.manifest.methods)
    if given is None:
        if len(names) == 1:
            return names[0]
        raise RunError(f"{reader.folder} has several methods; name one with --method: {', '.join(names)}")
    name = given if given in names else find_method(given).name
    if name not in names:
        raise RunError(f"{reader.folder} has no {name}; it has: {', '.join(names)}")
    return name


def _question(reader: RunReader, question_id: str) -> EvalQuestion:
    """Find a question by id, else by its number in the run."""
    questions = {question.id: question for question in reader.questions()}
    numbered = {str(number): question for number, question in enumerate(questions.values(), start=1)}
    if found := (numbered | questions).get(question_id):
        return found
    close = get_close_matches(question_id, questions, n=1)
    first = f"; the first of its {len(questions):,} is {next(iter(questions), '')!r}"
    meant = f"; did you mean {close[0]!r:.80}?" if close else first
    raise RunError(f"{reader.folder} did not ask {question_id!r:.80}{meant}")


def _record(reader: RunReader, question: EvalQuestion, outcome: Outcome) -> Mapping[str, Any]:
    """Return the stored record with the run's data on the question; a failed question has no steps."""
    without_steps: dict[str, Any] = {"question": question.question, "method": outcome["method"], "trace": []}
    gold_by = reader.manifest.corpus.gold_by
    known = {
        "id": question.id,
        "type": question.type,
        "gold_answers": None if question.answers is None else list(question.answers),
        "gold_passages": list(gold_names(question, gold_by)),
        "retrieved": outcome["retrieved"],
        "titles": outcome["titles"],
        "scores": score_outcome(outcome, question, gold_by),
        "first_wrong_step": PlayedRuns(reader).first_wrong_step(outcome, question),
        "seconds": outcome["seconds"],
        "error": outcome["error"],
        "stand_in": describe_simulated(reader.manifest.methods.values()),
    }
    return {**(without_steps if outcome["error"] else reader.trace(outcome)), "evaluation": known}


def _print_head(console: Console, reader: RunReader, question: EvalQuestion, outcome: Outcome) -> None:
    """Print the question and its setup, and the rank of each gold passage if it was found."""
    model, corpus = models_in(reader.manifest.methods[outcome["method"]])[0], reader.manifest.corpus
    known = METHODS.get(outcome["method"])
    title = known.graph.get_name() if known else sanitize_line(outcome["method"])
    print_line(console, f"{title} · model {shown_model(model)} · corpus {corpus.retriever} · {question.id}", "bold")
    if label := describe_simulated(reader.manifest.methods.values()):
        print_line(console, f"A{label[1:]}.", "yellow")
    print_hanging(console, Text("Question", "bold"), Text(sanitize_line(question.question)))
    if question.answers is not None:
        gold = " | ".join(map(sanitize_line, question.answers)) or "none (unanswerable)"
        print_hanging(console, Text("Gold", "bold"), Text(gold))
    found = list(dict.fromkeys(outcome["titles"] if corpus.gold_by == "titles" else outcome["retrieved"]))
    titles = {each.id: each.title for each in question.contexts}
    for number, name in enumerate(gold_names(question, corpus.gold_by)):
        title = f"{sanitize_line(titles.get(name) or name)}: "
        rank = (f"found, {found.index(name) + 1} of {len(found)}", "green") if name in found else ("not found", "red")
        print_hanging(console, Text("" if number else "Passages", "bold"), Text.assemble(title, rank))


def _passages(reader: RunReader, outcome: Outcome, trace: Iterable[StepEvent]) -> list[Passage]:
    """Return the passages of the steps; their texts are empty unless the corpus is the data set's contexts."""
    titles = dict(zip(outcome["retrieved"], outcome["titles"], strict=True))
    for step in trace:
        if isinstance(event := parse_event(step), Retrieved):
            titles.update(zip(event.passage_ids, event.titles, strict=False))
    texts, folder = dict[str, str](), reader.folder / CORPUS
    if reader.manifest.corpus.retriever.endswith(CONTEXTS) and folder.is_dir():
        stored = open_index(folder).passages
        every = (stored[row] for row in range(len(stored)))
        texts = {each.id: each.text for each in every if each.id in titles}
    return [
        Passage(id=key, title=title, text=texts.get(key, ""), score=0.0, source="", hop=1)
        for key, title in titles.items()
    ]
