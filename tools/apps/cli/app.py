"""The commands: their names, options and help. What they do is imported when they run.

So `--help` answers at once, and a wrong option is reported before anything is loaded.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from hopgraph.tools.apps.cli.command_options import (
    METHOD_HELP,
    AskOptions,
    IndexOptions,
    JsonOption,
    PictureFormat,
    examples,
    takes,
)
from hopgraph.tools.apps.cli.evaluation.evaluation_commands import evaluation
from hopgraph.tools.apps.cli.serving_commands import servers
from hopgraph.tools.apps.cli.students.students_commands import students

WRONG_USE, FAILED, INTERRUPTED = 2, 1, 130
"""Exit codes: an option, a setting, a spec or a question that is wrong; a corpus, a model, a prompt file or a disk
that fails at run time; Ctrl-C."""


class _Program(TyperGroup):
    """The commands; typer itself would end without a word at Ctrl-C."""

    @override
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            resumes = ctx.invoked_subcommand in ("build", "eval", "reproduce", "train")
            kept = "; what is finished is kept, and the same command resumes from here" if resumes else ""
            _say(f"interrupted{kept}")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=_Program,
    help="Answer multi-hop questions with published methods, and see every step.",
    epilog='Start with:  hopgraph ask "In what year did the sculptor of the Statue of Liberty die?"',
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)


_ASK_EXAMPLES = examples(
    'hopgraph ask "In what year did the sculptor of the Statue of Liberty die?"',
    'hopgraph ask "…" --model openai:gpt-4.1-mini --preset multi_hop',
    'hopgraph ask "…" --model "openai:qwen3?base_url=http://127.0.0.1:11434/v1"',
    'hopgraph ask "…" --corpus my-index --set max_iterations=3 --json',
)
_INDEX_EXAMPLES = examples(
    "hopgraph index my-documents/ --out my-index",
    "hopgraph index corpus.jsonl --out my-index --skip-bad",
    "hopgraph index hotpot_train.json --out my-index --format hotpotqa",
    "hopgraph index aufsaetze/ --out mein-index --language de",
    "hopgraph index corpus.jsonl --out my-index --dense st:sentence-transformers/all-MiniLM-L6-v2",
    "hopgraph index my-documents/ --out my-index --dry-run",
    "hopgraph index more.jsonl --out my-index --add",
    "hopgraph index psgs_w100.tsv --to milvus:http://localhost:19530#wiki",
)
_PROMPTS_EXAMPLES = examples(
    "hopgraph prompts migres --out my-prompts", 'hopgraph ask "…" --set prompts_dir=my-prompts'
)
_DRAW_EXAMPLES = examples(
    "hopgraph draw migres",
    "hopgraph draw migres --format svg --out migres.svg",
    'hopgraph ask "…" --method tree_of_reviews --save run.json',
    "hopgraph draw --run run.json",
    "hopgraph draw --run run.json --format png --out run.png",
)


class _AskCommand(TyperCommand):
    """A command whose `--review` may come without a value."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        whole = [  # a lone word after it is meant as its value, and no question
            f"{each}=all" if each == "--review" and not after.isalpha() else each
            for each, after in zip(args, [*args[1:], ""], strict=False)
        ]
        return super().parse_args(ctx, whole)


