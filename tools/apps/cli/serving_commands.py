"""`hopgraph chat`: the page and its endpoints; `mcp`: methods as tools; `serve`: LangGraph's development server."""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from hopgraph.graphs import find_method, list_methods
from hopgraph.nodes.prepare import check_settings
from hopgraph.state import SettingsError
from hopgraph.state.chat import AUTO, ChatContext
from hopgraph.state.context import explicit_settings
from hopgraph.tools.apps.cli.commands import ChatOptions, McpOptions, ServeOptions
from hopgraph.tools.apps.cli.console import console_on, print_note
from hopgraph.tools.apps.cli.folder_watch import keep_up_to_date
from hopgraph.tools.apps.cli.index_command import index_documents
from hopgraph.tools.apps.cli.run_output import print_stand_in
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.server import server_options
from hopgraph.tools.apps.server.server_options import PAGE_PATH, ServingOptions
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.framework_internals import keep_server_files_in
from hopgraph.tools.io.guarded_files import open_private, try_lock
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.retrieval.index_folder import is_index

_QUIET = {
    # Else it asks the package registry for newer versions.
    "LANGGRAPH_NO_VERSION_CHECK": "1",
    # Its files are pickles.
    "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
}
_LOCK = "lock"
"""A file in a temporary folder, locked by its process."""
AUTH = {"path": "hopgraph.tools.apps.server.langgraph_auth:auth", "disable_studio_auth": True}
"""Otherwise a caller that claims to be Studio would need no key."""
_SAME_OPTIONS = (
    *("host", "port", "threads", "audit_log", "keep_days"),
    *("title", "logo", "simple", "color", "welcome", "footer"),
)
_FOLDER = Path(".langgraph_api")
"""The server's folder in the working directory; for `hopgraph serve` it stays empty."""


def run_chat(given: ChatOptions) -> None:
    """Serve until Ctrl-C; settings, model and corpus are checked before the page opens."""
    for package in ("fastapi", "uvicorn", "gradio"):
        require(package, "chat")
    from hopgraph.tools.apps.server.connections import address_of, open_listener

    method = given.method
    if method is not None:
        method = AUTO if method.strip().lower() == AUTO else find_method(method).name
    documents = None if given.documents is None or is_index(given.documents) else given.documents
    index = index_documents(documents) if documents else given.documents
    corpus = str(index) if index else given.corpus
    settings = settings_for(ChatContext, given.assignments, model=given.model, corpus=corpus, use_method=method)
    options = server_options.serving_options(
        settings=explicit_settings(settings),
        origins=given.origins or (),
        hosts=given.hosts or (),
        examples=tuple(given.page_examples or ()),
        **{name: getattr(given, name) for name in _SAME_OPTIONS},
    )
    with suppress(ImportError):  # Gradio asks for a backend at the page's first event, which would import all of pyplot
        import_module("matplotlib").use("agg")
    with open_listener(options.host, options.port) as listener:
        address = address_of(options.host, listener.getsockname()[1])
        logging.basicConfig(format="%(message)s")
        for name in ("hopgraph.access", "hopgraph.questions", "hopgraph.documents"):
            logging.getLogger(name).setLevel(logging.INFO)
        watched = (documents, index) if documents and index else None
        asyncio.run(_serve(options, listener, address, watched, browser=given.browser))


async def _serve(
    options: ServingOptions, listener: socket.socket, address: str, watched: tuple[Path, Path] | None, *, browser: bool
) -> None:
    """Serve the app; meanwhile update the index of a `watched` source, `(source, index)`, if there is one."""
    from hopgraph.tools.apps.server.service import check_options
    from hopgraph.tools.apps.server.web_app import serve

    await check_options(options)

    def ready() -> None:
        print_stand_in(console_on(stderr=True), options.chat_settings)
        print_note(f"Chat page at {address}{PAGE_PATH}; stop with Ctrl-C.", "bold")
        keys = "with a log-in" if options.user_of else "with a key" if options.keys else "without a key"
        endpoints = f"OpenAI clients: {address}/v1 · AG-UI: {address}/ag-ui · MCP: {address}/mcp · {keys}"
        print_note(endpoints, "dim")
        if browser:
            threading.Thread(target=_open, args=(f"{address}{PAGE_PATH}",), daemon=True).start()

    watching = asyncio.create_task(keep_up_to_date(*watched)) if watched else None
    try:
        await serve(options, listener, ready)
    finally:
        if watching:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


def _open(page: str) -> None:
    """Open the page in a graphical browser; a terminal browser would take over the terminal."""
    with suppress(webbrowser.Error):
        if type(webbrowser.get()) is not webbrowser.GenericBrowser:
            webbrowser.open(page)


def run_mcp(given: McpOptions) -> None:
    """Serve one client until it disconnects; model and corpus are checked first."""
    require("mcp", "chat")
    from hopgraph.tools.apps.server.service import resolve_name

    for each in given.methods or ():
        find_method(each)
    only = [resolve_name(name.strip()) for each in given.only or () for name in each.split(",")]
    settings = settings_for(ChatContext, given.assignments, model=given.model, corpus=given.corpus)
    # Tools keep no threads, so a temporary file is enough.
    with _temporary_folder("hopgraph-mcp-") as folder:
        _exit_at_once(folder)
        options = ServingOptions(settings=explicit_settings(settings), threads=folder / "threads.sqlite")
        asyncio.run(_serve_tools(options, only))


