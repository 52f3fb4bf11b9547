"""A LangGraph server as an operator runs it for others: with callers' keys, and a model key of its own to be stolen."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.servers.langgraph_server import langgraph_server
from support.servers.trap import ANN, BEN, SECRETS, Trap, listening


@pytest.fixture(scope="session")
def server_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attacked") / "log"


@pytest.fixture(scope="session")
def server_url(server_log: Path) -> Iterator[str]:
    """A server with the keys of two people and one name of its own beside this machine's."""
    environment = {"HOPGRAPH_API_KEY": f"ann={ANN},ben={BEN}", "HOPGRAPH_HOSTS": "chat.example", **SECRETS}
    with langgraph_server(server_log, environment=environment) as url:
        yield url


def person(server_url: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=server_url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


@pytest.fixture
def ann(server_url: str) -> Iterator[httpx.Client]:
    with person(server_url, ANN) as client:
        yield client


@pytest.fixture
def ben(server_url: str) -> Iterator[httpx.Client]:
    with person(server_url, BEN) as client:
        yield client


@pytest.fixture
def trap() -> Iterator[Trap]:
    with listening() as opened:
        yield opened
