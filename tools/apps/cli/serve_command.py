"""`hopgraph serve`: LangGraph's development server with every graph of the package."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hopgraph.graphs import find_method, list_methods
from hopgraph.nodes.prepare import check_settings
from hopgraph.state import SettingsError
from hopgraph.state.chat import ChatContext
from hopgraph.tools.apps.cli.commands import ServeOptions
from hopgraph.tools.apps.cli.console import console_on, print_note
from hopgraph.tools.apps.cli.run_output import print_stand_in
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.server.server_options import (
    ServingOptions,
    keys_from_environment,
    origins_from_environment,
    proxies_from_environment,
)
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.optional_packages import require

_QUIET = {
    # It would ask the package registry whether there is a newer server.
    "LANGGRAPH_NO_VERSION_CHECK": "1",
    # Its files are pickles.
    "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
}
AUTH = {"path": "hopgraph.tools.apps.server.langgraph_auth:auth", "disable_studio_auth": True}
"""Without the last, a caller that claims to be Studio would need no key."""
_FOLDER = Path(".langgraph_api")
"""Of the server, in the working directory; that of `hopgraph serve` stays empty."""


def run_serve(options: ServeOptions) -> None:
    """Serve the graphs until Ctrl-C, and open Studio if asked; threads are kept in memory and end with the server.

    Raises:
        SpecError: the server is not installed, or the model is unknown. CorpusError: the corpus cannot be opened.
        SettingsError: the port, the host or the working directory cannot be used, or others can reach the host and no
        key is set.
    """
    host, port = options.host, options.port
    for each in options.methods or ():
        find_method(each)
    settings = settings_for(ChatContext, model=options.model, corpus=options.corpus)
    run_in_background(check_settings(settings))
    # The runs of the server read what their callers may not choose from its environment.
    if options.model:
        os.environ["HOPGRAPH_MODEL"] = str(settings.model)
    if options.corpus:
        os.environ["HOPGRAPH_RETRIEVER"] = str(settings.retriever)
    ServingOptions(host=host, keys=keys_from_environment())  # refused without a key
    os.environ.update(_QUIET)  # some are read as the server is imported
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    with _own_folder(), TemporaryDirectory(prefix="hopgraph-serve-") as folder:
        server = require("langgraph_api.cli", "server")
        runtime = require("langgraph_runtime_inmem.database", "server")
        from uvicorn.config import HTTP_PROTOCOLS  # which the server brings along

        from hopgraph.tools.apps.server.connections import address_of, connection_options, open_listener

        HTTP_PROTOCOLS["auto"] = "hopgraph.tools.apps.server.connections:Connection"  # it passes no `http` on
        # The server would silently take another port.
        open_listener(host, port).close()
        print_stand_in(console_on(stderr=True), settings)
        graphs = packaged_graphs()
        print_note(f"Serving {len(graphs)} graphs at {address_of(host, port)}; stop with Ctrl-C.", "bold")
        who = "callers send a key of HOPGRAPH_API_KEY" if keys_from_environment() else "it lets in this machine alone"
        print_note(f"A development server: its threads are in memory, and {who}.", "dim")
        _keep_apart(runtime, Path(folder))
        server.run_server(
            host,
            port,
            graphs=graphs,
            auth=AUTH,
            http=http_config(),
            open_browser=options.browser,
            n_jobs_per_worker=10,
            disable_persistence=True,
            **connection_options(proxies_from_environment()),
        )


@contextmanager
def _own_folder() -> Generator[None]:
    """Make the folder that the server expects in the working directory, and remove it at the end if it is new.

    Raises:
        SettingsError: it cannot be made here.
    """
    was_there = _FOLDER.is_dir()
    try:
        _FOLDER.mkdir(exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"the server works in the folder {_FOLDER} here, which cannot be made ({error.strerror}); "
            "start it in a folder that you can write to"
        ) from None
    try:
        yield
    finally:
        if not was_there:
            with suppress(OSError):  # something is in it by now
                _FOLDER.rmdir()


def _keep_apart(runtime: Any, folder: Path) -> None:
    """Let the server keep its list of threads and runs in a folder that is removed with it.

    It is no setting of the server's: it would load a pickle from its folder in the working directory, which is
    code of anyone who can write there, and leave one behind.
    """
    runtime.OPS_FILENAME = str(folder / "operations")
    runtime.GLOBAL_STORE.filename = runtime.OPS_FILENAME
    runtime.GLOBAL_RETRY_COUNTER._counters.filename = str(folder / "retries")


def http_config() -> dict[str, Any]:
    """Describe what stands before the server's endpoints, as the server's configuration has it."""
    from hopgraph.tools.apps.server.langgraph_app import STUDIO  # its packages come with the server

    cors = {
        "allow_origins": [STUDIO, *origins_from_environment()],
        "allow_methods": ["*"],
        "allow_headers": ["*"],
        "expose_headers": ["x-pagination-total", "x-pagination-next", "content-location"],
    }
    return {"app": "hopgraph.tools.apps.server.langgraph_app:guard", "cors": cors, "disable_webhooks": True}


def packaged_graphs() -> dict[str, dict[str, str]]:
    """List the graphs by their names, as the server's configuration has them: chat first, then the methods."""
    from hopgraph.graphs import chat  # which has the methods that are known when it is imported

    methods = {name: _entry(str(each.place), each.about) for name, each in list_methods().items()}
    return {"chat": _entry(f"{chat.__name__}:graph", chat.__doc__ or ""), **methods}


def _entry(path: str, about: str) -> dict[str, str]:
    return {"path": path, "description": about.strip().partition("\n")[0].rstrip(".")}
