"""The commands on data sets: `eval`, `compare`, `show`, `reproduce`, `build`, `distill`; imported when they run."""

from pathlib import Path
from typing import Annotated

import typer

from hopgraph.tools.apps.cli.command_options import JsonOption, VerboseOption, examples, takes
from hopgraph.tools.apps.cli.evaluation.evaluation_options import (
    BuildOptions,
    DistillOptions,
    EvalOptions,
    ReproduceOptions,
)

evaluation = typer.Typer()

SOME_FAILED = 3
"""Exit code of a run that is finished with failed questions."""
_EVAL_EXAMPLES = examples(
    "hopgraph eval hotpot_dev.json --methods migres,one_step --model openai:gpt-4.1-mini --out runs/hotpot --limit 100",
    "hopgraph eval hotpot_dev.json --methods all --model rehearsal --out runs/dry --limit 20",
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
    "hopgraph reproduce tor/table5 --dataset 2wiki_dev.json --model openai:gpt-4.1-mini --corpus wikipedia --skip 500 "
    "--sample random:7 --limit 100",
    "hopgraph reproduce blendfilter/table5 --dataset hotpot_dev.json --corpus colbert:wiki --second-corpus bm25:wiki "
    "--dry-run",
)
_BUILD_EXAMPLES = examples(
    "hopgraph build skr_knn hotpot_train.json --corpus wiki --model openai:gpt-4.1-mini --limit 500 --out labels.jsonl",
    'hopgraph ask "…" --method skr_knn --corpus wiki --model openai:gpt-4.1-mini --set labels=labels.jsonl',
    "hopgraph build dsp hotpot_train.json --corpus wiki --model openai:gpt-4.1-mini --limit 20 --out dsp-examples",
    'hopgraph ask "…" --method dsp --corpus wiki --model openai:gpt-4.1-mini --set demonstrations=dsp-examples',
)
_DISTILL_EXAMPLES = examples(
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher gold --limit 1000 --out relevance "
    "--not-in hotpot_dev.json",
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher openai:gpt-4.1 --out relevance-4.1 "
    "--max-cost 20 --prices prices.toml",
)
_SHOW_EXAMPLES = examples(
    "hopgraph show runs/hotpot 5a8b57f25542995d1e6f1371 --method migres",
    "hopgraph show runs/hotpot 5a8b57f25542995d1e6f1371 --json > run.json",
    "hopgraph draw --run run.json",
)


@evaluation.command("eval", epilog=_EVAL_EXAMPLES)
@takes(EvalOptions, processes=None)
def evaluate(options: EvalOptions) -> None:
    """Answer the questions of a data set by several methods, and score them. The same command resumes a run.

    Ends with 0, with 3 if questions failed (they count as wrong), or with 1 if it was stopped: a server refuses the key
    or the model, or 20 questions in a row fail alike.
    """
    from hopgraph.tools.apps.cli.evaluation.eval_command import run_eval

    raise typer.Exit(SOME_FAILED if run_eval(options) else 0)


@evaluation.command(epilog=_COMPARE_EXAMPLES)
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


@evaluation.command(epilog=_SHOW_EXAMPLES)
def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder of `hopgraph eval`.")],
    question: Annotated[str, typer.Argument(metavar="ID", help="The question's id.")],
    method: Annotated[
        str | None, typer.Option(metavar="METHOD", show_default="the run's only one", help="Whose steps.")
    ] = None,
    repeat: Annotated[int, typer.Option(metavar="K", min=1, help="Which repeat, from 1.")] = 1,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show how a method of a run answered one question: its steps, its tree, what it found."""
    from hopgraph.tools.apps.cli.evaluation.show_command import run_show

    run_show(run, question, method=method, repeat=repeat - 1, as_json=as_json, verbose=verbose)


@evaluation.command(epilog=_REPRODUCE_EXAMPLES)
@takes(ReproduceOptions)
def reproduce(options: ReproduceOptions) -> None:
    """Run the rows of a paper's table and print our scores next to the paper's. Ends as `eval` does."""
    from hopgraph.tools.apps.cli.evaluation.reproduce_command import run_reproduce

    raise typer.Exit(SOME_FAILED if run_reproduce(options) else 0)


@evaluation.command(epilog=_BUILD_EXAMPLES)
@takes(BuildOptions)
def build(options: BuildOptions) -> None:
    """Answer training questions, and write what a method takes from them. Resumes and ends as `eval` does.

    skr_knn: a file of questions by whether retrieval helps or harms (a call without passages, and one with).
    dsp: a folder of worked examples, the steps of questions that it answers right.
    """
    from hopgraph.tools.apps.cli.evaluation.build_command import run_build

    raise typer.Exit(SOME_FAILED if run_build(options) else 0)


@evaluation.command(epilog=_DISTILL_EXAMPLES)
@takes(DistillOptions)
def distill(options: DistillOptions) -> None:
    """Make training data for a model that plays one role of a method. Resumes and ends as `eval` does.

    Writes DIR/train.jsonl, chat messages as `prompt` and `completion`, the prompt as the role's model is sent it in
    use; dropped.jsonl, what was left out and why; summary.json; paper/train.jsonl, the same in the paper's own form.
    """
    from hopgraph.tools.apps.cli.evaluation.distill_command import run_distill

    raise typer.Exit(SOME_FAILED if run_distill(options) else 0)
