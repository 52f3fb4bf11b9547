"""`hopgraph build`, `distill`, `train`, `check-student`, `calibrate`: prepare methods with training questions."""

import json
import math
import os
import shlex
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from hopgraph.state import SettingsError
from hopgraph.state.context import DEFAULT_MODEL
from hopgraph.tools.apps.cli.commands import CalibrateOptions
from hopgraph.tools.apps.cli.console import (
    console_on,
    print_hanging,
    print_json,
    print_line,
    print_skipped,
    show_progress,
)
from hopgraph.tools.apps.cli.evaluation import eval_command, evaluation_options
from hopgraph.tools.apps.cli.settings_options import settings_for, split_assignment
from hopgraph.tools.apps.evaluation import student_check
from hopgraph.tools.apps.evaluation.batch.run_directory import MANIFEST, RunReader
from hopgraph.tools.apps.evaluation.batch.run_setup import PreparedRun
from hopgraph.tools.apps.evaluation.cascade_stages import CANDIDATES, FIRST_STAGE, read_target, write_stages
from hopgraph.tools.apps.evaluation.cost_estimate import read_prices
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.distillation import DISTILLATIONS, DistillationContext
from hopgraph.tools.apps.evaluation.student_check import Score, StudentScores
from hopgraph.tools.apps.evaluation.study import answered
from hopgraph.tools.apps.evaluation.study_specs import dataset_file, played_model, run_spec
from hopgraph.tools.apps.evaluation.threshold_calibration import calibrate
from hopgraph.tools.apps.evaluation.training_data import TRAINING_FILES, check_overlap, write_training_data
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.corpora import CorpusReading
from hopgraph.tools.retrieval.resolve import SAMPLE, corpus_spec, resolve_retriever
from hopgraph.tools.scoring.resolve import resolve_reranker
from hopgraph.tools.scoring.weights.model_specs import parse_spec
from hopgraph.tools.students.student_model import find_base, merge_student
from hopgraph.tools.students.student_record import StudentRecord, read_examples
from hopgraph.tools.students.training import TrainingPlan, choose_settings, train
from hopgraph.tools.text.sanitize import sanitize_line

_TRAINING_FILES = {**TRAINING_FILES, "cascade": (CANDIDATES, write_stages)}
_FILTERS = ("negatives", "min_citation_overlap", "judged_passages", "max_sub_questions")
"""Settings that determine which replies become examples."""


def _run_folder(given: Path) -> tuple[Path, Path]:
    """Return the output path, and the run's folder beside it; SettingsError if another command made the output."""
    out = given.expanduser()
    run = out.with_name(f"{out.name}.run")
    if out.exists() and not run.exists():
        raise SettingsError(f"--out {out}: it exists, but was not made by this command; choose another name")
    return out, run


def run_build(options: evaluation_options.BuildOptions) -> int:
    """Run or resume the evaluation, write the output from its finished questions, and return the exit code."""
    (methods, write), (out, run) = _TRAINING_FILES[options.method], _run_folder(options.out)
    source, is_cascade = options.dataset.expanduser(), options.method == "cascade"
    if is_cascade:
        prices = read_prices(options.prices)
        write = partial(write_stages, target=read_target(options.target, priced=bool(prices)), prices=prices)
    elif options.methods or options.target:
        raise SettingsError(f"--methods and --target: {options.method} does not support these; only cascade does")
    if is_cascade and (source / MANIFEST).exists():
        if options.methods:
            raise SettingsError(f"--methods: {source} is a run, which determines the methods; leave the option out")
        code, run = 0, source
    else:
        more = [FIRST_STAGE] if is_cascade and not options.methods else []
        options = replace(options, assignments=[*more, *(options.assignments or ())])
        changes = {"methods": options.methods or methods, "out": run, "processes": None}
        code = eval_command.run_eval(evaluation_options.eval_options(options, **changes))
    if not options.estimate_only:
        console_on().print(Text(write(RunReader(run), out)), soft_wrap=True)
    return code


