"""The real app, and a real browser."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from hopgraph.tools.apps.server.server_options import ServingOptions
from support.servers.app_in_thread import app_in_thread
from support.servers.browsing import Chat, Open, Serve, chromium_browser
from support.servers.web_app import WebApp, open_app, without_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[WebApp]:
    """The app without its page, in the loop of the test."""
    async with open_app(without_page(tmp_path)) as opened:
        yield opened


@pytest.fixture(scope="module")
def chromium() -> "Iterator[Browser]":
    with chromium_browser() as browser:
        yield browser


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start apps with threads and documents in the test's folder."""
    with ExitStack() as running:

        def start(mounted_in: Any = None, **options: Any) -> WebApp:
            given = dict[str, Any](threads=tmp_path / "threads.sqlite") | options
            return running.enter_context(app_in_thread(ServingOptions(**given), mounted_in))

        yield start


@pytest.fixture
def open_chat(chromium: "Browser") -> Iterator[Open]:
    """Open the page in a new browser; requests must stay within the app and succeed."""
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


@pytest.fixture
def chat(serve: Serve, open_chat: Open) -> Chat:
    """The page of an app with default options."""
    return open_chat(serve())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore Gradio's use of deprecated pandas features, as its server runs in the test process."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:.*no_silent_downcasting"))
