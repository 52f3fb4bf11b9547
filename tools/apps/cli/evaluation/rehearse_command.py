"""`hopgraph rehearse`: the rehearsal model behind an OpenAI-compatible HTTP server."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.text import Text

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.console import console_on, print_line
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_model import RehearsalModel, read_book
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_options import RehearsalOptions
from hopgraph.tools.apps.server.listener import open_listener
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.text.sanitize import pluralize


def run_rehearse(dataset: Path, port: int, options: RehearsalOptions, log: Path | None = None) -> None:
    """Serve the model until it is stopped; the address goes to standard error once it can be used."""
    uvicorn = require("uvicorn", "rehearse")
    require("starlette", "rehearse")
    from hopgraph.tools.apps.evaluation.rehearsal.model_server import chat_app

    book = read_book(dataset.expanduser(), options.rename)
    model = RehearsalModel(book=book, options=options)
    with ExitStack() as opened:
        listener = opened.enter_context(open_listener("127.0.0.1", port))  # only this machine: there are no keys
        try:
            file = opened.enter_context(log.expanduser().open("a", encoding="utf-8")) if log else None
        except OSError as error:
            raise SettingsError(f"--log {log}: {error.strerror or error}") from None
        name = f"rehearsal-{dataset.stem}"
        console = console_on(stderr=True)
        questions = pluralize(len(book.plans), "question")
        print_line(console, f"Playing from {questions} (a simulation, no language model); stop with Ctrl-C.", "dim")
        spec = f"openai:{name}?base_url=http://127.0.0.1:{listener.getsockname()[1]}/v1"
        console.print(Text(f"--model '{spec}'"), soft_wrap=True)
        app = chat_app(model, name, file)
        config: Any = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])
