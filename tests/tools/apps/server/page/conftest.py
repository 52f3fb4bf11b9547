"""A real browser before the real app."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from hopgraph.tools.apps.server.server_options import ServingOptions
from support.servers.app_in_thread import app_in_thread
from support.servers.browsing import Chat, chromium_browser
from support.servers.web_app import WebApp

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chromium() -> "Iterator[Browser]":
    with chromium_browser() as browser:
        yield browser


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., WebApp]]:
    """Start apps, whose threads and documents lie in the test's own folder."""
    with ExitStack() as running:

        def start(**options: Any) -> WebApp:
            given = dict[str, Any](threads=tmp_path / "threads.sqlite") | options
            return running.enter_context(app_in_thread(ServingOptions(**given)))

        yield start


@pytest.fixture
def open_chat(chromium: "Browser") -> Iterator[Callable[..., Chat]]:
    """Open the page in a browser of its own; nothing that it does may reach beyond the app, or fail in it."""
    opened: list[Chat] = []

    def start(app: WebApp, *, wait: bool = True, **context: Any) -> Chat:
        given = dict[str, Any](viewport={"width": 1280, "height": 800}) | context
        chat = Chat(app, chromium.new_context(**given))
        opened.append(chat)
        chat.page.goto(f"{app.url}/chat/")
        if wait:
            chat.ready()
        return chat

    yield start
    for chat in opened:
        chat.page.context.close()
        hosts = {urlsplit(url).netloc for url in chat.requests if not url.startswith(("data:", "blob:"))}
        assert hosts == {urlsplit(chat.app.url).netloc}
        assert not chat.errors


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let Gradio use what pandas has deprecated; here its server runs in the process of the tests."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:.*no_silent_downcasting"))
