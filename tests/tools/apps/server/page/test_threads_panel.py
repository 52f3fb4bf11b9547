"""The list of conversations, per user."""

import time
from pathlib import Path

import pytest

from hopgraph.tools.apps.server.page.chat_session import ChatSession, TurnOptions
from hopgraph.tools.apps.server.server_options import OWNER, ServingOptions
from hopgraph.tools.apps.server.service import open_service
from hopgraph.tools.io.background import run_in_background
from support.servers.browsing import Chat, Open, Serve

ANN, BEN = "ann-0123456789abcdef", "ben-0123456789abcdef"


def titles(chat: Chat, count: int) -> list[str]:
    """Wait for a number of conversations; return their titles."""
    chat.page.wait_for_function(f"document.querySelectorAll('.hg-threads label').length === {count}")
    return [text.strip() for text in chat.threads.all_inner_texts()]


@pytest.mark.slow
def test_conversations_can_be_created_chosen_renamed_and_deleted(chat: Chat) -> None:
    chat.ask("Who painted Guernica?")
    chat.page.get_by_role("button", name="New conversation").click()
    chat.page.get_by_text("Ask your documents").wait_for()
    chat.ask("Who wrote Frankenstein?")
    assert titles(chat, 2) == ["Who wrote Frankenstein?", "Who painted Guernica?"]
    chat.threads.nth(1).click()
    chat.last.locator(".hg-answer", has_text="Pablo Picasso").wait_for()
    title = chat.page.get_by_label("Title", exact=True)
    assert title.input_value() == "Who painted Guernica?"
    chat.manage()
    title.fill("The painter")
    title.press("Enter")
    chat.page.locator(".hg-threads label", has_text="The painter").wait_for()
    assert titles(chat, 2) == ["The painter", "Who wrote Frankenstein?"]
    assert not chat.page.get_by_role("button", name="Delete", exact=True).is_visible()
    chat.manage()
    chat.page.get_by_role("button", name="Delete", exact=True).click()
    chat.page.get_by_role("button", name="Cancel").click()
    chat.page.get_by_role("button", name="Delete", exact=True).click()
    chat.page.get_by_role("button", name="Yes, delete").click()
    assert titles(chat, 1) == ["Who wrote Frankenstein?"]
    assert chat.turns.count() == 0
    chat.page.reload()
    chat.ready()
    assert titles(chat, 1) == ["Who wrote Frankenstein?"]


async def ask_in_ten_conversations(options: ServingOptions) -> None:
    """Ask as the page does, without a browser."""
    async with open_service(options) as service:
        session = ChatSession(lambda: service)
        for number in range(10):
            question = f"Who painted Guernica, number {number}?"
            async for _ in (await session.ask(OWNER, "", question, TurnOptions(method="one_step"))).follow():
                pass


@pytest.mark.long
def test_a_long_list_of_conversations_scrolls_and_is_one_tab_stop(
    serve: Serve, open_chat: Open, tmp_path: Path
) -> None:
    run_in_background(ask_in_ten_conversations(ServingOptions(threads=tmp_path / "threads.sqlite")))
    chat = open_chat(serve(), viewport={"width": 1280, "height": 540})
    titles(chat, 10)
    chat.threads.first.click()
    chat.last.get_by_text("number 9?").first.wait_for()
    chat.manage()
    held = chat.page.locator("#hg-left").evaluate("left => left.scrollHeight - left.clientHeight")
    assert held == 0
    for name in ("Rename", "Delete"):
        box = chat.page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 540
    chat.page.get_by_role("button", name="New conversation").focus()
    chat.page.keyboard.press("Tab")
    assert chat.threads.first.locator("input").evaluate("each => each === document.activeElement")
    for number in (8, 7):
        chat.page.keyboard.press("ArrowDown")
        chat.last.get_by_text(f"number {number}?").first.wait_for()
    assert chat.page.get_by_label("Title", exact=True).input_value().endswith("number 7?")
    for _ in range(3):
        chat.page.keyboard.press("ArrowDown")
    chat.last.get_by_text("number 4?").first.wait_for()
    assert chat.threads.nth(5).locator("input").is_checked()
    chat.page.keyboard.press("Tab")
    chat.page.keyboard.press("Enter")
    assert chat.page.get_by_label("Title", exact=True).evaluate("each => each === document.activeElement")


@pytest.mark.slow
def test_users_log_in_and_out_and_see_only_their_own_conversations(serve: Serve, open_chat: Open) -> None:
    app = serve(keys={ANN: "ann", BEN: "ben"})
    ann = open_chat(app, wait=False)
    log_in(ann, "key-of-nobody-0123456789")
    ann.page.get_by_text("This key is not valid.").wait_for()
    log_in(ann, ANN)
    ann.ready()
    ann.ask("Who painted Guernica?")
    ben = open_chat(app, wait=False)
    log_in(ben, BEN)
    ben.ready()
    time.sleep(0.5)
    assert ben.threads.count() == 0
    # Users cannot set files, URLs or paid models.
    ben.unfold("Settings")
    ben.unfold("Limits")
    assert ben.page.locator("#hg-setting-max_llm_calls").count() == 1
    assert ben.page.locator("#hg-setting-model").count() == 0
    ben.page.locator("#hg-account").get_by_text("ben").wait_for()
    ben.page.get_by_role("button", name="Log out").click()
    ben.page.get_by_label("Your key").wait_for()
    ben.page.goto(f"{app.url}/chat/")
    ben.page.get_by_label("Your key").wait_for()


def log_in(chat: Chat, key: str) -> None:
    """Fill in the log-in form."""
    chat.page.get_by_label("Your key").fill(key)
    chat.page.get_by_role("button", name="Log in").click()
