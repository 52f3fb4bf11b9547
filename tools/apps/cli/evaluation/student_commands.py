"""`hopgraph train` and `check-student`: train a student on the examples of `hopgraph distill`, and measure it."""

import json
import os
import shlex
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from hopgraph.state import RunError, SettingsError, SpecError
from hopgraph.tools.apps.cli.console import console_on, print_json, print_line, show_progress
from hopgraph.tools.apps.cli.evaluation.evaluation_options import CheckOptions, TrainOptions
from hopgraph.tools.apps.evaluation.report.figures import drawing
from hopgraph.tools.apps.evaluation.student_check import (
    Outcomes,
    Score,
    StudentScores,
    ask_examples,
    count_outcomes,
    score_replies,
)
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.process_limits import limit_memory
from hopgraph.tools.io.redact import redact
from hopgraph.tools.scoring.weights.model_specs import read_spec
from hopgraph.tools.students.base_models import find_base
from hopgraph.tools.students.student_model import merge_student
from hopgraph.tools.students.student_record import StudentRecord, read_examples
from hopgraph.tools.students.training import LOSSES, TrainingPlan, train
from hopgraph.tools.students.training_settings import choose_settings

_GIGABYTE = 10**9


def run_train(options: TrainOptions) -> None:
    """Train or resume, write the loss curve, and print what it cost and how to use the student."""
    examples, facts = read_examples(options.data.expanduser())
    given = _assignments(options)
    require("trl", "train")
    base = find_base(read_spec(f"student:{options.student}"))
    kind = options.as_kind or base.kind()
    settings, marked = choose_settings(facts.role, kind, given, options.settings)
    if options.memory_limit:
        _limit(int(options.memory_limit * _GIGABYTE))
    plan = TrainingPlan(options.out.expanduser(), base, kind, settings, marked, examples, facts)
    try:
        with show_progress({"train": "training"}) as progress:
            record = train(plan, progress)
    except MemoryError:  # before the first step; `train` reports later ones
        if options.memory_limit is None:
            raise
        raise RunError(f"--memory-limit {options.memory_limit}: the libraries and the weights need more") from None
    if os.environ.get("RANK", "0") != "0":  # of several processes, the first one reports
        return
    if options.merged:
        merge_student(plan.out)
    _draw_losses(plan.out)
    _report(plan.out, record)


def _assignments(options: TrainOptions) -> dict[str, str]:
    given: dict[str, str] = {}
    for each in options.assignments or []:
        name, equals, value = each.partition("=")
        if not equals:
            raise SettingsError(f"--set {each}: write NAME=VALUE")
        given[name.strip()] = value.strip()
    if options.full:
        given["lora_rank"] = "0"
    return given if options.seed is None else {**given, "seed": str(options.seed)}


def _limit(memory: int) -> None:
    torch = require("torch", "train")
    if not torch.cuda.is_available():
        limit_memory(memory)
        return
    for number in range(torch.cuda.device_count()):
        there = torch.cuda.get_device_properties(number).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, memory / there), number)


def _draw_losses(folder: Path) -> None:
    """Draw the loss of each step, where matplotlib is installed."""
    losses: list[dict[str, float]] = json.loads((folder / LOSSES).read_text("utf-8"))
    try:
        with drawing():
            figure: Any = require("matplotlib.figure", "figures").Figure(figsize=(6, 3.5), layout="constrained")
            axes = figure.subplots()
            axes.plot([each["step"] for each in losses], [each["loss"] for each in losses])
            axes.set(xlabel="step", ylabel="loss", ylim=(0, None))
            figure.savefig(folder / "loss.png", dpi=150)
    except SpecError:
        return


def _report(out: Path, record: StudentRecord) -> None:
    console, trained = console_on(), record.data.examples - record.left_out
    epochs = float(record.settings["epochs"].value)
    each = (record.seconds or 0) / max(1.0, trained * epochs)
    bound = json.dumps({record.data.role: f"student:{out}"})
    lines = [
        f"{out}: {trained} examples, {epochs:g} epochs, {record.seconds:.0f} s, {each:.2f} s for each",
        f"use it: --set {shlex.quote(f'models={bound}')}",
    ]
    if record.left_out:
        lines.append(f"{record.left_out} examples are longer than max_length, and were left out")
    for line in lines:  # which can be copied from a narrow terminal, too
        console.print(Text(line), soft_wrap=True)


def run_check_student(options: CheckOptions) -> None:
    """Ask one or two models all examples, and print how they did."""
    spec, before = options.spec, options.before
    examples, facts = read_examples(options.data.expanduser())
    counted: list[Outcomes] = []
    specs = [spec, *([before] if before else [])]
    with show_progress({each: redact(each) for each in specs}) as progress:
        for each in specs:
            asked = ask_examples(each, facts.role, examples, options.parallel, partial(progress, each))
            replies = run_in_background(asked)
            counted.append(count_outcomes(facts.role, examples, replies))
    after = score_replies(counted[0], facts.role, *counted[1:])
    old = score_replies(counted[1], facts.role) if before else None
    about = {"role": facts.role, "examples": len(examples), "questions": len(counted[0])}
    if options.as_json:
        compared = {"before": {"model": redact(before), "scores": asdict(old)["scores"]}} if before and old else {}
        print_json({**about, "model": redact(spec), **asdict(after), **compared})
        return
    print_line(console_on(), f"{about['role']}: {about['examples']} examples of {about['questions']} questions")
    console_on().print(_table(spec, after, before, old))


def _table(spec: str, after: StudentScores, before: str | None, old: StudentScores | None) -> Table:
    table = Table("in percent, with 95 % intervals", *([redact(before)] if before else []), redact(spec))
    if old:
        table.add_column("difference")
    for name, score in after.scores.items():
        cells = [_cell(score)]
        if old:
            cells = [_cell(old.scores[name]), *cells, _cell(after.differences[name], "+")]
        table.add_row(name.replace("_", " "), *cells)
    return table


def _cell(score: Score, sign: str = "") -> str:
    low, high = score.interval
    return f"{100 * score.value:{sign}.1f} [{100 * low:{sign}.1f}, {100 * high:{sign}.1f}]"
