"""Choose a cascade's stages on training questions, by simulating cascades from the results of single methods.

A stage's answer is accepted if it cites a passage; else the next stage answers, and both are paid for. The simulation
ignores what stages pass on to the next one, and what `verify` rejects.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from itertools import permutations
from math import inf
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import RunError, SettingsError
from hopgraph.state.cascade import CascadeContext
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader, frozen_settings
from hopgraph.tools.apps.evaluation.comparison import ScoredMethod, compare_runs
from hopgraph.tools.apps.evaluation.cost_estimate import PriceTable
from hopgraph.tools.apps.evaluation.significance import bootstrap
from hopgraph.tools.io.guarded_files import write_files

CANDIDATES, FIRST_STAGE = "one_step,chain_of_reviews,react,migres", "one_step.top_k=10"
"""Default candidates for stages, and the default first stage."""
MAX_STAGES = 3
"""Maximum stages of a chosen cascade, the number of the default."""
_SCORES = {"f1": "f1", "calls": "llm_calls", "cost": "cost"}
"""Measure → its name among a run's scores, in the order of `StageResults.measured`."""
_MEASURES = list(_SCORES)


class CascadeTarget(NamedTuple):
    """The target of a cascade: at least this `f1`, or at most these `calls` or this `cost` per question."""

    measure: str
    value: float


class StageResults(NamedTuple):
    """One method's results on the questions."""

    stage: str
    """The method with its settings, as in the setting `stages`."""
    measured: NDArray[np.float64]
    """Array of shape (questions, measures): F1, calls, and the cost if it is known."""
    accepted: NDArray[np.bool_]
    """Whether its answer would end a cascade."""


def read_target(text: str | None, *, priced: bool) -> CascadeTarget | None:
    """Parse `f1=0.8`, `calls=2` or `cost=0.001`; SettingsError for anything else."""
    if text is None:
        return None
    measure, _, number = text.partition("=")
    try:
        target = CascadeTarget(measure.strip(), float(number))
    except ValueError:
        target = CascadeTarget("", 0)
    if not 0 < target.value <= {"f1": 1, "calls": inf, "cost": inf}.get(target.measure, 0):
        raise SettingsError(f"--target {text!r:.80}: write f1=SHARE (at most 1), calls=NUMBER or cost=AMOUNT")
    if target.measure == "cost" and not priced:
        raise SettingsError(f"--target {text}: the cost needs --prices FILE, with the price of the model")
    return target


def write_stages(
    reader: RunReader, out: Path, *, target: CascadeTarget | None = None, prices: PriceTable | None = None
) -> str:
    """Choose stages on half of a run's questions, measure them on the other half, write a file; return how to use them.

    RunError: fewer than two questions that all methods have answered, or no stages that reach the target.
    """
    tried = read_results(reader, prices)
    order = np.random.default_rng(0).permutation(len(tried[0].accepted))
    half = (len(order) + 1) // 2
    stages = choose_stages(tried, order[:half], target)
    single = {each.stage: _figures([each], order[half:]) for each in tried}
    chosen = _figures(stages, order[half:])
    names = [each.stage for each in stages]
    record = {"stages": names, "target": target, "questions": [half, len(order) - half], "cascade": chosen}
    write_files({out: f"{json.dumps({**record, 'single': single}, indent=2)}\n".encode("ascii")})
    lines = [f"{', '.join(names)}: {_in_words(chosen)}"]
    lines += [f"{name} alone: {_in_words(figures)}" for name, figures in single.items()]
    head = f"chosen on {half:,} questions; on {len(order) - half:,} others, with 95 % intervals:"
    use = shlex.quote(f"stages={','.join(names)}")
    return "\n".join([head, *lines, f"use it: --method cascade --set {use}"])


