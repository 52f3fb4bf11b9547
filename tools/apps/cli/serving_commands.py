"""The commands that serve: `chat`, `mcp`, `serve`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hopgraph.tools.apps.cli.command_options import CorpusOption, ModelOption, command, option

servers = typer.Typer()

ChatSetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the chat, for all methods.")
]
OwnMethodsOption = Annotated[
    list[str] | None,
    typer.Option("--method", metavar="FILE.py|MODULE:GRAPH", help="Offer a method of your own, too; repeatable."),
]


@command(
    servers,
    "chat_command.run_chat",
    "hopgraph chat",
    "hopgraph chat --corpus my-index --model openai:gpt-4.1-mini",
    "HOPGRAPH_API_KEY=… hopgraph chat --host 0.0.0.0 --no-browser",
)
@dataclass(frozen=True, kw_only=True)
class ChatOptions:
    """Open a chat page, with endpoints for OpenAI, AG-UI and MCP clients (needs the extra `chat`)."""

    corpus: CorpusOption = None
    model: ModelOption = None
    method: str | None = option(
        None,
        "The method that the page starts with and that auto stands for; auto itself chooses by the question.",
        metavar="NAME|FILE.py",
        show_default="HOPGRAPH_USE_METHOD, else auto",
    )
    assignments: ChatSetOption = None
    host: str = option(
        "127.0.0.1",
        "The address to listen on. If it is not this machine's own, callers need a key: set "
        "HOPGRAPH_API_KEY, to one key or to USER=KEY,USER=KEY. HOPGRAPH_CALLS_PER_DAY (20,000), "
        "HOPGRAPH_STREAMS_PER_ADDRESS (64) and others of SECURITY.md limit them; HOPGRAPH_PROXIES names proxies.",
    )
    port: int = option(7860, "The port; 0 takes a free one.", min=0, max=65535)
    threads: str | None = option(
        None,
        "Where conversations are kept: a file, or postgresql://USER@HOST/DATABASE.",
        metavar="FILE|ADDRESS",
        show_default="a file in your data folder",
    )
    origins: list[str] | None = option(
        None, "A page of another origin that may call the endpoints.", "--allow-origin", metavar="URL"
    )
    hosts: list[str] | None = option(
        None, "A host name under which a proxy forwards requests.", "--allow-host", metavar="NAME"
    )
    title: str = option("hopgraph", "What the page is called.")
    logo: Path | None = option(None, "An image before the title: SVG, PNG, JPEG or WebP.", metavar="FILE")
    page_examples: list[str] | None = option(None, "A question that the page offers.", "--example", metavar="QUESTION")
    browser: bool = option(True, "Open the page in the browser.", "--browser/--no-browser")


@command(
    servers,
    "mcp_command.run_mcp",
    "hopgraph mcp",
    "hopgraph mcp --corpus my-index --model openai:gpt-4.1-mini",
)
@dataclass(frozen=True, kw_only=True)
class McpOptions:
    """Offer every method as a tool to an MCP client that starts this command (needs the extra `chat`)."""

    model: ModelOption = None
    corpus: CorpusOption = None
    assignments: ChatSetOption = None
    methods: OwnMethodsOption = None


@command(
    servers,
    "serve_command.run_serve",
    "hopgraph serve",
    "hopgraph serve --corpus my-index --model openai:gpt-4.1-mini --browser",
)
@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Serve every method and the chat by LangGraph's development server, for Studio and langgraph-sdk.

    HOPGRAPH_QUESTIONS_PER_MINUTE (60) and HOPGRAPH_CALLS_PER_DAY (20,000) limit each user of HOPGRAPH_API_KEY.
    """

    host: str = option("127.0.0.1", "The address to listen on; 0.0.0.0 lets other machines in.")
    port: int = option(2024, "The port.", min=1, max=65535)
    browser: bool = option(False, "Open LangGraph Studio, a page of LangSmith's.", "--browser/--no-browser")
    methods: OwnMethodsOption = None
    model: ModelOption = None
    corpus: CorpusOption = None
