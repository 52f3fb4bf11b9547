"""A browser, and the chat page as a user operates it."""

import re
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from support.servers.web_app import WebApp

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request

_PATIENCE = 120_000
"""Milliseconds that anything may take; the machine may be slow, and nothing waits longer than it must."""


_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The first draws no windows, and so takes much less processor time."""


@contextmanager
def chromium_browser() -> "Generator[Browser]":
    """Run headless Chromium; skip the test if none is installed or it does not start."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"needs a browser: none of {', '.join(_NAMES)} is on the PATH")
    pytest.importorskip("playwright", reason="needs playwright, of the extra dev")
    from playwright.sync_api import Error as PlaywrightError
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except PlaywrightError as error:
            pytest.skip(f"needs a browser, but {path} does not start: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


class Chat:
    """A tab with the page.

    Args:
        app: what it shows.
        context: the browser's profile; its requests and what fails in its pages are written down.
    """

    def __init__(self, app: WebApp, context: "BrowserContext") -> None:
        self.app = app
        self.requests: list[str] = []
        self.errors: list[str] = []
        context.set_default_timeout(_PATIENCE)
        context.on("request", self._requested)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        self.page: Page = context.new_page()

    def _requested(self, request: "Request") -> None:
        self.requests.append(request.url)

    def ready(self) -> None:
        """Wait until the page can be used."""
        self.page.locator("#hg-notice p").first.wait_for()

    @property
    def box(self) -> "Locator":
        """The input for questions."""
        return self.page.get_by_role("textbox", name="Your question")

    @property
    def turns(self) -> "Locator":
        """The turns shown."""
        return self.page.locator(".hg-turn")

    @property
    def last(self) -> "Locator":
        """The last turn."""
        return self.page.locator("#hg-last .hg-turn")

    @property
    def threads(self) -> "Locator":
        """The conversations in the list."""
        return self.page.locator(".hg-threads label")

    def manage(self) -> None:
        """Open the menu of the chosen conversation."""
        self.page.get_by_role("button", name="Rename, export or delete this conversation").click()

    def write(self, text: str) -> None:
        """Ask by keyboard, without waiting."""
        self.box.fill(text)
        self.box.press("Enter")

    def ask(self, text: str) -> str:
        """Ask, wait for the reply and return its text."""
        before = self.turns.count()
        self.write(text)
        self.page.wait_for_function(f"document.querySelectorAll('.hg-turn').length > {before}")
        self.ended()
        return self.last.locator(".hg-reply").inner_text()

    def ended(self) -> None:
        """Wait until no turn runs."""
        self.page.get_by_role("button", name="Send").wait_for()
        self.page.wait_for_function("!document.querySelector('.hg-running')")

    def choose(self, label: str, value: str) -> None:
        """Choose an option from a list by its first letters, by keyboard."""
        field = self.page.get_by_role("combobox", name=label, exact=True)
        field.scroll_into_view_if_needed()
        field.fill(value)
        self.page.get_by_role("option", name=re.compile(rf"^(?:✓ ?)?{re.escape(value)}(?::|$)")).click()

    def settled(self, notice: str) -> None:
        """Wait until the line below the input shows the choice, which then applies to the next question."""
        self.page.locator("#hg-notice").get_by_text(notice).first.wait_for()

    def unfold(self, title: str) -> None:
        """Open a collapsible part."""
        self.page.get_by_role("button", name=re.compile(f"^{re.escape(title)}")).first.click()


Serve = Callable[..., WebApp]
Open = Callable[..., Chat]
"""The fixtures of the page's tests that serve an app, and open it in a tab."""
