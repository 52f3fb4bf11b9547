"""`hopgraph chat`: the chat page and its endpoints, on this machine."""

import asyncio
import logging
import socket
import threading
import webbrowser
from contextlib import suppress

from hopgraph.graphs import find_method
from hopgraph.nodes.prepare import check_settings
from hopgraph.state.chat import AUTO, ChatContext
from hopgraph.state.context import explicit_settings
from hopgraph.tools.apps.cli.console import console_on, print_line
from hopgraph.tools.apps.cli.run_output import print_stand_in
from hopgraph.tools.apps.cli.serving_commands import ChatOptions
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
        console = console_on(stderr=True)
        print_stand_in(console, settings)
        print_line(console, f"Chat page at {address}{PAGE_PATH}; stop with Ctrl-C.", "bold")
        keys = "with a key" if options.keys else "without a key"
        endpoints = f"OpenAI clients: {address}/v1 · AG-UI: {address}/ag-ui · MCP: {address}/mcp · {keys}"
        print_line(console, endpoints, "dim")
        if browser:
            threading.Thread(target=_open, args=(f"{address}{PAGE_PATH}",), daemon=True).start()

    await serve(options, listener, ready)


def _open(page: str) -> None:
    """Open the page in a browser with windows; one in the terminal would take it over."""
    with suppress(webbrowser.Error):
        if type(webbrowser.get()) is not webbrowser.GenericBrowser:
            webbrowser.open(page)
