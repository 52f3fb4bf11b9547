"""Measure the F1 lost in each step of a method, by repeating the run with that step answered by an oracle.

The oracle answers from the gold annotations. Each such run is in a folder of the run, `oracle/STEP`; in `oracle/all` it
answers every step. The difference in F1 is the model's loss in that step that later steps cannot repair; the loss left
under `all` is due to retrieval and the method itself.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from hopgraph.graphs import METHODS
from hopgraph.state import Context, SettingsError
from hopgraph.state.errors import did_you_mean
from hopgraph.state.events import Asked, parse_event
from hopgraph.tools.apps.evaluation.batch.run_directory import (
    MANIFEST,
    Outcome,
    OutcomeKey,
    RunReader,
    file_hash,
    frozen_settings,
)
from hopgraph.tools.apps.evaluation.batch.run_setup import PreparedRun
from hopgraph.tools.apps.evaluation.batch.scores import score_questions
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import EXACT_MATCH
from hopgraph.tools.apps.evaluation.significance import Interval, bootstrap
from hopgraph.tools.models.players.step_replies import PLAYED_STEPS

ORACLE = "oracle"
"""The folder in a run with the runs with oracle steps."""
ALL_STEPS = "all"
"""In `--oracle`: each step of the run separately, then all of them together; also the name of the latter."""


class StepCost(NamedTuple):
    """A method's loss in one of its steps, over the questions that both runs finished."""

    method: str
    step: str
    """The step; `all` for all steps together."""
    n: int
    oracle_f1: float
    """Mean F1 with the step answered by the oracle."""
    difference: float
    """Mean F1 of the run itself minus `oracle_f1`; negative if the model loses."""
    ci95: Interval
    first_wrong: int
    """Number of questions whose first wrong step this is; 0 for `all`."""


def choose_steps(asked_for: str, methods: Mapping[str, Context]) -> list[str]:
    """Parse `--oracle`: `all`, or comma-separated steps; SettingsError for a step that no method or oracle knows."""
    steps = [(step, each) for each in methods.values() for step in each.all_steps()]
    known = list(dict.fromkeys(step for step, each in steps if step in PLAYED_STEPS or step in each.rehearsal_replies))
    if asked_for.strip().lower() == ALL_STEPS:
        return [*known, ALL_STEPS]
    named = list(dict.fromkeys(name.strip() for name in asked_for.split(",") if name.strip()))
    if unknown := next((step for step in named or [asked_for] if step not in known), ""):
        raise SettingsError(
            f"--oracle {unknown!r:.80}: {', '.join(methods)}: no such step that gold annotations can answer"
            f"{did_you_mean(unknown, known)}; valid: {', '.join([*known, ALL_STEPS])}"
        )
    return named


def with_gold_player(prepared: PreparedRun, step: str, player: str) -> PreparedRun:
    """Return the run with a step, or all, answered by the model spec `player`; without methods that lack the step."""
    methods = {
        name: each.model_copy(
            update={"model": player, "models": {}}
            if step == ALL_STEPS
            else {"models": {**each.models, f"{each.method}/{step}": player}}
        )
        for name, each in prepared.methods.items()
        if step == ALL_STEPS or step in each.all_steps()
    }
    manifest = prepared.manifest
    kept = {part: {name: each for name, each in getattr(manifest, part).items() if name in methods} for part in _PARTS}
    kept["methods"] = {name: frozen_settings(each) for name, each in methods.items()}
    return prepared._replace(manifest=manifest.model_copy(update=kept), methods=methods)


_PARTS = ("prompts", "code")


def asked_steps(reader: RunReader) -> set[str] | None:
    """Return the steps with model calls in a run; None if the run has no traces."""
    found, is_known = set[str](), False
    for method in reader.manifest.methods:
        for outcome in reader.latest(method).values():
            if outcome["trace"]:
                is_known = True
                found.update(_asked(reader, outcome))
    return found if is_known else None


