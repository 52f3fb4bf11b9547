"""`hopgraph rehearse`: the rehearsal model behind an OpenAI-compatible HTTP server."""

import errno
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.console import console_on, print_hanging
from hopgraph.tools.apps.evaluation.rehearsal.plan_book import read_book
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_model import RehearsalModel
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_options import RehearsalOptions
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.text.sanitize import pluralize

HOST = "127.0.0.1"
"""Only this machine: the server has no keys."""


@dataclass(frozen=True)
class RehearseOptions:
    """What the command line asks for."""

    dataset: Path
    port: int
    """0 takes a free one."""
    model: RehearsalOptions
    log: Path | None = None
    """Gets one line of JSON per answered request; lines are added to a file that is there."""


def run_rehearse(options: RehearseOptions) -> None:
    """Serve the model until it is stopped; the address goes to standard error once it can be used.

    Raises:
        SpecError: the packages are missing. SettingsError: the port is taken, or the log cannot be written.
        CorpusError, BadRecordError: the data set cannot be read.
    """
    uvicorn = require("uvicorn", "rehearse")
    require("starlette", "rehearse")
    from hopgraph.tools.apps.evaluation.rehearsal.model_server import ChatServer, RequestLog

    book = read_book(options.dataset.expanduser(), options.model.rename)
    model = RehearsalModel(book=book, options=options.model)
    with ExitStack() as opened:
        listener = opened.enter_context(_listen(options.port))
        log = opened.enter_context(_log_file(options.log)) if options.log else None
        app = ChatServer(model, f"rehearsal-{options.dataset.stem}", RequestLog(log)).asgi
        _tell(listener.getsockname()[1], options.dataset, len(book.plans))
        config: Any = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # or each answer waits 40 ms
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is taken" if taken else f"cannot be used: {error}"
        raise SettingsError(f"port {port} {why}; choose another with --port, or 0 for a free one") from None
    return listener


def _log_file(path: Path) -> Any:
    try:
        return path.expanduser().open("a", encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--log {path}: {error.strerror or error}") from None


def _tell(port: int, dataset: Path, questions: int) -> None:
    console = console_on(stderr=True)
    spec = f"openai:rehearsal-{dataset.stem}?base_url=http://{HOST}:{port}/v1"
    lines = f"Playing from {pluralize(questions, 'question')} (a simulation, no language model); stop with Ctrl-C."
    print_hanging(console, Text(), Text(lines, "dim"), indent=0)
    console.print(Text(f"--model '{spec}'"), soft_wrap=True)
