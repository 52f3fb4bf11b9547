"""`hopgraph mcp`: the methods as tools of an MCP server on standard input and output."""

import asyncio
import os
import signal
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from types import FrameType

from hopgraph.graphs import find_method
from hopgraph.nodes.prepare import check_settings
from hopgraph.state import SettingsError
from hopgraph.state.chat import AUTO, ChatContext
from hopgraph.state.context import explicit_settings
from hopgraph.tools.apps.cli.console import console_on
from hopgraph.tools.apps.cli.run_output import print_stand_in
from hopgraph.tools.apps.cli.serving_commands import McpOptions
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.io.optional_packages import require


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
        asyncio.run(_serve(options))


def _end_at_once(folder: Path) -> None:
    """Let Ctrl-C and SIGTERM end the process at once, though a thread waits for the client's next line."""

    def end(number: int, frame: FrameType | None) -> None:
        rmtree(folder, ignore_errors=True)
        os._exit(128 + number)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)


async def _serve(options: ServingOptions) -> None:
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