def _asked(reader: RunReader, outcome: Outcome) -> list[str]:
    """Return the steps with model calls of one question, in the order of their first call; empty without a trace."""
    trace = reader.trace(outcome)["trace"] if outcome["trace"] else ()
    roles = (event.role for step in trace if isinstance(event := parse_event(step), Asked))
    own = (role.rpartition("/")[2] for role in roles if role.startswith(f"{outcome['method']}/"))
    return list(dict.fromkeys(own))


class PlayedRuns:
    """A run and its repetitions with oracle steps."""

    def __init__(self, reader: RunReader) -> None:
        """Open the repetitions with oracle steps, if any."""
        self.reader = reader
        folders = sorted((reader.folder / ORACLE).glob(f"*/{MANIFEST}"))
        self.readers = {path.parent.name: RunReader(path.parent) for path in folders}
        self._latest: dict[tuple[str, str], dict[OutcomeKey, Outcome]] = {}

    def steps_of(self, method: str) -> list[str]:
        """Return a method's oracle steps, in the method's order, with `all` last."""
        played = [step for step, each in self.readers.items() if method in each.manifest.methods]
        order = METHODS[method].Context.all_steps() if method in METHODS else ()
        return sorted(played, key=lambda step: (step == ALL_STEPS, order.index(step) if step in order else len(order)))

    def outcome(self, step: str, key: OutcomeKey) -> Outcome | None:
        """Return the outcome of a question with an oracle step; None if it is not finished."""
        place = step, key.method
        if place not in self._latest:
            self._latest[place] = self.readers[step].latest(key.method)
        return self._latest[place].get(key)

    def repairs(self, step: str, outcome: Outcome, question: EvalQuestion) -> bool:
        """Return whether the oracle step makes a wrong answer right, by exact match."""
        played = self.outcome(step, OutcomeKey(outcome["method"], outcome["id"], outcome["repeat"]))
        return played is not None and _is_right(played, question)

    def first_wrong_step(self, outcome: Outcome, question: EvalQuestion) -> str | None:
        """Return the first step, in the order of calls, with which the oracle makes a wrong answer right.

        Empty if no single step does; None if the answer is right or unknown, or there are no oracle steps.
        """
        steps = [step for step in self.steps_of(outcome["method"]) if step != ALL_STEPS]
        if not steps or not question.answers or _is_right(outcome, question):
            return None
        asked = _asked(self.reader, outcome)
        order = [step for step in asked if step in steps] if asked else steps
        return next((step for step in order if self.repairs(step, outcome, question)), "")


def _is_right(outcome: Outcome, question: EvalQuestion) -> bool:
    return not outcome["error"] and EXACT_MATCH(outcome["answer"], question.answers or ()) == 1.0


def step_costs(reader: RunReader, methods: Collection[str] | None = None) -> list[StepCost]:
    """Return the loss in each oracle step, by method and in the order of its steps."""
    runs = PlayedRuns(reader)
    if not runs.readers:
        return []
    questions, found = {each.id: each for each in reader.questions()}, list[StepCost]()
    for method in reader.manifest.methods if methods is None else methods:
        outcomes = [each for each in reader.latest(method).values() if each["repeat"] == 0 and each["id"] in questions]
        wrong = Counter(runs.first_wrong_step(each, questions[each["id"]]) for each in outcomes)
        own = score_questions(reader, method, questions)
        for step in runs.steps_of(method):
            played = score_questions(runs.readers[step], method, questions)
            pairs = [(own[name]["f1"], row["f1"]) for name, row in played.items() if "f1" in own.get(name, {})]
            if pairs:
                differences = [before - after for before, after in pairs]
                mean = fmean(after for _, after in pairs)
                spread = bootstrap(differences)
                found.append(StepCost(method, step, len(pairs), mean, fmean(differences), spread, wrong[step]))
    return found


def gold_player(dataset: Path, rename: int | None) -> str:
    """Return the spec of the oracle that answers from a data set's gold annotations, with a renamed run's names.

    It reads loosely, so that it understands other models' wording. As it never errs, its seed has no effect, except to
    distinguish versions of the file in a reply cache.
    """
    names = "" if rename is None else f"&rename={rename}"
    return f"rehearsal:{dataset}?reads=loose&seed={int(file_hash(dataset)[:12], 16)}{names}"
