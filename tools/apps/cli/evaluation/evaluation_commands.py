"""The commands that measure: `eval`, `compare`, `show`, `reproduce`. What they do is imported when they run."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hopgraph.tools.apps.cli.command import Command, examples
from hopgraph.tools.apps.cli.exit_codes import INTERRUPTED, say

evaluation = typer.Typer()

_EVAL_EXAMPLES = examples(
    "hopgraph eval hotpot_dev.json --methods migres,one_step --model openai:gpt-4.1-mini --out runs/hotpot --limit 100",
    "hopgraph eval hotpot_dev.json --methods all --model rehearsal:hotpot_dev.json --out runs/dry --limit 20",
    "hopgraph eval nq-open.jsonl --methods all --corpus my-index --add-contexts --out runs/nq --sample random:7 "
    "--limit 500",
    "hopgraph eval musique.jsonl --methods tor --set widths=3,3 --set tor.fusion=paragraph --out runs/tor-3-3",
    "hopgraph eval hotpot_dev.json --methods migres --out runs/paid --max-cost 5 --prices prices.toml",
)
_COMPARE_EXAMPLES = examples(
    "hopgraph compare runs/hotpot",
    "hopgraph compare runs/hotpot --against migres --out report.html --out report.csv --figures figures/",
    "hopgraph compare runs/error-0 runs/error-10 runs/error-20 --figures figures/",
    "hopgraph compare runs/hotpot --trec trec/",
)
_REPRODUCE_EXAMPLES = examples(
    "hopgraph reproduce",
    "hopgraph reproduce tor",
    "hopgraph reproduce tor/table5 --dataset 2wiki_dev.json --model openai:gpt-4.1-mini --corpus wikipedia --limit 100",
)
_SHOW_EXAMPLES = examples(
    "hopgraph show runs/hotpot 5a8b57f25542995d1e6f1371 --method migres",
    "hopgraph show runs/hotpot 5a8b57f25542995d1e6f1371 --json > run.json",
    "hopgraph draw --run run.json",
)
_INTERRUPTED = "interrupted; what is finished is kept, and the same command goes on from here"


@evaluation.command("eval", cls=Command, epilog=_EVAL_EXAMPLES)
def evaluate(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A file of questions, a BEIR folder, or hub:OWNER/NAME?config=…&split=… (extra `hub`).",
        ),
    ],
    methods: Annotated[str, typer.Option(metavar="A,B,…|all", help="See `hopgraph methods`.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The run's folder; a run in it is gone on with.")],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            show_default="HOPGRAPH_MODEL, else offline:extractive",
            help="As in `hopgraph ask`; rehearsal:DATASET?error=0.1 plays all roles from the gold annotations.",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|SPEC",
            show_default="the contexts of all questions of DATASET, pooled",
            help="A folder made by `hopgraph index`, or a retriever's spec.",
        ),
    ] = None,
    add_contexts: Annotated[
        bool, typer.Option("--add-contexts", help="Add the contexts of DATASET to the corpus (MIGRES's oracle).")
    ] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask at most N questions.")] = None,
    sample: Annotated[
        str | None,
        typer.Option(metavar="first|random:SEED", show_default="first", help="Which N questions."),
    ] = None,
    ids: Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="Ask this one; repeatable.")] = None,
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Questions under way at once.")] = 16,
    repeat: Annotated[int, typer.Option(metavar="K", min=1, help="Ask each question K times; scores are means.")] = 1,
    preset: Annotated[
        str | None, typer.Option(metavar="FAMILY", help="The papers' settings for a family, where a method has them.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[METHOD.]KEY=VALUE", help="A setting of all methods that have it, or of one."),
    ] = None,
    max_calls: Annotated[int | None, typer.Option(metavar="N", min=1, help="Stop after N model calls.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="AMOUNT", min=0, help="Stop at this cost; needs --prices.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Prices per million tokens by model, as TOML.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what the run would take, from its first questions, and stop.")
    ] = False,
    judge: Annotated[
        str | None, typer.Option(metavar="SPEC", help="A model that judges whether answers imply the gold ones.")
    ] = None,
    rename: Annotated[
        int | None,
        typer.Option(
            metavar="SEED", min=0, help="Rename people, places and works everywhere, so that memory cannot answer."
        ),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask again what failed.")] = False,
    no_traces: Annotated[
        bool, typer.Option("--no-traces", help="Keep no steps: a smaller folder, but nothing for `hopgraph show`.")
    ] = False,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Where questions are answered: here, or on a Ray cluster (needs the extra `ray`)."),
    ] = "local",
    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=256,
            show_default="one for each 16 calls at a time with openai: models and BM25, up to the cores",
            help="Processes that share the work.",
        ),
    ] = None,
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            show_default="told from the content",
            help="The format of DATASET: hotpotqa, 2wikimultihopqa, musique, strategyqa, nq, triviaqa or beir.",
        ),
    ] = None,
) -> None:
    """Answer the questions of a data set by several methods, and score them. The same command resumes a run."""
    from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval

    options = EvalOptions(
        dataset=dataset,
        methods=methods,
        out=out,
        model=model,
        corpus=corpus,
        add_contexts=add_contexts,
        preset=preset,
        assignments=assignments or (),
        format_name=format_name,
        limit=limit,
        sample=sample,
        ids=ids or (),
        concurrency=concurrency,
        repeats=repeat,
        max_calls=max_calls,
        max_cost=max_cost,
        prices=prices,
        retry_failed=retry_failed,
        keep_traces=not no_traces,
        engine=engine,
        processes=processes,
        rename=rename,
        judge=judge,
        estimate_only=estimate,
    )
    try:
        run_eval(options)
    except KeyboardInterrupt:
        say(_INTERRUPTED)
        raise typer.Exit(INTERRUPTED) from None


@evaluation.command(cls=Command, epilog=_COMPARE_EXAMPLES)
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Folders of `hopgraph eval`.")],
    against: Annotated[
        str | None,
        typer.Option(metavar="METHOD", show_default="one_step, else the first", help="Test the others against it."),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write the tables to FILE.md, FILE.html or FILE.csv; repeatable."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw figures, as PNG and SVG (needs the extra `figures`).")
    ] = None,
    trec: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write what was retrieved as TREC runs, with qrels.")
    ] = None,
) -> None:
    """Compare the methods of one or more runs over the same questions: tables, tests, figures."""
    from hopgraph.tools.apps.cli.evaluation.compare_command import run_compare

    run_compare(runs, against=against, out=out or [], figures=figures, trec=trec)


@evaluation.command(cls=Command, epilog=_SHOW_EXAMPLES)
def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder of `hopgraph eval`.")],
    question: Annotated[str, typer.Argument(metavar="ID", help="The question's id.")],
    method: Annotated[
        str | None, typer.Option(metavar="METHOD", show_default="the run's only one", help="Whose steps.")
    ] = None,
    repeat: Annotated[int, typer.Option(metavar="K", min=1, help="Which repeat, from 1.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every model call, and texts in full.")] = False,
) -> None:
    """Show how a method of a run answered one question: its steps, its tree, what it found."""
    from hopgraph.tools.apps.cli.evaluation.show_command import run_show

    run_show(run, question, method=method, repeat=repeat - 1, as_json=as_json, verbose=verbose)


@evaluation.command(cls=Command, epilog=_REPRODUCE_EXAMPLES)
def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[PAPER[/TABLE]]", help="Without it the papers, with a paper its tables.")
    ] = None,
    dataset: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The questions; without it only the paper's scores are shown.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="SPEC", help="As in `hopgraph ask`.")] = None,
    corpus: Annotated[
        str | None,
        typer.Option(metavar="DIR|SPEC", show_default="the contexts of the questions, pooled", help="As in `eval`."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", show_default="runs/PAPER-TABLE", help="Where the runs are kept.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="[METHOD.]KEY=VALUE", help="A setting of all rows.")
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask at most N questions.")] = None,
    sample: Annotated[
        str | None, typer.Option(metavar="first|random:SEED", show_default="first", help="Which N questions.")
    ] = None,
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Questions under way at once.")] = 16,
    max_calls: Annotated[int | None, typer.Option(metavar="N", min=1, help="For each row.")] = None,
    max_cost: Annotated[float | None, typer.Option(metavar="AMOUNT", min=0, help="For each row.")] = None,
    prices: Annotated[Path | None, typer.Option(metavar="FILE", help="As in `eval`.")] = None,
    judge: Annotated[str | None, typer.Option(metavar="SPEC", help="A model that judges answers (Acc†).")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands and run nothing.")] = False,
    format_name: Annotated[
        str | None, typer.Option("--format", metavar="NAME", show_default="told from the content", help="As in `eval`.")
    ] = None,
) -> None:
    """Run the rows of a paper's table and print our scores beside the paper's."""
    from hopgraph.tools.apps.cli.evaluation.reproduce_command import ReproduceOptions, run_reproduce

    options = ReproduceOptions(
        name=name,
        dataset=dataset,
        model=model,
        corpus=corpus,
        out=out,
        assignments=assignments or (),
        format_name=format_name,
        limit=limit,
        sample=sample,
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        prices=prices,
        judge=judge,
        dry_run=dry_run,
    )
    try:
        run_reproduce(options)
    except KeyboardInterrupt:
        say(_INTERRUPTED)
        raise typer.Exit(INTERRUPTED) from None
