"""The page's work without its looks: what a tab is shown, and what is left of a turn that did not end well."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from hopgraph.state import HopgraphError
from hopgraph.tools.apps.server.page.chat_session import Talking, View, Wanted
from hopgraph.tools.apps.server.page.page_turns import Turn
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import open_service
from hopgraph.tools.models.offline import OfflineExtractive
from support.servers.by_hand import by_hand
from support.servers.faults import slow
from support.servers.openai_server import OpenAIServer
from support.servers.web_app import chat_process

QUESTION = "Who painted Guernica?"
USER = "anna"


@pytest.fixture
async def talking(tmp_path: Path) -> AsyncGenerator[Talking]:
    async with opened(tmp_path) as page:
        yield page


@asynccontextmanager
async def opened(folder: Path, model: str = "offline:extractive") -> AsyncGenerator[Talking]:
    """Open the page's work on the threads of a folder."""
    async with open_service(ServingOptions(threads=folder / "threads.sqlite", settings={"model": model})) as service:
        talking = Talking(lambda: service)
        await talking.kept.prepare()
        yield talking


async def asked(talking: Talking, thread: str = "", wanted: Wanted | None = None, text: str = QUESTION) -> View:
    """Ask, and give the last view."""
    last = View("", [])
    async for view in talking.ask("session", USER, thread, text, wanted or Wanted(method="one_step")):
        last = view
    return last


async def test_a_refused_question_leaves_the_conversation_on_the_page(talking: Talking) -> None:
    first = await asked(talking)
    refused = await asked(talking, first.thread, Wanted(method="one_step", changes={"temperature": 9}))
    assert "temperature" in refused.problem
    assert (refused.thread, [turn.asked for turn in refused.turns]) == (first.thread, [QUESTION])


async def test_a_review_that_was_passed_over_waits_no_more(talking: Talking) -> None:
    first = await asked(talking, wanted=Wanted(method="one_step", changes={"review_queries": True}))
    assert first.asked
    second = await asked(talking, first.thread)
    assert [turn.ended for turn in second.turns] == ["paused", "done"]
    again = await talking.open(USER, first.thread)
    assert [turn.ended for turn in again.turns] == ["stopped", "done"]
    assert not again.asked


async def test_a_turn_that_was_stopped_at_once_stays_where_it_was_asked(talking: Talking) -> None:
    first = await asked(talking)
    stopped = Turn("And this?", ended="stopped")  # before the thread had its question
    await talking.kept.keep(USER, first.thread, stopped)
    await asked(talking, first.thread, text="Who wrote Frankenstein?")
    again = await talking.open(USER, first.thread)
    assert [turn.asked for turn in again.turns] == [QUESTION, "And this?", "Who wrote Frankenstein?"]
    assert [turn.ended for turn in again.turns] == ["done", "stopped", "done"]


async def until_asked(server: OpenAIServer, seconds: float) -> None:
    """Wait until a turn has come to the call that is slow."""
    async with asyncio.timeout(seconds):
        while "one_step/answer" not in [each.role for each in server.requests]:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)


async def under_way(talking: Talking, server: OpenAIServer) -> tuple[str, asyncio.Task[View]]:
    """Ask something that takes long; gives the thread, and the task that watches."""
    server.fail_when("one_step/answer", slow(60))
    task = asyncio.create_task(asked(talking))
    await until_asked(server, 60)
    (thread,) = await talking.service().threads.of(USER)
    return thread["id"], task


async def test_a_turn_under_way_is_shown_so_elsewhere_and_cannot_be_deleted(tmp_path: Path) -> None:
    with OpenAIServer(OfflineExtractive()) as server:
        async with opened(tmp_path, f"openai:any?base_url={server.base_url}") as talking:
            thread, task = await under_way(talking, server)
            seen = await talking.open(USER, thread)
            assert [turn.ended for turn in seen.turns] == ["elsewhere"]
            refused = await asked(talking, thread, text="And this?")
            assert "still being answered" in refused.problem
            assert [turn.asked for turn in refused.turns] == [QUESTION]
            with pytest.raises(HopgraphError, match="still being answered"):
                await talking.delete(USER, thread)
            talking.running.stop("session")
            assert (await task).turns[-1].ended == "stopped"
            await talking.delete(USER, thread)
            assert await talking.kept.of(USER, thread) == {}
            assert (await talking.open(USER, thread)).turns == []


async def test_a_page_that_closes_ends_its_turns_and_keeps_them(tmp_path: Path) -> None:
    with OpenAIServer(OfflineExtractive()) as server:
        async with opened(tmp_path, f"openai:any?base_url={server.base_url}") as talking:
            thread, task = await under_way(talking, server)
            await talking.close()
            assert (await task).turns[-1].ended == "stopped"
            (kept,) = (await talking.kept.of(USER, thread)).values()
    assert (kept.asked, kept.ended) == (QUESTION, "stopped")
    assert kept.lines


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_app_that_is_stopped_ends_its_turns_and_keeps_them(tmp_path: Path, number: signal.Signals) -> None:
    with ExitStack() as running:
        server = running.enter_context(OpenAIServer(OfflineExtractive()))
        server.fail_when("one_step/answer", slow(100))
        chat = running.enter_context(chat_process(tmp_path, "--model", f"openai:any?base_url={server.base_url}"))

        async def ask_and_stop() -> None:
            async with by_hand(chat.url) as person:
                asking = asyncio.create_task(person.call("ask", [None, QUESTION, "one_step", None, "", []]))
                await until_asked(server, 100)
                assert await asyncio.to_thread(chat.stop, number) == 0
                await asyncio.gather(asking, return_exceptions=True)

        asyncio.run(ask_and_stop())
        assert "Traceback" not in chat.said(), chat.said()

    async def kept() -> Turn:
        async with opened(tmp_path) as talking:
            (thread,) = await talking.service().threads.of("local")
            (turn,) = (await talking.open("local", thread["id"])).turns
            return turn

    turn = asyncio.run(kept())
    assert (turn.asked, turn.ended) == (QUESTION, "stopped")
    assert turn.lines
