"""The commands that serve: `chat`, `mcp`, `serve`."""

from pathlib import Path
from typing import Annotated

import typer

from hopgraph.tools.apps.cli.command_options import CorpusOption, ModelOption, command, flag, option

ChatSetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the chat, for all methods.")
]
OwnMethodsOption = Annotated[
    list[str] | None,
    typer.Option("--method", metavar="FILE.py|MODULE:GRAPH", help="Offer a method of your own, too; repeatable."),
]


@command(
    "chat_commands.run_chat",
    "hopgraph chat",
    "hopgraph chat --corpus my-index --model openai:gpt-4.1-mini",
    "HOPGRAPH_API_KEY=… hopgraph chat --host 0.0.0.0 --no-browser",
)
class ChatOptions:
    """Open a chat page, with endpoints for OpenAI, AG-UI and MCP clients (needs the extra `chat`)."""

    corpus: CorpusOption = None
    model: ModelOption = None
    method: str | None = option(
        "The method that the page starts with and that auto stands for; auto itself chooses by the question.",
        metavar="NAME|FILE.py",
        show_default="HOPGRAPH_USE_METHOD, else auto",
    )
    assignments: ChatSetOption = None
    host: str = option(
        "The address to listen on. If it is not this machine's own, callers need a key: set "
        "HOPGRAPH_API_KEY, to one key or to USER=KEY,USER=KEY. HOPGRAPH_CALLS_PER_DAY (20,000), "
        "HOPGRAPH_STREAMS_PER_ADDRESS (64) and others of SECURITY.md limit them; HOPGRAPH_PROXIES names proxies.",
        default="127.0.0.1",
    )
    port: int = option("The port; 0 takes a free one.", default=7860, min=0, max=65535)
    threads: str | None = option(
        "Where conversations are kept: a file, or postgresql://USER@HOST/DATABASE.",
        metavar="FILE|ADDRESS",
        show_default="a file in your data folder",
    )
    origins: list[str] | None = option(
        "A page of another origin that may call the endpoints.", "--allow-origin", metavar="URL"
    )
    hosts: list[str] | None = option(
        "A host name under which a proxy forwards requests.", "--allow-host", metavar="NAME"
    )
    title: str = option("What the page is called.", default="hopgraph")
    logo: Path | None = option("An image before the title: SVG, PNG, JPEG or WebP.", metavar="FILE")
    page_examples: list[str] | None = option("A question that the page offers.", "--example", metavar="QUESTION")
    browser: bool = option("Open the page in the browser.", "--browser/--no-browser", default=True)


@command(
    "chat_commands.run_mcp",
    "hopgraph mcp",
    "hopgraph mcp --corpus my-index --model openai:gpt-4.1-mini",
)
class McpOptions:
    """Offer every method as a tool to an MCP client that starts this command (needs the extra `chat`)."""

    model: ModelOption = None
    corpus: CorpusOption = None
    assignments: ChatSetOption = None
    methods: OwnMethodsOption = None


@command(
    "serve_command.run_serve",
    "hopgraph serve",
    "hopgraph serve --corpus my-index --model openai:gpt-4.1-mini --browser",
)
class ServeOptions:
    """Serve every method and the chat by LangGraph's development server, for Studio and langgraph-sdk.

    HOPGRAPH_QUESTIONS_PER_MINUTE (60) and HOPGRAPH_CALLS_PER_DAY (20,000) limit each user of HOPGRAPH_API_KEY.
    """

    host: str = option("The address to listen on; 0.0.0.0 lets other machines in.", default="127.0.0.1")
    port: int = option("The port.", default=2024, min=1, max=65535)
    browser: bool = flag("Open LangGraph Studio, a page of LangSmith's.", "--browser/--no-browser")
    methods: OwnMethodsOption = None
    model: ModelOption = None
    corpus: CorpusOption = None
