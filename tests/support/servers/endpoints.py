"""Shared parts of the endpoint tests: users, a question, options and waiting."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import Service
from support.servers.openai_server import OpenAIServer
from support.servers.web_app import without_page

USERS = {"key-of-ann": "ann", "key-of-bob": "bob"}
"""Keys of two users, for tests that need any."""

QUESTION = "In which city was the director of the film Pan's Labyrinth born?"


def by_model(server: OpenAIServer, folder: Path, **options: Any) -> ServingOptions:
    """Return options of an app without the page that uses a model server without retries."""
    settings = {"model": f"openai:any?base_url={server.base_url}", "request_retries": 0}
    return without_page(folder, settings=settings, **options)


async def until_idle(service: Service, seconds: float = 30) -> None:
    """Wait until no turn runs or waits."""
    await until_active(service, 0, seconds)


async def until_active(service: Service, number: int, seconds: float) -> None:
    """Wait until this many turns run or wait."""
    async with asyncio.timeout(seconds):
        while service.admission.active != number:  # noqa: ASYNC110 - it tells nobody when that changes
            await asyncio.sleep(0.01)


@cache
def asked(question: str = QUESTION, method: str = "cascade") -> dict[str, Any]:
    """Return the output of `hopgraph ask --json` for a question."""
    with redirect_stdout(StringIO()) as printed, ThreadPoolExecutor(1) as thread:  # the test's own loop is running
        assert thread.submit(main, ("ask", question, "--method", method, "--json")).result() == 0
    return json.loads(printed.getvalue())
