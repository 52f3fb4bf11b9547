from collections.abc import Iterator

import pytest

from support.servers.search_server import SearchServer


@pytest.fixture
def server() -> Iterator[SearchServer]:
    server = SearchServer()
    server.start()
    yield server
    server.close()