@app.callback(invoke_without_command=True)
def begin(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Answer multi-hop questions with published methods, and see every step."""
    if show_version:
        typer.echo(f"hopgraph {version('hopgraph')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(cls=_AskCommand, epilog=_ASK_EXAMPLES)
@takes(AskOptions)
def ask(options: AskOptions) -> None:
    """Answer a question and show the steps as they happen."""
    from hopgraph.tools.apps.cli.ask_command import run_ask

    if options.verbose + options.quiet + options.as_json > 1:
        raise typer.BadParameter("--json, --verbose and --quiet exclude one another.")
    run_ask(options)


@app.command(epilog=_INDEX_EXAMPLES)
@takes(IndexOptions)
def index(options: IndexOptions) -> None:
    """Build an index of your own passages, or bring it up to date: BM25, and vectors if you name a model."""
    from hopgraph.tools.apps.cli.index_command import run_index, run_index_into

    if options.replace and (options.add or options.keep_missing or options.dry_run):
        raise typer.BadParameter("--replace builds the index anew; --add, --keep-missing and --dry-run update it.")
    own_folder = options.colbert or options.faiss or options.add or options.replace
    if options.out is not None and options.to is None:
        run_index(options, options.out)
    elif options.to is not None and options.out is None and not own_folder:
        run_index_into(options, options.to)
    else:
        raise typer.BadParameter("Give either --out DIR or --to SPEC (--colbert, --faiss, --add, --replace: --out).")


@app.command(epilog=examples("hopgraph calibrate hotpot_train.json --corpus my-index --keep 0.8"))
def calibrate(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A file of training questions.")],
    corpus: Annotated[str, typer.Option(metavar="DIR|SPEC", help="Where their passages are.")],
    reranker: Annotated[str, typer.Option(metavar="SPEC", help="The reranker to calibrate.")] = "lexical",
    keep: Annotated[
        float, typer.Option(metavar="SHARE", help="More than this share of the questions keeps a passage.")
    ] = 0.8,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip broken records and count them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Find a reranker's relevance threshold δ on training questions."""
    from hopgraph.tools.apps.cli.calibrate_command import run_calibrate

    run_calibrate(dataset, corpus, reranker=reranker, keep=keep, skip_bad=skip_bad, as_json=as_json)


@app.command(epilog=examples("hopgraph methods", "hopgraph methods migres"))
def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME|FILE.py]", help="Show this one with its settings.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List the methods, or the settings of one."""
    from hopgraph.tools.apps.cli.methods_command import run_methods

    run_methods(name, as_json=as_json)


@app.command(epilog=_PROMPTS_EXAMPLES)
def prompts(
    method: Annotated[str, typer.Argument(metavar="METHOD", help=METHOD_HELP)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to copy them.")],
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Copy a method's prompt files, to edit and use them."""
    from hopgraph.tools.apps.cli.methods_command import run_prompts

    run_prompts(method, out, force=force)


@app.command(epilog=_DRAW_EXAMPLES)
def draw(
    method: Annotated[str | None, typer.Argument(metavar="[METHOD]", help=METHOD_HELP)] = None,
    run: Annotated[
        Path | None,
        typer.Option(metavar="RUN.json", help="Draw what a run did; a file of `ask --save` or `ask --json`."),
    ] = None,
    format_name: Annotated[
        PictureFormat | None,
        typer.Option(
            "--format",
            show_default="mermaid for a method, ascii for a run",
            help="What to write: mermaid for a method, ascii for a run; svg; png (needs the extra `png`).",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="standard output", help="Where to write it.")
    ] = None,
) -> None:
    """Draw a method's graph, or what a run did."""
    from hopgraph.tools.apps.cli.draw_command import run_draw

    run_draw(method, run=run, format_name=format_name, out=out)


app.add_typer(evaluation)
app.add_typer(students)
app.add_typer(servers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, with these arguments or those of the process, and return its exit code.

    What it raises on purpose, and what the machine refuses, is one line on standard error; a bug stays a traceback.
    """
    try:
        for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a character shows `?`
            if reconfigure := getattr(stream, "reconfigure", None):
                reconfigure(errors="replace")
        code = app(args=None if arguments is None else list(arguments), prog_name="hopgraph", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.TyperException as error:  # an option or an argument that is wrong
        _say(f"{error.format_message().replace('Value error, ', '').rstrip('.')}; see hopgraph --help")
        return error.exit_code
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # the reader of the output, such as `head`, has ended
            place = f"{error.filename}: " if error.filename else ""
            _say(f"{place}{error.strerror or error}")
        _discard_output()
        return FAILED
    except KeyboardInterrupt:  # before or after a command
        _say("interrupted")
        return INTERRUPTED
    except _errors().HopgraphError as error:
        _say(str(error))
        return WRONG_USE if isinstance(error, _errors().SettingsError) else FAILED


def _errors() -> ModuleType:
    """Import the errors only once something is raised, as that takes most of a second."""
    from hopgraph.state import errors

    return errors


def _say(message: str) -> None:
    """Write one line on standard error, whatever the message holds."""
    from hopgraph.tools.text.sanitize import sanitize_line

    sys.stderr.write(f"hopgraph: {sanitize_line(message)}\n")


def _discard_output() -> None:
    """Give up what standard output cannot take; Python would complain about it once more at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def script() -> None:
    """Run the command line as the program `hopgraph`, and end the process with its exit code."""
    code = main()
    if code == INTERRUPTED:
        # Other threads are not waited for; what has to be kept is on disk.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
