"""The real development server of LangGraph, started once for all tests that want it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from support.fake_clock import FakeClock
from support.servers.langgraph_server import langgraph_server
from support.servers.remote_graphs import EveryGraph


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    return FakeClock(monkeypatch)


@pytest.fixture(scope="session")
def log_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="session")
def server_url(log_file: Path) -> Iterator[str]:
    """A developer's own server, whose callers choose models and corpora; `tests/attacks` has one for others."""
    with langgraph_server(log_file, environment={"HOPGRAPH_TRUST_CALLERS": "1"}) as url:
        yield url


@pytest.fixture(scope="session")
def client(server_url: str) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=server_url) as connected:
        yield connected


@pytest.fixture(scope="session")
def every_graph(server_url: str) -> EveryGraph:
    return EveryGraph(server_url)
