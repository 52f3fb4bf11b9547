"""The commands: their names, options and help. What they do is imported when they run.

So `--help` answers at once, and a wrong option is told before anything is loaded.
"""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typing_extensions import override

from hopgraph.tools.cli.errors import FAILED, INTERRUPTED, discard_output, reported, say, say_refused

app = typer.Typer(
    help="Answer multi-hop questions with published methods, and see every step.",
    epilog='Start with:  hopgraph ask "In what year did the sculptor of the Statue of Liberty die?"',
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _examples(*lines: str) -> str:
    """Write examples for the end of a help page, one to a paragraph, as it joins lines."""
    return "\n\n".join(["Examples:", *lines])


_ASK_EXAMPLES = _examples(
    'hopgraph ask "In what year did the sculptor of the Statue of Liberty die?"',
    'hopgraph ask "…" --model openai:gpt-4.1-mini --preset multi_hop',
    'hopgraph ask "…" --model "openai:qwen3?base_url=http://127.0.0.1:11434/v1"',
    'hopgraph ask "…" --corpus my-index --set max_iterations=3 --json',
)
_INDEX_EXAMPLES = _examples(
    "hopgraph index my-documents/ --out my-index",
    "hopgraph index corpus.jsonl --out my-index --skip-bad",
    "hopgraph index hotpot_train.json --out my-index --format hotpotqa",
)
_CALIBRATE_EXAMPLES = _examples("hopgraph calibrate hotpot_train.json --corpus my-index --keep 0.8")
_METHODS_EXAMPLES = _examples("hopgraph methods", "hopgraph methods migres")
_PROMPTS_EXAMPLES = _examples(
    "hopgraph prompts migres --out my-prompts", 'hopgraph ask "…" --set prompts_dir=my-prompts'
)
_DRAW_EXAMPLES = _examples(
    "hopgraph draw migres", "hopgraph draw migres --format ascii", "hopgraph draw migres --format svg --out migres.svg"
)


class _Command(TyperCommand):
    """A command whose errors are one line each."""

    @override
    def invoke(self, ctx: Any) -> Any:
        with reported():
            return super().invoke(ctx)


class DrawingFormat(StrEnum):
    """What `draw` writes."""

    mermaid = "mermaid"
    ascii = "ascii"
    svg = "svg"


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"hopgraph {version('hopgraph')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def begin(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Answer multi-hop questions with published methods, and see every step."""
    del version  # its callback has shown it
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(cls=_Command, epilog=_ASK_EXAMPLES)
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question; - reads standard input.")],
    method: Annotated[str, typer.Option(help="See `hopgraph methods`.")] = "migres",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            show_default="HOPGRAPH_MODEL, else offline:extractive",
            help="openai:NAME, openai:NAME?base_url=URL, PROVIDER:NAME, or offline:extractive, which is "
            "no language model but extractive rules.",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|SPEC",
            show_default="HOPGRAPH_RETRIEVER, else sample",
            help="A folder made by `hopgraph index`, or a retriever's spec.",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="FAMILY", help="The paper's settings for a family of data sets.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method; `hopgraph methods NAME` lists them."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every model call, and texts in full.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show the answer and its sources alone.")] = False,
) -> None:
    """Answer a question and show the steps as they happen."""
    from hopgraph.tools.cli.ask import Wanted, run_ask

    if verbose + quiet + as_json > 1:
        raise typer.BadParameter("--json, --verbose and --quiet exclude one another.")
    output = "json" if as_json else "quiet" if quiet else "steps"
    run_ask(Wanted(question, method, model, corpus, preset, assignments or [], output, verbose))


@app.command(cls=_Command, epilog=_INDEX_EXAMPLES)
def index(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A file or a folder with passages.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The index's folder; an index in it is replaced.")],
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            show_default="told from the content",
            help="beir, hotpotqa, 2wikimultihopqa, musique, nq, dpr, or text (.txt and .md files).",
        ),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Pass over broken records and count them.")] = False,
) -> None:
    """Build a BM25 index of your own passages."""
    from hopgraph.tools.cli.index import run_index

    run_index(source, out, format_name=format_name, skip_bad=skip_bad)


@app.command(cls=_Command, epilog=_CALIBRATE_EXAMPLES)
def calibrate(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A file of training questions.")],
    corpus: Annotated[str, typer.Option(metavar="DIR|SPEC", help="Where their passages are.")],
    reranker: Annotated[str, typer.Option(metavar="SPEC", help="The reranker to calibrate.")] = "lexical",
    keep: Annotated[
        float, typer.Option(metavar="SHARE", help="More than this share of the questions keeps a passage.")
    ] = 0.8,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Find a reranker's relevance threshold δ on training questions."""
    from hopgraph.tools.cli.calibrate import run_calibrate

    run_calibrate(dataset, corpus, reranker=reranker, keep=keep, as_json=as_json)


@app.command(cls=_Command, epilog=_METHODS_EXAMPLES)
def methods(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this one with its settings.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List the methods, or the settings of one."""
    from hopgraph.tools.cli.methods import run_methods

    run_methods(name, as_json=as_json)


@app.command(cls=_Command, epilog=_PROMPTS_EXAMPLES)
def prompts(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="See `hopgraph methods`.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to copy them.")],
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Copy a method's prompt files, to edit and use them."""
    from hopgraph.tools.cli.prompts import run_prompts

    run_prompts(method, out, force=force)


@app.command(cls=_Command, epilog=_DRAW_EXAMPLES)
def draw(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="See `hopgraph methods`.")],
    format_name: Annotated[DrawingFormat, typer.Option("--format", help="What to write.")] = DrawingFormat.mermaid,
    out: Annotated[Path | None, typer.Option(metavar="FILE", show_default="standard output", help="Where to.")] = None,
) -> None:
    """Draw a method's graph."""
    from hopgraph.tools.cli.draw import run_draw

    run_draw(method, format_name=format_name.value, out=out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: without the program's name; None for those that it was started with.
    """
    from hopgraph.tools.cli.console import tolerate_encoding

    try:
        tolerate_encoding()
        code = app(args=None if arguments is None else list(arguments), prog_name="hopgraph", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.TyperException as error:  # an option or an argument that is wrong
        say(f"{error.format_message().rstrip('.')}; see hopgraph --help")
        return error.exit_code
    except BrokenPipeError:  # whoever read the output has seen enough
        discard_output()
        return FAILED
    except OSError as error:
        say_refused(error)
        return FAILED
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
