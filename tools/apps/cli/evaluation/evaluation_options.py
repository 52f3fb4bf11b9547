"""What the commands that measure can be told: each field is an option or an argument of `hopgraph`."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from hopgraph.tools.apps.cli.command_options import METHOD_HELP


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options that `eval` and `reproduce` share."""

    model: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            show_default="HOPGRAPH_MODEL, else offline:extractive",
            help="As in `hopgraph ask`; `rehearsal`, or rehearsal:FILE?error=0.1, plays all roles from the gold "
            "annotations of this data set or of FILE.",
        ),
    ] = None
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|SPEC",
            show_default="the contexts of all questions of DATASET, pooled",
            help="A folder made by `hopgraph index`, or a retriever's spec.",
        ),
    ] = None
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask at most N questions.")] = None
    skip: Annotated[int | None, typer.Option(metavar="N", min=1, help="Leave out the first N questions.")] = None
    sample: Annotated[
        str | None, typer.Option(metavar="first|random:SEED", show_default="first", help="Which N questions.")
    ] = None
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Questions in flight at once.")] = 16
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[METHOD.]KEY=VALUE", help="A setting of all methods that have it, or of one."),
    ] = None
    patience: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="How long to wait in an outage.")] = 300.0
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask again what failed.")] = False
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip broken records, and report them.")] = False
    max_calls: Annotated[int | None, typer.Option(metavar="N", min=1, help="Stop a run after N model calls.")] = None
    max_cost: Annotated[
        float | None, typer.Option(metavar="AMOUNT", min=0, help="Stop a run at this cost; needs --prices.")
    ] = None
    prices: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Prices per million tokens by model, as TOML.")
    ] = None
    judge: Annotated[
        str | None, typer.Option(metavar="SPEC", help="A model that judges whether answers imply the gold ones.")
    ] = None
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            show_default="detected from the content",
            help="The format of DATASET: questions (your own: JSON lines with question and answer or answers), "
            "hotpotqa, 2wikimultihopqa, musique, strategyqa (BIG-bench's too), nq, triviaqa or beir.",
        ),
    ] = None


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
    add_contexts: Annotated[
        bool, typer.Option("--add-contexts", help="Add the contexts of DATASET to the corpus (MIGRES's oracle).")
    ] = False
    ids: Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="Ask this one; repeatable.")] = None
    repeats: Annotated[
        int, typer.Option("--repeat", metavar="K", min=1, help="Ask each question K times; scores are means.")
    ] = 1
    preset: Annotated[
        str | None, typer.Option(metavar="FAMILY", help="The papers' settings for a family, where a method has them.")
    ] = None
    estimate_only: Annotated[
        bool, typer.Option("--estimate", help="Say what the run would take, from its first questions, and stop.")
    ] = False
    rename: Annotated[
        int | None,
        typer.Option(
            metavar="SEED", min=0, help="Rename people, places and works everywhere, so that memory cannot answer."
        ),
    ] = None
    no_traces: Annotated[
        bool, typer.Option("--no-traces", help="Keep no steps: a smaller folder, but nothing for `hopgraph show`.")
    ] = False
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Where questions are answered: here, or on a Ray cluster (needs the extra `ray`)."),
    ] = "local"
    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=256,
            show_default="one for each 16 calls at a time with openai: models and BM25, up to the cores",
            help="Processes that share the work.",
        ),
    ] = 1
    """None: as many as `choose_process_count` chooses, as the command line does. Each further process imports the
    script that was started, which must do its work under `if __name__ == "__main__":`."""


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
    most: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, show_default="4 for dsp", help="Write at most N questions."),
    ] = None
    estimate_only: Annotated[
        bool, typer.Option("--estimate", help="Say what it would take, from the first questions, and stop.")
    ] = False


@dataclass(frozen=True)
class ReproduceOptions(RunOptions):
    """The options of `hopgraph reproduce`; limits hold for each row."""

    name: Annotated[
        str | None, typer.Argument(metavar="[PAPER[/TABLE]]", help="Without it the papers, with a paper its tables.")
    ] = None
    dataset: Annotated[
        Path | None,
        typer.Option(metavar="DATASET", help="As of `eval`; without it only the paper's scores are shown."),
    ] = None
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", show_default="runs/PAPER-TABLE", help="Where the runs are kept.")
    ] = None
    _: KW_ONLY
    second_corpus: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|SPEC",
            help="The corpus of the rows with the table's second retriever; without it they are not run.",
        ),
    ] = None
    repeats: Annotated[
        int | None,
        typer.Option("--repeat", metavar="K", min=1, show_default="the paper's", help="Ask each question K times."),
    ] = None
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="NAME|FILE.py", help="Add a row for this method, too; repeatable."),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the commands and run nothing; without --dataset those for each of its data sets."
        ),
    ] = False
