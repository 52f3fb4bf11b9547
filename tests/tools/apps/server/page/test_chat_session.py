"""The page's logic without its rendering: the view of a tab, and turns that did not end normally."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import JsonValue

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.page.chat_session import ChatSession
from hopgraph.tools.apps.server.page.page_turns import PageTurn, ThreadView, TurnOptions
from hopgraph.tools.apps.server.page.review_form import answer_next
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import open_service
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.faults import slow
from support.servers.openai_server import OpenAIServer

QUESTION = "Who painted Guernica?"
HOPS = "Where was the painter of Guernica born?"
USER = "anna"


@pytest.fixture
async def chat_session(tmp_path: Path) -> AsyncGenerator[ChatSession]:
    async with opened(tmp_path) as page:
        yield page


@asynccontextmanager
async def opened(folder: Path, model: str = "offline:extractive", **settings: JsonValue) -> AsyncGenerator[ChatSession]:
    """Open a chat session on the threads of a folder."""
    options = ServingOptions(threads=folder / "threads.sqlite", settings={"model": model, **settings})
    async with open_service(options) as service:
        chat_session = ChatSession(lambda: service)
        yield chat_session


async def asked(
    chat_session: ChatSession, thread: str = "", wanted: TurnOptions | None = None, text: str = QUESTION
) -> ThreadView:
    """Ask, and return the last view."""
    last = ThreadView("", [])
    async for view in (await chat_session.ask(USER, thread, text, wanted or TurnOptions(method="one_step"))).follow():
        last = view
    return last


async def test_a_refused_question_leaves_the_conversation_on_the_page(chat_session: ChatSession) -> None:
    first = await asked(chat_session)
    refused = await asked(chat_session, first.thread, TurnOptions(method="one_step", changes={"temperature": 9}))
    assert "temperature" in refused.problem
    assert (refused.thread, [turn.asked for turn in refused.turns]) == (first.thread, [QUESTION])


async def test_deleting_a_conversation_leaves_the_others(chat_session: ChatSession) -> None:
    first, second = await asked(chat_session), await asked(chat_session, text="Who painted The Starry Night?")
    for view, answer in ((first, "Pablo Picasso"), (second, "Vincent van Gogh")):
        (turn,) = (await chat_session.open(USER, view.thread)).turns
        assert turn.told["answer"] == answer
        assert turn.lines
    await chat_session.delete(USER, first.thread)
    assert await chat_session.open(USER, first.thread) == ThreadView("", [])
    assert (await chat_session.open(USER, second.thread)).turns
    assert await chat_session.open("bob", second.thread) == ThreadView("", [])


@pytest.mark.slow
async def test_an_edited_question_replaces_its_turn_and_later_ones(chat_session: ChatSession) -> None:
    texts = (QUESTION, "Who wrote Frankenstein?", "Who directed Metropolis?")
    thread = ""
    for text in texts:
        thread = (await asked(chat_session, thread, text=text)).thread
    second = (await chat_session.open(USER, thread)).turns[1].id
    other, option = "Who painted The Starry Night?", TurnOptions(method="one_step")
    views = [view async for view in (await chat_session.ask(USER, thread, other, option, second)).follow()]
    for turns in (views[0].turns, views[-1].turns, (await chat_session.open(USER, thread)).turns):
        assert [each.asked for each in turns] == [QUESTION, other]
    assert len(await chat_session.turn_store.load(USER, thread)) == 2
    refused = [
        view
        async for view in (await chat_session.ask(USER, thread, "?", TurnOptions(method="no_such"), second)).follow()
    ]
    assert [each.asked for each in refused[-1].turns] == [QUESTION, other]
    state = await chat_session.service().chat.aget_state(chat_session.service().threads.config(USER, thread))
    assert [each.type for each in state.values["messages"]] == ["human", "ai"] * 2


async def test_a_review_is_shown_again_until_it_is_answered(chat_session: ChatSession) -> None:
    first = await asked(chat_session, wanted=TurnOptions(method="one_step", changes={"review_queries": True}))
    again = await chat_session.open(USER, first.thread)
    assert [turn.ended for turn in again.turns] == ["paused"]
    assert [(each.kind, len(each.items)) for each in again.asked] == [("queries", 1)]
    unanswered = [view async for view in (await chat_session.review(USER, first.thread, again.asked)).follow()]
    assert [view.asked for view in unanswered] == [again.asked]
    answered = answer_next(again.asked, {"action": "edit", "queries": [{"text": "Guernica Picasso"}]})
    views = [view async for view in (await chat_session.review(USER, first.thread, answered)).follow()]
    (turn,) = views[-1].turns
    assert turn.ended == "done"
    assert turn.told["answer"] == "Pablo Picasso"
    assert "queries, edit: 1 in place of 1" in " ".join(line.text for line in turn.lines)


async def test_a_model_error_is_shown_as_one_line_of_the_turn(tmp_path: Path) -> None:
    async with opened(tmp_path, "openai:m?base_url=http://127.0.0.1:9/v1", request_retries=0) as chat_session:
        (turn,) = (await asked(chat_session)).turns
        (stored,) = (
            await chat_session.open(USER, (await chat_session.service().threads.list_for(USER))[0]["id"])
        ).turns
    for each in (turn, stored):
        assert each.ended == "failed"
        assert "cannot reach [address]; is the server running?" in each.problem
        assert "\n" not in each.problem
        assert "127.0.0.1" not in each.problem


async def test_a_skipped_review_is_no_longer_pending(chat_session: ChatSession) -> None:
    first = await asked(chat_session, wanted=TurnOptions(method="one_step", changes={"review_queries": True}))
    assert first.asked
    second = await asked(chat_session, first.thread)
    assert [turn.ended for turn in second.turns] == ["paused", "done"]
    again = await chat_session.open(USER, first.thread)
    assert [turn.ended for turn in again.turns] == ["stopped", "done"]
    assert not again.asked


@pytest.mark.slow
async def test_a_turn_that_is_stopped_at_once_stays_in_its_conversation(chat_session: ChatSession) -> None:
    first = await asked(chat_session)
    stopped = PageTurn("And this?", ended="stopped")  # before the thread had its question
    await chat_session.turn_store.save(USER, first.thread, stopped)
    await asked(chat_session, first.thread, text="Who painted The Starry Night?")
    again = await chat_session.open(USER, first.thread)
    assert [turn.asked for turn in again.turns] == [QUESTION, "And this?", "Who painted The Starry Night?"]
    assert [turn.ended for turn in again.turns] == ["done", "stopped", "done"]


async def until_asked(server: OpenAIServer, seconds: float) -> None:
    """Wait until a turn has reached the slow call."""
    async with asyncio.timeout(seconds):
        while "one_step/answer" not in [each.role for each in server.requests]:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)


async def run_in_task(chat_session: ChatSession, server: OpenAIServer) -> tuple[str, asyncio.Task[ThreadView]]:
    """Ask a slow question; return the thread and the task that watches it."""
    server.fail_when("one_step/answer", slow(60))
    task = asyncio.create_task(asked(chat_session))
    await until_asked(server, 60)
    (thread,) = await chat_session.service().threads.list_for(USER)
    return thread["id"], task


async def watched(chat_session: ChatSession, thread: str) -> ThreadView:
    """Open a thread in another tab; return the last view."""
    last = await chat_session.open(USER, thread)
    live = chat_session.live_turn(USER, thread)
    assert live
    async for view in live.follow():
        last = view
    return last


@pytest.mark.slow
async def test_a_stopped_turn_continues_without_repeated_calls(tmp_path: Path) -> None:
    """Also by another process, after its time limit; feedback stays with the turn."""
    method = TurnOptions(method="migres")
    with OpenAIServer(RuleBasedModel()) as server:
        model = f"openai:any?base_url={server.base_url}"
        async with opened(tmp_path, model, deadline_seconds=30) as chat_session:
            server.fail_when("migres/generate_queries", slow(60), times=1)
            task = asyncio.create_task(asked(chat_session, wanted=method, text=HOPS))
            while "migres/generate_queries" not in [each.role for each in server.requests]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            (thread,) = await chat_session.service().threads.list_for(USER)
            chat_session.stop(USER, thread["id"])
            assert [turn.ended for turn in (await task).turns] == ["stopped"]
        before = [each.role for each in server.requests]
        async with opened(tmp_path, model, deadline_seconds=30) as chat_session:
            views = [view async for view in (await chat_session.resume(USER, thread["id"])).follow()]
            (turn,) = views[-1].turns
            await chat_session.rate(USER, thread["id"], turn.id, "good")
            (stored,) = (await chat_session.open(USER, thread["id"])).turns
    assert (turn.ended, turn.told["answer"]) == ("done", "Málaga")
    assert stored.feedback == "good"
    after = [each.role for each in server.requests[len(before) :]]
    assert after[0] == "migres/generate_queries"
    assert after.count("migres/decide") == 1
    assert [line.text for line in turn.lines if line.style == "heading"] == ["Iteration 1", "Iteration 2"]


async def test_a_running_turn_is_shown_in_every_tab_and_cannot_be_deleted(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        async with opened(tmp_path, f"openai:any?base_url={server.base_url}") as chat_session:
            thread, task = await run_in_task(chat_session, server)
            seen = await chat_session.open(USER, thread)
            assert seen.runs
            other_tab = asyncio.create_task(watched(chat_session, thread))
            refused = await asked(chat_session, thread, text="And this?")
            assert "still being answered" in refused.problem
            assert [turn.asked for turn in refused.turns] == [QUESTION]
            with pytest.raises(HopgraphError, match="still being answered"):
                await chat_session.delete(USER, thread)
            chat_session.stop(USER, thread)
            assert (await task).turns[-1].ended == (await other_tab).turns[-1].ended == "stopped"
            await chat_session.delete(USER, thread)
            assert await chat_session.turn_store.load(USER, thread) == {}
            assert (await chat_session.open(USER, thread)).turns == []


async def test_a_page_that_closes_ends_its_turns_and_keeps_them(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        async with opened(tmp_path, f"openai:any?base_url={server.base_url}") as chat_session:
            thread, task = await run_in_task(chat_session, server)
            await chat_session.close()
            assert (await task).turns[-1].ended == "stopped"
            (kept,) = (await chat_session.turn_store.load(USER, thread)).values()
    assert (kept.asked, kept.ended) == (QUESTION, "stopped")
    assert kept.lines
