"""The F1 that each step of a method loses: repeat the run with that step answered from the gold annotations.

Such a run is its own folder within the run, `oracle/STEP`; in `oracle/all` every step is played. A difference in
F1 is what the model loses in that step and later steps cannot repair; what is left under `all` is lost by what was
retrieved, and by the method itself.
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
"""The folder of a run that holds the runs with oracle steps."""
ALL_STEPS = "all"
"""In `--oracle`: each step that the run asked by itself, then all of them together; also the name of the latter."""


class StepCost(NamedTuple):
    """The loss of a method in one of its steps, over the questions that both runs finished."""

    method: str
    step: str
    """`all` for all of them together."""
    n: int
    played: float
    """The mean F1 with the step played from the gold annotations."""
    difference: float
    """The mean F1 of the run itself minus that; below 0 where the model loses."""
    ci95: Interval
    first_wrong: int
    """Number of questions whose first wrong step this is; 0 for `all`."""


def choose_steps(asked_for: str, methods: Mapping[str, Context]) -> list[str]:
    """Read `--oracle`: `all`, or comma-separated steps; SettingsError for one that no method has or no player knows."""
    steps = [(step, each) for each in methods.values() for step in each.all_steps()]
    known = list(dict.fromkeys(step for step, each in steps if step in PLAYED_STEPS or step in each.rehearsal_replies))
    if asked_for.strip().lower() == ALL_STEPS:
        return [*known, ALL_STEPS]
    named = list(dict.fromkeys(name.strip() for name in asked_for.split(",") if name.strip()))
    if unknown := next((step for step in named or [asked_for] if step not in known), ""):
        raise SettingsError(
            f"--oracle {unknown!r:.80}: {', '.join(methods)}: no such step that can be played from gold annotations"
            f"{did_you_mean(unknown, known)}; valid: {', '.join([*known, ALL_STEPS])}"
        )
    return named


def with_gold_player(prepared: PreparedRun, step: str, player: str) -> PreparedRun:
    """Return the run with a step, or all, played by the model of this spec; without the methods that lack the step."""
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
    """Return the steps that any method of a run asked a model; None if the run kept no traces."""
    found, is_known = set[str](), False
    for method in reader.manifest.methods:
        for outcome in reader.latest(method).values():
            if outcome["trace"]:
                is_known = True
                found.update(_asked(reader, outcome))
    return found if is_known else None


def _asked(reader: RunReader, outcome: Outcome) -> list[str]:
    """Return the steps of one run in the order in which they were first asked; none without a trace."""
    trace = reader.trace(outcome)["trace"] if outcome["trace"] else ()
    roles = (event.role for step in trace if isinstance(event := parse_event(step), Asked))
    own = (role.rpartition("/")[2] for role in roles if role.startswith(f"{outcome['method']}/"))
    return list(dict.fromkeys(own))


class PlayedRuns:
    """A run with those beside it in which a step is played."""

    def __init__(self, reader: RunReader) -> None:
        """Open the runs with played steps; none is an empty one."""
        self.reader = reader
        folders = sorted((reader.folder / ORACLE).glob(f"*/{MANIFEST}"))
        self.readers = {path.parent.name: RunReader(path.parent) for path in folders}
        self._latest: dict[tuple[str, str], dict[OutcomeKey, Outcome]] = {}

    def steps_of(self, method: str) -> list[str]:
        """List the steps of a method that were played, in its own order, `all` last."""
        played = [step for step, each in self.readers.items() if method in each.manifest.methods]
        order = METHODS[method].Context.all_steps() if method in METHODS else ()
        return sorted(played, key=lambda step: (step == ALL_STEPS, order.index(step) if step in order else len(order)))

    def outcome(self, step: str, key: OutcomeKey) -> Outcome | None:
        """Return the outcome of a question with a step replaced; None if it is not finished."""
        place = step, key.method
        if place not in self._latest:
            self._latest[place] = self.readers[step].latest(key.method)
        return self._latest[place].get(key)

    def repairs(self, step: str, outcome: Outcome, question: EvalQuestion) -> bool:
        """Return whether a wrong answer is right by exact match once the step is played."""
        played = self.outcome(step, OutcomeKey(outcome["method"], outcome["id"], outcome["repeat"]))
        return played is not None and _is_right(played, question)

    def first_wrong_step(self, outcome: Outcome, question: EvalQuestion) -> str | None:
        """Return the first step, in the order in which they were asked, that makes a wrong answer right when played.

        Empty where no single step does; None for a right answer, an unknown one, and where no step was played.
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
    """Measure what each played step costs, by method and in the order of its steps; empty without played steps."""
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
    """Return the spec of the model that plays from a data set's gold annotations, with the names of a renamed run.

    It understands what the other steps' model put into its own words. It never errs, so that its seed does not
    matter to it: it tells other contents of the file apart in a reply cache.
    """
    names = "" if rename is None else f"&rename={rename}"
    return f"rehearsal:{dataset}?reads=loose&seed={int(file_hash(dataset)[:12], 16)}{names}"
