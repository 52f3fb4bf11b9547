"""`hopgraph chat`: the chat page and its endpoints, on this machine; `hopgraph mcp`: the methods as tools."""

import asyncio
import logging
import os
import signal
import socket
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from types import FrameType

from hopgraph.graphs import find_method
from hopgraph.nodes.prepare import check_settings
from hopgraph.state import SettingsError
from hopgraph.state.chat import AUTO, ChatContext
from hopgraph.state.context import explicit_settings
from hopgraph.tools.apps.cli.commands import ChatOptions, McpOptions
from hopgraph.tools.apps.cli.console import console_on, print_note
from hopgraph.tools.apps.cli.run_output import print_stand_in
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.server.server_options import PAGE_PATH, ServingOptions, serving_options
from hopgraph.tools.io.optional_packages import require


def run_chat(given: ChatOptions) -> None:
    """Serve until Ctrl-C; settings, model and corpus are opened before the page is."""
    for package in ("fastapi", "uvicorn", "gradio"):
        require(package, "chat")
    from hopgraph.tools.apps.server.connections import address_of, open_listener

    method = given.method
    if method is not None:
        method = AUTO if method.strip().lower() == AUTO else find_method(method).name
    settings = settings_for(
        ChatContext, None, given.assignments or (), model=given.model, corpus=given.corpus, use_method=method
    )
    options = serving_options(
        settings=explicit_settings(settings),
        origins=given.origins or (),
        hosts=given.hosts or (),
        examples=tuple(given.page_examples or ()),
        **{name: getattr(given, name) for name in ("host", "port", "threads", "title", "logo")},
    )
    with open_listener(options.host, options.port) as listener:
        address = address_of(options.host, listener.getsockname()[1])
        logging.basicConfig(format="%(message)s")
        for name in ("hopgraph.access", "hopgraph.questions"):
            logging.getLogger(name).setLevel(logging.INFO)
        asyncio.run(_serve(options, listener, address, browser=given.browser))


async def _serve(options: ServingOptions, listener: socket.socket, address: str, *, browser: bool) -> None:
    from hopgraph.tools.apps.server.run_server import serve

    settings = ChatContext.model_validate(options.settings)
    await check_settings(settings)

    def ready() -> None:
        print_stand_in(console_on(stderr=True), settings)
        print_note(f"Chat page at {address}{PAGE_PATH}; stop with Ctrl-C.", "bold")
        keys = "with a key" if options.keys else "without a key"
        endpoints = f"OpenAI clients: {address}/v1 · AG-UI: {address}/ag-ui · MCP: {address}/mcp · {keys}"
        print_note(endpoints, "dim")
        if browser:
            threading.Thread(target=_open, args=(f"{address}{PAGE_PATH}",), daemon=True).start()

    await serve(options, listener, ready)


def _open(page: str) -> None:
    """Open the page in a browser with windows; one in the terminal would take it over."""
    with suppress(webbrowser.Error):
        if type(webbrowser.get()) is not webbrowser.GenericBrowser:
            webbrowser.open(page)


def run_mcp(given: McpOptions) -> None:
    """Serve one client until it closes its end; model and corpus are opened before it is answered."""
    require("mcp", "chat")
    for each in given.methods or ():
        find_method(each)
    settings = settings_for(ChatContext, None, given.assignments or (), model=given.model, corpus=given.corpus)
    # Tools keep no threads, so what the service opens for them ends with it.
    with TemporaryDirectory(prefix="hopgraph-mcp-") as folder:
        _end_at_once(Path(folder))
        options = ServingOptions(settings=explicit_settings(settings), threads=Path(folder) / "threads.sqlite")
        asyncio.run(_serve_tools(options))


def _end_at_once(folder: Path) -> None:
    """Let Ctrl-C and SIGTERM end the process at once, though a thread waits for the client's next line."""

    def end(number: int, frame: FrameType | None) -> None:
        rmtree(folder, ignore_errors=True)
        os._exit(128 + number)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)


async def _serve_tools(options: ServingOptions) -> None:
    from hopgraph.tools.apps.server.mcp_server import run_stdio
    from hopgraph.tools.apps.server.service import open_service

    async with open_service(options) as service:
        settings = service.settings(AUTO, {})
        if settings.review_queries or settings.review_evidence:
            raise SettingsError(
                "review_queries and review_evidence pause for a person, which a tool cannot; leave them off"
            )
        await check_settings(settings)
        print_stand_in(console_on(stderr=True), settings)
        await run_stdio(service)