def run_distill(options: evaluation_options.DistillOptions) -> int:
    """Make the training data or resume making it, with progress on standard error; return the exit code."""
    out, run = _run_folder(options.out)
    cls: Any = DISTILLATIONS[options.role].context_schema
    _check_choices(options, cls)
    dataset = dataset_file(eval_command.question_set(options, options.dataset), run)
    settings = _settings(options, cls, dataset)
    searches = "retriever" in settings.required_resources
    corpus = options.corpus if searches else SAMPLE
    evaluation = evaluation_options.eval_options(
        options, dataset=dataset, methods=settings.method, out=run, corpus=corpus
    )
    study = eval_command.study_of(evaluation)
    (questions,) = study.datasets.values()
    spec = replace(run_spec(study, questions, dataset, run, {settings.method: settings}), keep_contexts=True)

    def check(prepared: PreparedRun) -> None:
        names_gold = settings.teacher == "gold" or settings.asks_base
        if searches and names_gold and prepared.manifest.corpus.gold_by != "ids":
            advice = "leave --corpus out, or index the data set"
            raise SettingsError(f"--corpus: it does not have the gold passages under the data set's ids; {advice}")
        if not options.allow_overlap:
            check_overlap(prepared.questions, [Path(each).expanduser() for each in options.not_in or ()])

    terminal = eval_command.Terminal(estimates_only=options.estimate_only)
    with answered(study, spec, terminal, check, estimate_only=options.estimate_only) as directory:
        if directory is None:
            return 0
        teacher, base = redact(options.teacher), redact(options.base or "") or None
        filters = {name: getattr(settings, name) for name in _FILTERS if name in cls.model_fields}
        filters = {"balance": options.balance, **filters}
        about = {"role": options.role, "teacher": teacher, "base": base, "filters": filters}
        summary = write_training_data(directory, out, about, balance=options.balance)
    counts = summary["counts"]
    kept, dropped = (", ".join(f"{name} {n:,}" for name, n in counts[kind].items()) for kind in ("labels", "dropped"))
    text = f"{counts['kept']:,} of {counts['seen']:,} examples kept{kept and f' ({kept})'}: {out}"
    text += dropped and f"; dropped: {dropped}"
    console_on().print(Text(text), soft_wrap=True)
    return eval_command.report_failures(directory)


def _check_choices(options: evaluation_options.DistillOptions, cls: type[DistillationContext]) -> None:
    """Raise SettingsError for a teacher, base or flag that the role does not use."""
    role, by_gold = options.role, options.teacher == "gold"
    if ("gold" if by_gold else "model") not in cls.teachers:
        raise SettingsError(f"--teacher {options.teacher}: {role} needs {'a model' if by_gold else 'gold'}")
    if cls.asks_base != (options.base is not None):
        problem = "needs --base SPEC, the model that answers from memory" if cls.asks_base else "does not use --base"
        raise SettingsError(f"--for {role} {problem}")
    if options.negatives and "negatives" not in cls.model_fields:
        raise SettingsError("--negatives: only genground/ground has the reply Empty")
    if options.balance and role not in student_check.YES_NO:
        raise SettingsError(f"--balance: only {' and '.join(sorted(student_check.YES_NO))} have classes")


def _settings(
    options: evaluation_options.DistillOptions, cls: type[DistillationContext], dataset: Path
) -> DistillationContext:
    """Return the settings of the role's graph; with the teacher `gold` and no base, no model is called."""
    teacher, base = (played_model(each, dataset) for each in (options.teacher, options.base))
    by_gold = teacher == "gold"
    asked = base if cls.asks_base else DEFAULT_MODEL if by_gold else teacher
    settings = settings_for(cls, options.assignments, model=asked)
    given: dict[str, Any] = {"teacher": "gold" if by_gold else "model"}
    if "negatives" in cls.model_fields:  # the last step is the teacher's
        given["models"] = {**settings.models, f"{cls.method}/{cls.steps[-1]}": teacher}
        given["negatives"] = options.negatives or getattr(settings, "negatives", False)
    return settings.model_copy(update=given)