def _exit_at_once(folder: Path) -> None:
    """Make Ctrl-C and SIGTERM exit the process at once, even if a thread waits for the client's next line."""

    def end(number: int, frame: FrameType | None) -> None:
        rmtree(folder, ignore_errors=True)
        os._exit(128 + number)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)


async def _serve_tools(options: ServingOptions, only: Sequence[str]) -> None:
    from hopgraph.tools.apps.server.mcp_server import run_stdio
    from hopgraph.tools.apps.server.service import open_service

    async with open_service(options) as service:
        settings = service.settings(AUTO, {})
        if settings.review_queries or settings.review_evidence:
            raise SettingsError(
                "review_queries and review_evidence pause for a person, which a tool cannot do; leave them off"
            )
        await check_settings(settings)
        print_stand_in(console_on(stderr=True), settings)
        await run_stdio(service, only)


def run_serve(options: ServeOptions) -> None:
    """Serve the graphs until Ctrl-C, and open Studio if requested; threads are in memory only."""
    host, port = options.host, options.port
    for each in options.methods or ():
        find_method(each)
    settings = settings_for(ChatContext, model=options.model, corpus=options.corpus)
    run_in_background(check_settings(settings))
    # The server's runs read settings that callers may not choose from the environment.
    if options.model:
        os.environ["HOPGRAPH_MODEL"] = str(settings.model)
    if options.corpus:
        os.environ["HOPGRAPH_RETRIEVER"] = str(settings.retriever)
    has_users = server_options.serving_options(host=host).has_users  # raises for a public address without keys
    os.environ.update(_QUIET)  # some are read when the server is imported
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    # The server restores this handler after its shutdown, and then raises the signal again.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with _server_folder(), _temporary_folder("hopgraph-serve-") as folder:
        server = require("langgraph_api.cli", "server")
        from hopgraph.tools.apps.server.connections import address_of, connection_options, open_listener

        # Else the server would silently choose another port.
        open_listener(host, port).close()
        print_stand_in(console_on(stderr=True), settings)
        graphs = packaged_graphs()
        print_note(f"Serving {len(graphs)} graphs at {address_of(host, port)}; stop with Ctrl-C.", "bold")
        who = (
            "callers send a key from HOPGRAPH_API_KEY, or are identified by HOPGRAPH_OIDC_ISSUER or HOPGRAPH_USER_OF"
            if has_users
            else "it only accepts local connections"
        )
        print_note(f"A development server: its threads are in memory, and {who}.", "dim")
        keep_server_files_in(folder)
        server.run_server(
            host,
            port,
            graphs=graphs,
            auth=AUTH,
            http=http_config(),
            open_browser=options.browser,
            n_jobs_per_worker=10,
            disable_persistence=True,
            **connection_options(server_options.proxies_from_environment()),
        )


@contextmanager
def _temporary_folder(prefix: str) -> Generator[Path]:
    """Create a folder for the lifetime of this process, and remove those left by killed processes."""
    with TemporaryDirectory(prefix=prefix) as name, open_private(Path(name, _LOCK), "ab") as lock:
        try_lock(lock)
        for left in Path(name).parent.glob(f"{prefix}*/{_LOCK}"):
            with suppress(OSError), open_private(left, "ab") as other:
                if try_lock(other):  # a running process holds its lock
                    rmtree(left.parent, ignore_errors=True)
        yield Path(name)


@contextmanager
def _server_folder() -> Generator[None]:
    """Create the folder that the server expects in the working directory, and remove it afterwards if it is new."""
    was_there = _FOLDER.is_dir()
    try:
        _FOLDER.mkdir(exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"the server needs the folder {_FOLDER} here, which cannot be created ({error.strerror}); "
            "start it in a folder that you can write to"
        ) from None
    try:
        yield
    finally:
        if not was_there:
            with suppress(OSError):  # no longer empty
                _FOLDER.rmdir()


def http_config() -> dict[str, Any]:
    """Return the server's configuration of CORS and the app that guards its endpoints."""
    from hopgraph.tools.apps.server.langgraph_app import STUDIO  # its packages come with the server

    cors = {
        "allow_origins": [STUDIO, *server_options.origins_from_environment()],
        "allow_methods": ["*"],
        "allow_headers": ["*"],
        "expose_headers": ["x-pagination-total", "x-pagination-next", "content-location"],
    }
    return {"app": "hopgraph.tools.apps.server.langgraph_app:guard", "cors": cors, "disable_webhooks": True}


def packaged_graphs() -> dict[str, dict[str, str]]:
    """Return the graphs by name for the server's configuration: chat first, then the methods."""
    from hopgraph.graphs import chat  # it has the methods known when it is imported

    found = {"chat": (f"{chat.__name__}:graph", chat.__doc__ or "")}
    found |= {name: (str(each.place), each.docstring) for name, each in list_methods().items()}
    return {
        name: {"path": path, "description": about.strip().partition("\n")[0].rstrip(".")}
        for name, (path, about) in found.items()
    }
