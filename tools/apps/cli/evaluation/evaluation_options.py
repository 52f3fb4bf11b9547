"""What the commands that measure can be told: each field is an option or an argument of `hopgraph`."""

from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hopgraph.tools.apps.cli.command_options import METHOD_HELP, option


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """The option for the model that answers."""

    model: str | None = option(
        None,
        "As in `hopgraph ask`; `rehearsal`, or rehearsal:FILE?error=0.1, plays all roles from the gold "
        "annotations of this data set or of FILE.",
        metavar="SPEC",
        show_default="HOPGRAPH_MODEL, else offline:extractive",
    )


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The options of every command that works on the questions of a data set."""

    corpus: str | None = option(
        None,
        "A folder made by `hopgraph index`, or a retriever's spec.",
        metavar="DIR|SPEC",
        show_default="the contexts of all questions of DATASET, pooled",
    )
    limit: int | None = option(None, "Ask at most N questions.", metavar="N", min=1)
    skip: int | None = option(None, "Leave out the first N questions.", metavar="N", min=1)
    sample: str | None = option(None, "Which N questions.", metavar="first|random:SEED", show_default="first")
    concurrency: int = option(16, "Questions in flight at once.", metavar="N", min=1)
    assignments: list[str] | None = option(
        None, "A setting of all methods that have it, or of one.", "--set", metavar="[METHOD.]KEY=VALUE"
    )
    patience: float = option(300.0, "How long to wait in an outage.", metavar="SECONDS", min=0)
    retry_failed: bool = option(False, "Ask again what failed.", "--retry-failed")
    skip_bad: bool = option(False, "Skip broken records, and report them.", "--skip-bad")
    max_calls: int | None = option(None, "Stop a run after N model calls.", metavar="N", min=1)
    max_cost: float | None = option(None, "Stop a run at this cost; needs --prices.", metavar="AMOUNT", min=0)
    prices: Path | None = option(None, "Prices per million tokens by model, as TOML.", metavar="FILE")
    format_name: str | None = option(
        None,
        "The format of DATASET: questions (your own: JSON lines with question and answer or answers), "
        "hotpotqa, 2wikimultihopqa, musique, strategyqa (BIG-bench's too), nq, triviaqa or beir.",
        "--format",
        metavar="NAME",
        show_default="detected from the content",
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(QuestionOptions, ModelChoice):
    """The options that `eval`, `reproduce` and `build` share."""

    judge: str | None = option(None, "A model that judges whether answers imply the gold ones.", metavar="SPEC")


@dataclass(frozen=True)
class EvalOptions(RunOptions):
    """The options of `hopgraph eval`."""

    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="A file of questions, a BEIR folder, hub:OWNER/NAME?config=…&split=… (extra `hub`), or `sample`.",
        ),
    ]
    methods: Annotated[
        str,
        typer.Option(
            metavar="A,B,…|papers|all",
            help=f"{METHOD_HELP} papers: those of the five papers; so with the other groups that it lists.",
        ),
    ]
    out: Annotated[Path, typer.Option(metavar="DIR", help="The run's folder; an unfinished run in it is resumed.")]
    _: KW_ONLY
    add_contexts: bool = option(False, "Add the contexts of DATASET to the corpus (MIGRES's oracle).", "--add-contexts")
    ids: list[str] | None = option(None, "Ask this one; repeatable.", "--id", metavar="ID")
    repeats: int = option(1, "Ask each question K times; scores are means.", "--repeat", metavar="K", min=1)
    preset: str | None = option(None, "The papers' settings for a family, where a method has them.", metavar="FAMILY")
    estimate_only: bool = option(
        False, "Say what the run would take, from its first questions, and stop.", "--estimate"
    )
    rename: int | None = option(
        None, "Rename people, places and works everywhere, so that memory cannot answer.", metavar="SEED", min=0
    )
    no_traces: bool = option(False, "Keep no steps: a smaller folder, but nothing for `hopgraph show`.", "--no-traces")
    engine: Literal["local", "ray"] = option(
        "local", "Where questions are answered: here, or on a Ray cluster (needs the extra `ray`)."
    )
    processes: int | None = option(
        1,
        "Processes that share the work.",
        min=1,
        max=256,
        show_default="one for each 16 calls at a time with openai: models and BM25, up to the cores",
    )
    """None: as many as `choose_process_count` chooses, as the command line does. Each further process imports the
    script that was started, which must do its work under `if __name__ == "__main__":`."""


def eval_options(options: QuestionOptions, **changes: Any) -> EvalOptions:
    """Return the options of `eval` for another command: those that it has, too, and the changes."""
    shared = {each.name for each in fields(EvalOptions)} & {each.name for each in fields(options)}
    return EvalOptions(**{**{name: getattr(options, name) for name in shared}, **changes})


@dataclass(frozen=True)
class BuildOptions(RunOptions):
    """The options of `hopgraph build`."""

    method: Annotated[
        Literal["skr_knn", "dsp"], typer.Argument(metavar="skr_knn|dsp", help="The method that reads it.")
    ]
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Training questions, as of `eval`.")]
    out: Annotated[
        Path, typer.Option(metavar="FILE|DIR", help="What to write; FILE.run keeps the answers and is resumed.")
    ]
    _: KW_ONLY
    estimate_only: bool = option(False, "Say what it would take, from the first questions, and stop.", "--estimate")


@dataclass(frozen=True)
class DistillOptions(QuestionOptions):
    """The options of `hopgraph distill`."""

    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Training questions, as of `eval`.")]
    role: Annotated[
        Literal["genground/ground", "ra_isf/self_knowledge", "ra_isf/judge_relevance", "ra_isf/decompose"],
        typer.Option(
            "--for", metavar="ROLE", help="genground/ground or ra_isf/self_knowledge|judge_relevance|decompose."
        ),
    ]
    teacher: Annotated[
        str, typer.Option(metavar="gold|SPEC", help="Who gives the replies: the annotation of DATASET, or a model.")
    ]
    out: Annotated[Path, typer.Option(metavar="DIR", help="What to write; DIR.run keeps the work and is resumed.")]
    _: KW_ONLY
    base: str | None = option(None, "The model whose answers from memory are judged or corrected.", metavar="SPEC")
    negatives: bool = option(False, "genground/ground: add examples to which the reply is Empty (ours).", "--negatives")
    balance: bool = option(False, "Keep as many examples of one class as of the other (ours).", "--balance")
    not_in: list[str] | None = option(
        None, "A file for evaluation, which must share no question with DATASET; repeatable.", metavar="FILE"
    )
    allow_overlap: bool = option(False, "Train on questions that --not-in names.", "--allow-overlap")
    estimate_only: bool = option(False, "Say what it would take, from the first questions, and stop.", "--estimate")
    engine: Literal["local", "ray"] = option("local", "As of `eval`.")
    processes: int | None = option(None, "As of `eval`.", min=1, max=256)


@dataclass(frozen=True)
class ReproduceOptions(RunOptions):
    """The options of `hopgraph reproduce`; limits hold for each row."""

    name: Annotated[
        str | None, typer.Argument(metavar="[PAPER[/TABLE]]", help="Without it the papers, with a paper its tables.")
    ] = None
    dataset: Path | None = option(
        None, "As of `eval`; without it only the paper's scores are shown.", metavar="DATASET"
    )
    out: Path | None = option(None, "Where the runs are kept.", metavar="DIR", show_default="runs/PAPER-TABLE")
    _: KW_ONLY
    second_corpus: str | None = option(
        None,
        "The corpus of the rows with the table's second retriever; without it they are not run.",
        metavar="DIR|SPEC",
    )
    repeats: int | None = option(
        None, "Ask each question K times.", "--repeat", metavar="K", min=1, show_default="the paper's"
    )
    methods: list[str] | None = option(
        None, "Add a row for this method, too; repeatable.", "--method", metavar="NAME|FILE.py"
    )
    dry_run: bool = option(
        False, "Print the commands and run nothing; without --dataset those for each of its data sets.", "--dry-run"
    )
