"""The commands that serve: `chat`, `mcp`, `serve`. What they do is imported when they run."""

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
