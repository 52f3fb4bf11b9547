"""The commands: their names, options and help. What they do is imported when they run.

So `--help` answers at once, and a wrong option is told before anything is loaded.
"""

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typing_extensions import override

from hopgraph.tools.apps.cli.command import Command, examples
from hopgraph.tools.apps.cli.evaluation.evaluation_commands import evaluation
from hopgraph.tools.apps.cli.exit_codes import FAILED, INTERRUPTED, discard_output, say, say_refused
from hopgraph.tools.apps.cli.serving_commands import servers

app = typer.Typer(
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
    "hopgraph index more.jsonl --out my-index --add",
    "hopgraph index psgs_w100.tsv --to milvus:http://localhost:19530#wiki",
)
_CALIBRATE_EXAMPLES = examples("hopgraph calibrate hotpot_train.json --corpus my-index --keep 0.8")
_METHODS_EXAMPLES = examples("hopgraph methods", "hopgraph methods migres")
_PROMPTS_EXAMPLES = examples(
    "hopgraph prompts migres --out my-prompts", 'hopgraph ask "…" --set prompts_dir=my-prompts'
)
_DRAW_EXAMPLES = examples(
    "hopgraph draw migres",
    "hopgraph draw migres --format ascii",
    "hopgraph draw migres --format svg --out migres.svg",
    'hopgraph ask "…" --method tree_of_reviews --save run.json',
    "hopgraph draw --run run.json",
    "hopgraph draw --run run.json --format png --out run.png",
)


class Reviewed(StrEnum):
    """What `ask --review` asks about."""

    queries = "queries"
    evidence = "evidence"
    all = "all"


class _AskCommand(Command):
    """A command whose `--review` may stand without a value."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        choices = set(Reviewed)
        whole = [
            f"{each}={Reviewed.all}" if each == "--review" and (after not in choices) else each
            for each, after in zip(args, [*args[1:], ""], strict=False)
        ]
        return super().parse_args(ctx, whole)


class DrawingFormat(StrEnum):
    """What `draw` writes."""

    mermaid = "mermaid"
    ascii = "ascii"
    svg = "svg"
    png = "png"


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


@app.command(cls=_AskCommand, epilog=_ASK_EXAMPLES)
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
    save: Annotated[
        Path | None,
        typer.Option(metavar="RUN.json", help="Write the run to a file, as --json prints it, for `hopgraph draw`."),
    ] = None,
    review: Annotated[
        Reviewed | None,
        typer.Option(
            metavar="[queries|evidence|all]",
            help="Pause for you to approve, edit or reject the queries, or what the answer is made of; alone: all.",
        ),
    ] = None,
) -> None:
    """Answer a question and show the steps as they happen."""
    from hopgraph.tools.apps.cli.ask_command import Wanted, run_ask

    if verbose + quiet + as_json > 1:
        raise typer.BadParameter("--json, --verbose and --quiet exclude one another.")
    output = "json" if as_json else "quiet" if quiet else "steps"
    asked_about = review.value if review else None
    run_ask(Wanted(question, method, model, corpus, preset, assignments or [], output, verbose, save, asked_about))


@app.command(cls=Command, epilog=_INDEX_EXAMPLES)
def index(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A file or a folder with passages.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The index's folder; an index in it is replaced.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Instead of a folder, a search engine's collection to stream into: milvus:FILE.db#COLLECTION, "
            "milvus:http://HOST:19530#COLLECTION or elasticsearch:http://HOST:9200#INDEX.",
        ),
    ] = None,
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
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            show_default="en",
            help="The passages' language, as de, fr, zh, ja or ko: its stop words and stems, or pairs of characters "
            "where no spaces are (zh-words, ja-words, th-words: words, with the extra `languages`).",
        ),
    ] = None,
    dense: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Add vectors, to search as faiss:DIR or hybrid:DIR: st:NAME_OR_PATH (sentence-transformers), "
            "contriever:…, flag:… (BGE), or openai:NAME?base_url=URL (needs the extra `models`).",
        ),
    ] = None,
    faiss: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            show_default="flat up to 100,000 passages, hnsw up to 2,000,000, else ivfpq",
            help="The kind of FAISS index.",
        ),
    ] = None,
    add: Annotated[bool, typer.Option("--add", help="Add to the index in DIR instead of replacing it.")] = False,
    colbert: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Add a late-interaction model's vectors, to search as colbert:DIR; as colbert-ir/colbertv2.0 or a "
            "folder, with ?device=cuda and the like (needs the extra `colbert`).",
        ),
    ] = None,
) -> None:
    """Build an index of your own passages: BM25, and vectors if you name a model."""
    if out is None or to is not None:
        from hopgraph.tools.apps.cli.index_into_engine import run_index_into

        if to is None or out is not None or colbert or faiss or add:
            raise typer.BadParameter("Give either --out DIR or --to SPEC (--colbert, --faiss and --add go with --out).")
        run_index_into(source, to, format_name=format_name, skip_bad=skip_bad, language=language or "en", dense=dense)
        return
    from hopgraph.tools.apps.cli.index_command import run_index

    run_index(
        source,
        out,
        format_name=format_name,
        skip_bad=skip_bad,
        language=language,
        dense=dense,
        faiss=faiss,
        add=add,
        colbert=colbert,
    )


@app.command(cls=Command, epilog=_CALIBRATE_EXAMPLES)
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
    from hopgraph.tools.apps.cli.calibrate_command import run_calibrate

    run_calibrate(dataset, corpus, reranker=reranker, keep=keep, as_json=as_json)


@app.command(cls=Command, epilog=_METHODS_EXAMPLES)
def methods(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this one with its settings.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List the methods, or the settings of one."""
    from hopgraph.tools.apps.cli.methods_command import run_methods

    run_methods(name, as_json=as_json)


@app.command(cls=Command, epilog=_PROMPTS_EXAMPLES)
def prompts(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="See `hopgraph methods`.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to copy them.")],
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Copy a method's prompt files, to edit and use them."""
    from hopgraph.tools.apps.cli.prompts_command import run_prompts

    run_prompts(method, out, force=force)


@app.command(cls=Command, epilog=_DRAW_EXAMPLES)
def draw(
    method: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="See `hopgraph methods`.")] = None,
    run: Annotated[
        Path | None,
        typer.Option(metavar="RUN.json", help="Draw what a run did; a file of `ask --save` or `ask --json`."),
    ] = None,
    format_name: Annotated[
        DrawingFormat | None,
        typer.Option(
            "--format",
            show_default="mermaid for a method, ascii for a run",
            help="What to write. A run has no mermaid; png needs the extra `png`.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", show_default="standard output", help="Where to.")] = None,
) -> None:
    """Draw a method's graph, or what a run did."""
    from hopgraph.tools.apps.cli.draw_command import run_draw

    run_draw(method, run=run, format_name=format_name.value if format_name else None, out=out)


app.add_typer(evaluation)
app.add_typer(servers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: without the program's name; None for those that it was started with.
    """
    try:
        _tolerate_encoding()
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


def _tolerate_encoding() -> None:
    """Let a terminal that cannot show a character show `?` instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")


def script() -> None:
    """Be the program `hopgraph`: run the command line and end the process with its exit code."""
    code = main()
    if code == INTERRUPTED:
        # Nobody waits for what is still being dropped in other threads; what has to be kept is on disk.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