def run_train(options: evaluation_options.TrainOptions) -> None:
    """Train or resume, write the loss curve, and print the cost and how to use the student."""
    examples, facts = read_examples(options.data.expanduser())
    given = dict(map(split_assignment, options.assignments or ())) | ({"lora_rank": "0"} if options.full else {})
    require("trl", "train")
    base = find_base(parse_spec(f"student:{options.student}"))
    kind = options.as_kind or base.kind()
    settings, marked = choose_settings(facts.role, kind, given)
    plan = TrainingPlan(options.out.expanduser(), base, kind, settings, marked, examples, facts)
    with show_progress({"train": "training"}) as progress:
        record = train(plan, progress)
    if os.environ.get("RANK", "0") != "0":  # only the first of several processes reports
        return
    if options.merged:
        merge_student(plan.out)
    _report(plan.out, record)


def _report(out: Path, record: StudentRecord) -> None:
    trained, epochs = record.data.examples - record.left_out, float(record.settings["epochs"].value)
    each = (record.seconds or 0) / max(1.0, trained * epochs)
    bound = json.dumps({record.data.role: f"student:{out}"})
    lines = [
        f"{out}: {trained} examples, {epochs:g} epochs, {record.seconds:.0f} s, {each:.2f} s for each",
        f"use it: --set {shlex.quote(f'models={bound}')}",
    ]
    if record.left_out:
        lines.append(f"{record.left_out} examples are longer than max_length and were left out")
    for line in lines:  # unwrapped, so that they can be copied
        console_on().print(Text(line), soft_wrap=True)


def run_check_student(options: evaluation_options.CheckOptions) -> None:
    """Run one or two models on all examples, and print their scores."""
    spec, before = options.spec, options.before
    examples, facts = read_examples(options.data.expanduser())
    counted: list[student_check.Outcomes] = []
    specs = [spec, *([before] if before else [])]
    with show_progress({each: redact(each) for each in specs}) as progress:
        for each in specs:
            asked = student_check.ask_examples(each, facts.role, examples, options.parallel, partial(progress, each))
            replies = run_in_background(asked)
            counted.append(student_check.count_outcomes(facts.role, examples, replies))
    after = student_check.score_replies(counted[0], facts.role, *counted[1:])
    old = student_check.score_replies(counted[1], facts.role) if before else None
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


def run_calibrate(options: CalibrateOptions) -> None:
    """Find δ and print how to use it."""
    scorer, retriever = resolve_reranker(options.reranker), resolve_retriever(corpus_spec(options.corpus))
    reading = CorpusReading(options.skip_invalid)
    questions = [each.question for each in read_questions(options.dataset.expanduser(), reading=reading)]
    print_skipped("questions", reading.skipped, reading.first_skipped)
    with show_progress({"rerank": "scoring questions"}) as progress:
        count = len(questions)
        found = calibrate(
            questions, retriever, scorer, keep=options.keep, progress=lambda done: progress("rerank", done, count)
        )
    if options.as_json:
        given = {"dataset": str(options.dataset), "corpus": options.corpus, "reranker": scorer.name}
        print_json({**given, "keep": options.keep, **asdict(found)})
        return
    quantiles = " · ".join(f"{share:.0%}: {score:.3f}" for share, score in found.quantiles.items())
    without = f" ({found.without_passages} found no passage)" if found.without_passages else ""
    kept = f"{found.kept:.1%} of {found.questions:,} questions keep a passage{without}"
    name = sanitize_line(scorer.name)
    # Rounded down: a δ just above the exact value would drop the question that it comes from.
    threshold = f"{math.floor(found.threshold * 10_000) / 10_000:.4f}"
    print_hanging(console_on(), Text(f"δ = {threshold}", "bold"), Text(f"for the reranker {name}"), indent=14)
    use = f"hopgraph ask … --set reranker={name} --set threshold={threshold}"
    for label, text in {"kept": kept, "best scores": quantiles, "use it": use}.items():
        print_hanging(console_on(), Text(label), Text(text), indent=14)
