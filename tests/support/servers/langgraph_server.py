"""`langgraph dev` in a separate process, with the project's langgraph.json."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.paths import ROOT


@contextmanager
def langgraph_server(
    log_file: Path, described: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> Generator[str]:
    """Start the server and yield its URL, read from its log because a port in use makes it choose another.

    Args:
        log_file: what the server writes; its folder becomes the server's.
        described: what stands for the project's langgraph.json; None for that.
        environment: further variables of the server's.
    """
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    command += ["--port", str(_free_port()), "--n-jobs-per-worker", "20"]
    for name in ("langgraph.json", "pyproject.toml", "README.md", "graphs"):
        if described is None or name != "langgraph.json":
            (log_file.parent / name).symlink_to(ROOT / name)  # its threads are kept in a folder beside these
        else:
            (log_file.parent / name).write_text(json.dumps(described))
    variables = {
        **os.environ,
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGSMITH_TRACING": "false",
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        "HOPGRAPH_GOLD_PASSAGES": json.dumps([{"title": "Pan's Labyrinth", "text": "Guillermo del Toro directed it."}]),
        **(environment or {}),
    }
    with log_file.open("wb") as log:
        server = subprocess.Popen(
            command, cwd=log_file.parent, env=variables, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield _address(server, log_file)
    finally:
        os.killpg(server.pid, signal.SIGINT)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def _listens(address: str) -> bool:
    try:
        socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=5).close()
    except OSError:
        return False
    return True


def _address(server: "subprocess.Popen[bytes]", log_file: Path) -> str:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        said = log_file.read_text(errors="replace")
        address = re.search(r"API: \S*?(http://(?:127\.0\.0\.1|localhost):\d+)", said)
        if (
            address and "Application started up" in said and _listens(address[1])
        ):  # it starts listening after the log line
            return address[1]
        if server.poll() is not None:
            break
        time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log_file.read_text(errors='replace')[-3000:]}")