def read_results(reader: RunReader, prices: PriceTable | None = None) -> list[StageResults]:
    """Return the results of every method that can be a stage, on the questions that all of them have answered."""
    methods = [
        each
        for each in compare_runs([reader], prices).methods
        if not METHODS[each.method].takes_gold_passages and each.method != CascadeContext.method
    ]
    finished = [{name for name, row in each.rows.items() if "f1" in row and not row["failed"]} for each in methods]
    common = sorted(set[str].intersection(*finished)) if finished else []
    if len(common) < 2:
        raise RunError(f"{reader.folder}: no two questions with gold answers were answered by every method; ask more")
    scores = [name for name in _SCORES.values() if all(name in each.rows[common[0]] for each in methods)]
    return [_results(each, common, scores) for each in methods]


def _results(method: ScoredMethod, questions: Sequence[str], scores: Sequence[str]) -> StageResults:
    cited = {
        each["id"]
        for each in method.reader.latest(method.method).values()
        if each["answer"] and not each["repeat"] and any(quoted["kind"] == "passage" for quoted in each["citations"])
    }
    measured = np.array([[method.rows[name][score] for score in scores] for name in questions])
    accepted = np.array([name in cited for name in questions])
    return StageResults(as_stage(method.method, method.settings), measured, accepted)


def as_stage(method: str, settings: Mapping[str, JsonValue]) -> str:
    """Return a method with its non-default settings, as in the setting `stages`, without the model."""
    plain = frozen_settings(METHODS[method].Context())
    changed: dict[str, str] = {}
    for name, value in settings.items():
        if value is not None and value != plain.get(name) and name not in {"model", "models"}:
            changed[name] = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{method}?{urlencode(changed)}" if changed else method


def choose_stages(
    tried: Sequence[StageResults], questions: NDArray[np.intp], target: CascadeTarget | None
) -> list[StageResults]:
    """Choose the cheapest stages that reach a target F1, or the stages with the best F1 within a limit.

    The cheapest is by cost if known, else by calls. The default target is the F1 of the best single method.
    """
    choices = [each for size in range(1, MAX_STAGES + 1) for each in permutations(tried, size)]
    means = np.array([run_through(each)[questions].mean(axis=0) for each in choices]).round(9)
    measure, value = target or CascadeTarget("f1", float(means[: len(tried), 0].max()))
    f1, spent = means[:, 0], means[:, _MEASURES.index(measure) or -1]  # for an F1 the last: the cost, if known
    fits, keys = (f1 >= value, (spent, -f1)) if measure == "f1" else (spent <= value, (-f1, spent))
    if not fits.any():
        least = f1.max() if measure == "f1" else spent.min()
        raise RunError(f"--target {measure}={value:g}: no stages reach it (best: {least:.3g}); try more --methods")
    places = np.flatnonzero(fits)
    best = places[np.lexsort([key[places] for key in reversed(keys)])[0]]
    return list(choices[int(best)])


def run_through(stages: Sequence[StageResults]) -> NDArray[np.float64]:
    """Return each question's measures in a cascade: the F1 of the last stage that runs, and the sums of the others."""
    total, left = np.zeros_like(stages[0].measured), np.ones(len(stages[0].accepted), dtype=bool)
    for stage in stages:
        total[left, 0] = stage.measured[left, 0]
        total[left, 1:] += stage.measured[left, 1:]
        left &= ~stage.accepted
    return total


def _figures(stages: Sequence[StageResults], questions: NDArray[np.intp]) -> dict[str, list[float]]:
    """Return the mean and confidence interval of each measure: [mean, low, high]."""
    named = zip(_MEASURES, run_through(stages)[questions].T, strict=False)
    return {name: [float(each.mean()), *bootstrap(each.tolist())] for name, each in named}


def _in_words(figures: Mapping[str, Sequence[float]]) -> str:
    scaled = ((name, [100 * each for each in ends] if name == "f1" else ends) for name, ends in figures.items())
    return ", ".join(f"{name} {mean:.3g} [{low:.3g}, {high:.3g}]" for name, (mean, low, high) in scaled)
