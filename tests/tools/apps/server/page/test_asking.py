"""Asking on the page: steps, answers with sources, follow-ups, stopping, reopening."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from hopgraph.tools.apps.server.page.chat_session import ChatSession, ThreadView
from hopgraph.tools.apps.server.page.page_turns import LiveTurn
from hopgraph.tools.apps.server.threads import Threads
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.browsing import Chat, Open, Serve
from support.servers.openai_server import OpenAIServer
from support.waiting import wait_until

HOPS = "Where was the painter of Guernica born?"
BELOW = """() => {
  const talk = document.getElementById("hg-talk"), end = document.querySelector("#hg-last .hg-turn");
  return [talk.scrollHeight - talk.clientHeight - talk.scrollTop,
    end.getBoundingClientRect().bottom - talk.getBoundingClientRect().bottom].map(Math.round);
}"""
"""How far the conversation could be scrolled down, and how far its last turn's end is below what is seen."""


def by_migres(model: OpenAIServer) -> dict[str, Any]:
    """Return settings with which a question takes several steps."""
    return {"model": f"openai:m?base_url={model.base_url}", "use_method": "migres", "links": False}


@pytest.mark.slow
def test_steps_come_before_the_answer(serve: Serve, open_chat: Open) -> None:
    with OpenAIServer(RuleBasedModel()) as model:
        chat = open_chat(serve(settings=by_migres(model)))
        model.hold(after=1)
        chat.write(HOPS)
        chat.last.locator(".hg-step").first.wait_for()
        seen = chat.last.inner_text()
        assert "Working" in seen
        assert "Málaga" not in seen
        chat.page.get_by_role("button", name="Stop").wait_for()
        model.release()
        chat.ended()
        assert chat.last.locator(".hg-answer").inner_text().startswith("Málaga")
    steps = chat.last.locator(".hg-steps")
    assert not steps.locator(".hg-group").first.is_visible()
    steps.locator("summary").first.press("Enter")
    headings = steps.locator(".hg-group > summary")
    assert headings.all_inner_texts() == ["Iteration 1", "Iteration 2"]
    headings.nth(1).click()
    assert "Pablo Picasso born" in steps.locator(".hg-group").nth(1).inner_text()


@pytest.mark.slow
def test_follow_ups_and_reopened_conversations(serve: Serve, open_chat: Open) -> None:
    app = serve()
    chat = open_chat(app)
    assert chat.ask("Who painted Guernica?").startswith("Pablo Picasso")
    assert chat.ask("Where was he born?").startswith("Málaga")
    steps = chat.last.locator(".hg-steps").text_content()
    chat.page.locator("#hg-picture svg").first.wait_for()
    picture = chat.page.locator("#hg-picture svg").first.text_content()
    assert "Málaga" in (picture or "")
    chat.page.reload()
    chat.ready()
    chat.turns.nth(1).wait_for()
    assert chat.turns.count() == 2
    assert chat.last.locator(".hg-reply").inner_text().startswith("Málaga")
    assert chat.last.locator(".hg-steps").text_content() == steps
    assert chat.page.locator("#hg-picture svg").first.text_content() == picture
    assert chat.ask("When was he born?").startswith("25 October 1881")


@pytest.mark.long
def test_the_latest_turn_is_in_view(serve: Serve, open_chat: Open) -> None:
    chat = open_chat(serve(), viewport={"width": 390, "height": 500})

    def shows_its_end() -> bool:
        chat.page.wait_for_timeout(300)
        left, below = chat.page.evaluate(BELOW)
        return left == 0 and below <= 0

    for question in ("Who painted Guernica?", "Who wrote Frankenstein?", "Who painted Guernica?" + " Tell me." * 60):
        chat.ask(question)
        assert shows_its_end()
    chat.page.locator("#hg-talk").evaluate("talk => talk.scrollTop = 0")
    chat.ask(HOPS)
    assert shows_its_end()
    # The page does not scroll away from a text being read.
    chat.last.locator("summary").first.click()
    assert not shows_its_end()
    chat.page.reload()
    chat.ready()
    chat.turns.nth(3).wait_for()
    assert shows_its_end()


