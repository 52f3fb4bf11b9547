"""The commands that serve: `chat`, `mcp`, `serve`, `rehearse`. What they do is imported when they run."""

from pathlib import Path
from typing import Annotated

import typer

from hopgraph.tools.apps.cli.command_options import (
    ChatOptions,
    ChatSetOption,
    CorpusOption,
    ModelOption,
    OwnMethodsOption,
    examples,
    takes,
)

servers = typer.Typer()

_CHAT_EXAMPLES = examples(
    "hopgraph chat",
    "hopgraph chat --corpus my-index --model openai:gpt-4.1-mini",
    "HOPGRAPH_API_KEY=… hopgraph chat --host 0.0.0.0 --no-browser",
)
_REHEARSE_EXAMPLES = examples(
    "hopgraph rehearse hotpot_train.json --port 8001",
    "hopgraph rehearse hotpot_train.json --port 8001 --error 0.1 --latency 0.3 --log requests.jsonl",
)


@servers.command(epilog=_CHAT_EXAMPLES)
@takes(ChatOptions)
def chat(options: ChatOptions) -> None:
    """Open a chat page, with endpoints for OpenAI, AG-UI and MCP clients (needs the extra `chat`)."""
    from hopgraph.tools.apps.cli.chat_command import run_chat

    run_chat(options)


@servers.command(epilog=examples("hopgraph mcp", "hopgraph mcp --corpus my-index --model openai:gpt-4.1-mini"))
def mcp(
    model: ModelOption = None,
    corpus: CorpusOption = None,
    assignments: ChatSetOption = None,
    methods: OwnMethodsOption = None,
) -> None:
    """Offer every method as a tool to an MCP client that starts this command (needs the extra `chat`)."""
    from hopgraph.tools.apps.cli.mcp_command import run_mcp

    run_mcp(model=model, corpus=corpus, assignments=assignments or [], methods=methods or [])


@servers.command(
    epilog=examples("hopgraph serve", "hopgraph serve --corpus my-index --model openai:gpt-4.1-mini --browser")
)
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 2024,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open LangGraph Studio, a page of LangSmith's.")
    ] = False,
    methods: OwnMethodsOption = None,
    model: ModelOption = None,
    corpus: CorpusOption = None,
) -> None:
    """Serve every method and the chat by LangGraph's development server, for Studio and langgraph-sdk.

    HOPGRAPH_QUESTIONS_PER_MINUTE (60) and HOPGRAPH_CALLS_PER_DAY (20,000) limit each user of HOPGRAPH_API_KEY.
    """
    from hopgraph.tools.apps.cli.serve_command import run_serve

    run_serve(host, port, browser=browser, model=model, corpus=corpus, methods=methods or ())


@servers.command(epilog=_REHEARSE_EXAMPLES)
def rehearse(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A file of questions with gold annotations.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 8000,
    error: Annotated[float, typer.Option(metavar="RATE", help="How often a judgement is wrong, 0 to 1.")] = 0.0,
    distraction: Annotated[
        float, typer.Option(metavar="RATE", help="How often each irrelevant passage misleads, 0 to 1.")
    ] = 0.0,
    parse_failure: Annotated[float, typer.Option(metavar="RATE", help="How often a reply is unusable, 0 to 1.")] = 0.0,
    knowledge: Annotated[float, typer.Option(metavar="SHARE", help="The share of facts known from memory.")] = 0.0,
    latency: Annotated[float, typer.Option(metavar="SECONDS", help="How long a reply takes.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Another seed errs in other places.")] = 0,
    rename: Annotated[
        int | None, typer.Option(metavar="SEED", min=0, help="Read the names that `eval --rename SEED` gives.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Add a line for each answered request: role, hash, time.")
    ] = None,
) -> None:
    """Serve a simulated model over HTTP that plays every role from a data set's gold annotations."""
    from hopgraph.tools.apps.cli.evaluation.rehearse_command import run_rehearse
    from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_options import rehearsal_options

    rates = {"error": error, "distraction": distraction, "parse_failure": parse_failure, "knowledge": knowledge}
    options = rehearsal_options({**rates, "latency": latency, "seed": seed, "rename": rename})
    run_rehearse(dataset, port, options, log)
