"""`hopgraph chat`: the chat page and its endpoints, on this machine."""

import asyncio
import logging
import socket
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from rich.text import Text

from hopgraph.nodes.prepare import check_settings
from hopgraph.state import SettingsError
from hopgraph.state.chat import ChatContext
from hopgraph.state.context import chosen
from hopgraph.tools.apps.cli.console import console_on, print_hanging
from hopgraph.tools.apps.cli.settings_options import method_named, settings_for
from hopgraph.tools.apps.server.listener import address_of, open_listener
from hopgraph.tools.apps.server.server_options import (
    PAGE_PATH,
    ServingOptions,
    hosts_from_environment,
    keys_from_environment,
    origins_from_environment,
)
from hopgraph.tools.apps.server.service import AUTO
from hopgraph.tools.io.optional_packages import require


@dataclass(frozen=True)
class ChatWanted:
    """What the command line asks for."""

    method: str | None
    model: str | None
    corpus: str | None
    assignments: Sequence[str]
    host: str
    port: int
    threads: str | None
    origins: Sequence[str]
    hosts: Sequence[str]
    browser: bool


def run_chat(wanted: ChatWanted) -> None:
    """Serve until Ctrl-C; settings, model and corpus are opened before the page is.

    Raises:
        SpecError: the packages are not installed. HopgraphError: a setting, an address, a model or a corpus that
        cannot work.
    """
    for package in ("fastapi", "uvicorn", "gradio"):
        require(package, "chat")
    options = _options(wanted)
    with open_listener(options.host, options.port) as listener:
        address = address_of(options.host, listener.getsockname()[1])
        logging.basicConfig(format="%(message)s")
        logging.getLogger("hopgraph.access").setLevel(logging.INFO)
        asyncio.run(_serve(options, listener, address, browser=wanted.browser))


def _options(wanted: ChatWanted) -> ServingOptions:
    assignments = [*wanted.assignments, *_method(wanted)]
    settings = settings_for(ChatContext, assignments=assignments, model=wanted.model, corpus=wanted.corpus)
    return ServingOptions(
        host=wanted.host,
        port=wanted.port,
        settings=chosen(settings),
        keys=keys_from_environment(),
        origins=(*wanted.origins, *origins_from_environment()),
        hosts=(*wanted.hosts, *hosts_from_environment()),
        threads=wanted.threads,
    ).validate()


def _method(wanted: ChatWanted) -> list[str]:
    """Give `--method` as an assignment, under the method's own name."""
    if wanted.method is None:
        return []
    if any(each.partition("=")[0].strip().replace("-", "_") == "use_method" for each in wanted.assignments):
        raise SettingsError("setting 'use_method' is given twice: by --method and by --set; leave one out")
    automatic = wanted.method.strip().lower() == AUTO
    return [f"use_method={AUTO if automatic else method_named(wanted.method).Context.method}"]


async def _serve(options: ServingOptions, listener: socket.socket, address: str, *, browser: bool) -> None:
    from hopgraph.tools.apps.server.run_server import serve

    await check_settings(ChatContext.model_validate(options.settings))

    def ready() -> None:
        _tell(address, options)
        if browser:
            threading.Thread(target=_open, args=(f"{address}{PAGE_PATH}",), daemon=True).start()

    await serve(options, listener, ready)


def _tell(address: str, options: ServingOptions) -> None:
    console = console_on(stderr=True)
    print_hanging(console, Text(), Text(f"Chat page at {address}{PAGE_PATH}; stop with Ctrl-C.", "bold"), indent=0)
    keys = "callers name a key" if options.keys else "nobody is asked for a key"
    doors = f"OpenAI clients: {address}/v1 · AG-UI: {address}/ag-ui · MCP: {address}/mcp · {keys}"
    print_hanging(console, Text(), Text(doors, "dim"), indent=0)


def _open(page: str) -> None:
    """Open the page in a browser with windows; one in the terminal would take it over."""
    with suppress(webbrowser.Error):
        if type(webbrowser.get()) is not webbrowser.GenericBrowser:
            webbrowser.open(page)