@pytest.mark.long
def test_the_page_follows_a_turn_unless_the_user_scrolls_up(serve: Serve, open_chat: Open) -> None:
    with OpenAIServer(RuleBasedModel()) as model:
        app = serve(settings={"model": f"openai:m?base_url={model.base_url}"})
        chat = open_chat(app, viewport={"width": 390, "height": 500})
        chat.page.get_by_role("button", name="Diagram and settings").click()
        chat.choose("Method", "MIGRES")
        chat.settled("MIGRES")
        chat.page.keyboard.press("Escape")
        model.hold(after=2)
        chat.write(HOPS)
        steps = chat.last.locator(".hg-step")
        steps.nth(2).wait_for()
        chat.page.wait_for_function("document.querySelector('#hg-talk').scrollTop > 50")
        assert chat.page.evaluate(BELOW)[0] == 0
        chat.page.locator("#hg-talk").hover()
        chat.page.mouse.wheel(0, -5000)
        chat.page.wait_for_function("document.querySelector('#hg-talk').scrollTop < 10")
        shown = steps.count()
        model.release()
        steps.nth(shown).wait_for(state="attached")
        assert chat.page.evaluate("document.querySelector('#hg-talk').scrollTop") < 10
        chat.ended()


@pytest.mark.slow
def test_questions_run_one_at_a_time_and_none_is_lost(
    serve: Serve, open_chat: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = LiveTurn.follow

    async def with_a_long_end(self: LiveTurn) -> AsyncGenerator[ThreadView]:
        async for view in follow(self):
            yield view
        await asyncio.sleep(2)

    monkeypatch.setattr(LiveTurn, "follow", with_a_long_end)
    with OpenAIServer(RuleBasedModel()) as model:
        chat = open_chat(serve(settings=by_migres(model)))
        model.hold()
        chat.write("Who painted Guernica?")
        chat.box.press("Enter")
        chat.last.locator(".hg-running").wait_for()
        chat.page.wait_for_function("document.querySelector('#hg-box textarea').value === ''")  # the question is taken
        chat.write("Who wrote Frankenstein?")  # stays in the box until it can be asked
        model.release()
        chat.ended()
        assert chat.turns.count() == 1
        assert chat.box.input_value() == "Who wrote Frankenstein?"
        chat.box.press("Enter")
        chat.page.wait_for_function("document.querySelectorAll('.hg-turn').length === 2")
        chat.ended()
        assert chat.turns.first.locator(".hg-answer").inner_text().startswith("Pablo Picasso")
    assert chat.threads.count() == 1


@pytest.mark.long
def test_unfolded_parts_stay_unfolded(serve: Serve, open_chat: Open) -> None:
    chat = open_chat(serve(settings={"use_method": "migres"}))
    folds = "turns => turns.map(each => [...each.querySelectorAll('details')].map(one => one.open))"
    chat.ask(HOPS)
    chat.last.locator("summary").first.click()
    chat.last.locator(".hg-group > summary").nth(1).click()
    opened = chat.turns.evaluate_all(folds)[0]
    assert opened.count(True) == 2
    for question in ("Who painted Guernica?", "Who wrote Frankenstein?", HOPS):
        chat.ask(question)
    first, *later = chat.turns.evaluate_all(folds)
    assert first == opened
    assert not any(any(each) for each in later)
    chat.turns.first.locator("summary").first.click()
    chat.ask("Who wrote Frankenstein?")
    assert chat.turns.evaluate_all(folds)[0][0] is False


@pytest.mark.slow
def test_a_turn_survives_a_reload_and_a_stopped_one_can_be_continued(serve: Serve, open_chat: Open) -> None:
    with OpenAIServer(RuleBasedModel()) as model:
        app = serve(settings=by_migres(model))
        chat = open_chat(app)
        model.hold(after=2)
        chat.write(HOPS)
        chat.last.locator(".hg-step").nth(2).wait_for()
        chat.page.reload()
        chat.last.locator(".hg-running").wait_for()
        chat.page.get_by_role("button", name="Stop").wait_for()
        model.release()
        chat.ended()
        assert chat.last.locator(".hg-answer").inner_text().startswith("Málaga")
        whole = len(model.requests)
        model.hold(after=2)
        chat.last.get_by_role("button", name="Ask again").click()
        chat.last.locator(".hg-running .hg-step").nth(2).wait_for()
        chat.page.get_by_role("button", name="Stop").click()
        chat.ended()
        assert "Stopped" in chat.last.inner_text()
        assert chat.last.locator(".hg-step").nth(2).is_visible()  # the steps stay
        model.release()
        chat.last.get_by_role("button", name="Continue").click()
        chat.last.locator(".hg-answer").wait_for()
        assert chat.last.locator(".hg-answer").inner_text().startswith("Málaga")
        assert len(model.requests) <= 2 * whole + 2  # finished calls are not repeated
        chat.last.get_by_role("button", name="Good").click()
        chat.page.reload()
        chat.ready()
        assert chat.last.get_by_role("button", name="Good").get_attribute("aria-pressed") == "true"
        first = chat.turns.first
        first.get_by_role("button", name="Edit").click()
        field = first.get_by_role("textbox", name="Edit the question")
        assert field.input_value() == HOPS
        field.press("Escape")
        assert chat.turns.count() > 1
        first.get_by_role("button", name="Edit").click()
        first.get_by_role("button", name="Cancel").click()
        assert first.get_by_role("textbox").count() == 0
        first.get_by_role("button", name="Edit").click()
        field.fill("Who painted Guernica?")
        first.get_by_role("button", name="Save and ask").click()
        chat.page.wait_for_function("document.querySelectorAll('.hg-turn').length === 1")
        chat.ended()
        chat.last.locator(".hg-answer").wait_for()
        assert chat.last.locator(".hg-question").inner_text() == "Who painted Guernica?"


@pytest.mark.slow
def test_a_turn_that_ends_while_the_page_loads_is_shown_as_ended(
    serve: Serve, open_chat: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_thread, list_threads = ChatSession.open, Threads.list_for
    running: list[LiveTurn] = []

    async def open_running(self: ChatSession, user: str, thread: str) -> ThreadView:
        if live := self.live_turn(user, thread):
            running.append(live)
        return await open_thread(self, user, thread)

    async def list_once_ended(self: Threads, owner: str) -> Any:
        for live in running:
            model.release()
            assert live.task
            await live.task
        return await list_threads(self, owner)

    with OpenAIServer(RuleBasedModel()) as model:
        chat = open_chat(serve(settings={"model": f"openai:m?base_url={model.base_url}"}))
        model.hold(after=1)
        chat.write(HOPS)
        chat.page.get_by_role("button", name="Stop").wait_for()
        monkeypatch.setattr(ChatSession, "open", open_running)
        monkeypatch.setattr(Threads, "list_for", list_once_ended)
        chat.page.reload()
        chat.ended()
        assert chat.last.locator(".hg-answer").inner_text().startswith("Málaga")


@pytest.mark.slow
def test_a_reply_is_rated_with_a_comment_in_a_browser(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    rate = ChatSession.rate

    async def rate_slowly(*told: Any) -> None:
        await asyncio.sleep(1)  # the comment is sent before the rating has arrived
        await rate(*told)

    monkeypatch.setattr(ChatSession, "rate", rate_slowly)
    chat.ask("Who painted Guernica?")
    chat.last.get_by_role("button", name="Bad").click()
    chat.last.get_by_role("textbox", name="What was right or wrong?").fill("The year is missing.")
    chat.last.get_by_role("button", name="Send comment").click()
    chat.last.get_by_text("Thank you for your comment.").wait_for()
    address = f"{chat.app.url}/chat/{chat.page.locator('#hg-export a').get_attribute('href')}"
    expected = "*Rating: Bad answer*: The year is missing."
    wait_until(lambda: expected in chat.page.request.get(address).text())  # the server stores it after the thanks
    chat.last.get_by_role("button", name="Bad").click()
    assert chat.last.locator(".hg-comment").count() == 0
