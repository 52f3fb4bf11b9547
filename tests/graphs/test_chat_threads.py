"""Threads on SQLite and on a real PostgreSQL server: kept, apart, and alive after a kill."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from hopgraph.graphs import chat
from hopgraph.state import SettingsError
from hopgraph.state.chat import AUTO
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import BusyError, open_service
from hopgraph.tools.apps.server.threads import StorageError, Threads, default_path, open_threads, thread_key
from hopgraph.tools.apps.server.turn import TurnEnd
from hopgraph.tools.models.offline import RuleBasedModel
from support.paths import ROOT
from support.servers.faults import slow
from support.servers.openai_server import OpenAIServer
from support.servers.postgres import postgres_server

WORKER = ROOT / "tests" / "support" / "chat_worker.py"
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("psycopg_pool", reason="needs hopgraph[postgres]")
    with postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where threads are kept; what one test leaves in PostgreSQL the others must not mind."""
    return (
        str(tmp_path / "deep" / "threads.sqlite") if request.param == "sqlite" else request.getfixturevalue("address")
    )


@pytest.fixture
async def threads(place: str) -> AsyncIterator[Threads]:
    async with open_threads(place) as opened:
        yield opened


def app_on(threads: Threads) -> Any:
    return chat.build().compile(checkpointer=threads.saver, name="Chat")


async def say(app: Any, text: str, config: Any, **settings: Any) -> str:
    context = chat.Context(**settings) if settings else None
    result = await app.ainvoke({"messages": [("user", text)]}, config, context=context)
    return result["messages"][-1].text


async def test_a_thread_is_there_after_a_restart(place: str) -> None:
    async with open_threads(place) as threads:
        thread = await threads.create("restart", "Guernica")
        await say(app_on(threads), "Who painted Guernica?", threads.config("restart", thread))
    async with open_threads(place) as threads:
        assert [each["title"] for each in await threads.list_for("restart")] == ["Guernica"]
        assert (await say(app_on(threads), "Where was he born?", threads.config("restart", thread))).startswith(
            "Málaga"
        )


async def test_two_users_do_not_see_each_others(threads: Threads) -> None:
    app = app_on(threads)
    await threads.create("ann@example.org", thread="one")
    await threads.create("bob", thread="one")
    await say(app, "Who painted Guernica?", threads.config("ann@example.org", "one"))
    assert (await app.aget_state(threads.config("bob", "one"))).values == {}
    await threads.rename("bob", "one", "Bob's")
    assert [each["title"] for each in await threads.list_for("ann@example.org")] == [""]
    await threads.delete("bob", "one")
    assert (await app.aget_state(threads.config("ann@example.org", "one"))).values["messages"]
    assert await threads.list_for("bob") == []


async def test_threads_are_listed_renamed_and_deleted(threads: Threads) -> None:
    app = app_on(threads)
    first, second = await threads.create("carl", "first"), await threads.create("carl", "x" * 1_000)
    assert await threads.create("carl", "again", thread=first) == first
    await threads.rename("carl", first, " a\nnew\0 title ")
    found = await threads.list_for("carl")
    assert [(each["id"], each["title"]) for each in found] == [(first, "a new title"), (second, "x" * 200)]
    assert found[0]["changed"] > found[1]["changed"]
    await say(app, "Who painted Guernica?", threads.config("carl", second))
    await threads.delete("carl", second)
    await threads.delete("carl", second)
    assert (await app.aget_state(threads.config("carl", second))).values == {}
    assert [each["id"] for each in await threads.list_for("carl")] == [first]
    with pytest.raises(SettingsError, match="is unknown"):
        await threads.rename("carl", second, "?")


@pytest.mark.parametrize(
    "bad", ["", "../bob", "/etc/passwd", "a/b", "a\\b", "a:b", ".", "..", "a\0", "a b", "é", "a\n", "x" * 101, "-a"]
)
async def test_path_like_and_long_names_are_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(SettingsError, match=r"^user .* is malformed") as refused:
        thread_key(bad, "one")
    assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(SettingsError, match=r"^thread .* is malformed"):
        thread_key("ann", bad)
    async with open_threads(tmp_path / "threads.sqlite") as threads:
        with pytest.raises(SettingsError, match="is malformed"):
            await threads.list_for(bad)
        with pytest.raises(SettingsError, match="is malformed"):
            await threads.delete("ann", bad)
        with pytest.raises(SettingsError, match="is malformed"):
            await threads.create(bad)


async def test_eight_threads_at_once_are_not_mixed(threads: Threads) -> None:
    asked = [
        ("Who painted Guernica?", "Pablo Picasso", "Málaga"),
        ("Who directed Spirited Away?", "Hayao Miyazaki", "Tokyo"),
        (QUESTION, "Guadalajara", "Guadalajara"),
        ("Who painted The Starry Night?", "Vincent van Gogh", "Zundert"),
    ]
    app = app_on(threads)

    async def talk(number: int) -> None:
        question, answer, birthplace = asked[number % len(asked)]
        config = threads.config(f"user{number}", await threads.create(f"user{number}"))
        assert (await say(app, question, config)).startswith(answer)
        assert (await say(app, "And where was he born?", config)).startswith(birthplace)
        said: list[BaseMessage] = (await app.aget_state(config)).values["messages"]
        assert [each.text for each in said if isinstance(each, HumanMessage)] == [question, "And where was he born?"]

    await asyncio.gather(*(talk(number) for number in range(8)))


@pytest.mark.slow
@pytest.mark.parametrize("begins_again", [False, pytest.param(True, marks=pytest.mark.long)])
async def test_a_killed_turn_goes_on_or_begins_again(place: str, begins_again: bool) -> None:
    """The worker is killed when the method has made its first decision, which is to look for more.

    However late the kill comes: until then the server does not answer what is asked next.
    """
    user = f"killed{begins_again}"
    with OpenAIServer(RuleBasedModel()) as server:
        model = f"openai:any?base_url={server.base_url}"
        async with open_threads(place) as threads:
            await say(app_on(threads), "Who painted Guernica?", threads.config(user, "one"), model=model)
        before = len(server.requests)
        server.fail_when("migres/generate_queries", slow(3_600))
        _run_and_kill(place, user, model, QUESTION, at="decided")
        server.forget_faults()
        paid = [request.role for request in server.requests][before:]
        async with open_threads(place) as threads:
            app, config = app_on(threads), threads.config(user, "one")
            state = await app.aget_state(config)
            assert [each.text for each in state.values["messages"] if each.type == "human"][-1] == QUESTION
            assert state.next
            settings = chat.Context(model=model, use_method="one_step" if begins_again else "migres")
            if not begins_again:
                with pytest.raises(SettingsError, match="started with use_method = 'migres'"):
                    await app.ainvoke(None, config, context=chat.Context(model=model, use_method="one_step"))
            given = {"messages": []} if begins_again else None
            result = await app.ainvoke(given, config, context=settings)
            asked_again = [request.role for request in server.requests][before + len(paid) :]
            assert [each.type for each in result["messages"]] == ["human", "ai", "human", "ai"]
            if not begins_again:
                assert result["messages"][-1].text.startswith("Guadalajara")
                assert "chat/route" not in asked_again
                assert "migres/extract" in paid
                assert asked_again[0] in {"migres/decide", "migres/generate_queries"}
            assert not (await app.aget_state(config)).next


def _run_and_kill(place: str, user: str, model: str, question: str, *, at: str) -> None:
    """Run a turn in a process of its own, and kill it at once when it reports the step `at`."""
    command = [sys.executable, str(WORKER), place, user, "one", model, question]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/") as worker:
        assert worker.stdout
        lines = [line.strip() for line in iter(worker.stdout.readline, f"{at}\n") if line]
        worker.kill()
    assert worker.returncode == -signal.SIGKILL, lines


async def test_what_cannot_be_opened_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a database")
    places = {
        str(tmp_path / "file"): "not a database",
        str(tmp_path / "file" / "threads.sqlite"): "file",
        "postgresql://ann:secret@127.0.0.1:1/chat": "refused",
        "postgresql://ann:secret@127.0.0.1:1/chat?what=1": "what",
        "postgresql://127.0.0.1:1/chat?password=secret": "refused",
    }
    for place, told in places.items():
        if place.startswith("postgres"):
            pytest.importorskip("psycopg_pool", reason="needs hopgraph[postgres]")
        with pytest.raises(SettingsError, match="cannot be opened") as refused:
            async with open_threads(place):
                pass
        assert told in str(refused.value)
        assert "secret" not in str(refused.value)
        assert "\n" not in str(refused.value)


def test_the_default_place_is_the_users_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "hopgraph" / "threads.sqlite"


async def test_a_file_is_one_process_at_a_time(tmp_path: Path) -> None:
    async with open_threads(tmp_path / "threads.sqlite"):
        with pytest.raises(SettingsError, match="in use by another process; stop it, or name another file"):
            async with open_threads(tmp_path / "threads.sqlite"):
                pass
    async with open_threads(tmp_path / "threads.sqlite"):
        pass


async def test_only_the_owner_reads_the_file(tmp_path: Path) -> None:
    async with open_threads(tmp_path / "mine" / "threads.sqlite"):
        pass
    assert (tmp_path / "mine").stat().st_mode & 0o077 == 0
    assert (tmp_path / "mine" / "threads.sqlite").stat().st_mode & 0o077 == 0


async def test_a_tidied_thread_keeps_what_was_said_and_takes_less_room(threads: Threads) -> None:
    app, config, other = app_on(threads), threads.config("tidy", "one"), threads.config("tidy", "two")
    for where in (config, other):
        await say(app, QUESTION, where)
        await say(app, "When was he born?", where)
    before = (await app.aget_state(config)).values
    assert await _checkpoints(threads, "tidy:one") == await _checkpoints(threads, "tidy:two") > 10
    await threads.prune("tidy", "one")
    assert await _checkpoints(threads, "tidy:one") == 1
    assert await _checkpoints(threads, "tidy:two") > 10
    assert (await app.aget_state(config)).values == before
    assert (await say(app, "And where?", config)).startswith("Guadalajara")
    await threads.prune("tidy", "never-used")


async def test_a_turn_that_waits_is_not_tidied_away(threads: Threads) -> None:
    app: Any = chat.build().compile(checkpointer=threads.saver, interrupt_before=["look_up"])
    config = threads.config("waits", "one")
    await app.ainvoke({"messages": [("user", "Who painted Guernica?")]}, config)
    before = await _checkpoints(threads, "waits:one")
    await threads.prune("waits", "one")
    assert await _checkpoints(threads, "waits:one") == before > 1
    done = await app.ainvoke(None, config)
    assert done["messages"][-1].text.startswith("Pablo Picasso")


async def _checkpoints(threads: Threads, key: str) -> int:
    rows = await threads.rows("SELECT count(*) FROM checkpoints WHERE thread_id = ?", (key,))
    return int(rows[0][0])


@pytest.mark.slow
async def test_lost_connections_to_postgres_are_made_anew(address: str) -> None:
    async with open_threads(address) as threads, open_threads(address) as other:
        config = threads.config("lost", await threads.create("lost"))
        await say(app_on(threads), "Who painted Guernica?", config)
        await other.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'chat'"
        )
        assert (await say(app_on(threads), "Where was he born?", config)).startswith("Málaga")


async def test_a_locked_file_is_told_in_one_line_and_can_be_used_again(tmp_path: Path) -> None:
    place = tmp_path / "threads.sqlite"
    async with open_threads(place) as threads:
        await threads.rows("PRAGMA busy_timeout = 10")
        app, config = app_on(threads), threads.config("locked", await threads.create("locked"))
        with sqlite3.connect(place) as other:
            other.execute("BEGIN IMMEDIATE")
            told = [await failure(threads.create("locked")), await failure(say(app, "Who painted Guernica?", config))]
            assert (await app.aget_state(config)).values == {}
            # Whoever went on with what it saw then could write nothing more after this.
            other.execute("INSERT INTO hopgraph_threads VALUES ('other', 'one', '', 1, 1)")
        other.close()
        assert (await say(app, "Who painted Guernica?", config)).startswith("Pablo Picasso")
        assert len(await threads.list_for("locked")) == 1
    for each in told:
        assert each.startswith(f"threads at {place} cannot be used: database is locked; another process")
        assert "\n" not in each


@pytest.mark.slow
async def test_a_server_that_fails_is_told_in_one_line_without_the_password(address: str) -> None:
    async with open_threads(f"{await fresh_database(address)}&password=secret") as threads:
        app, config = app_on(threads), threads.config("ann", await threads.create("ann"))
        for table in ("hopgraph_threads", "checkpoints"):
            await threads.rows(f"DROP TABLE {table}")
        told = [
            await failure(each) for each in (threads.list_for("ann"), say(app, "Hello", config), app.aget_state(config))
        ]
        told += [await failure(threads.delete("ann", "one")), await failure(anext(app.aget_state_history(config)))]
    for each in told:
        assert each.startswith("threads at postgresql://chat@/")
        assert "does not exist" in each
        assert "secret" not in each
        assert "\n" not in each


async def failure(work: Awaitable[Any]) -> str:
    with pytest.raises(StorageError) as failed:
        await work
    return str(failed.value)


async def fresh_database(address: str) -> str:
    """Make a database on the server; gives its address."""
    name = f"fresh_{uuid.uuid4().hex}"
    async with open_threads(address) as threads:
        await threads.rows(f"CREATE DATABASE {name}")
    return address.replace("/postgres?", f"/{name}?")


@pytest.mark.slow
async def test_several_make_a_new_database_ready_at_once(address: str) -> None:
    new = await fresh_database(address)

    async def begin(number: int) -> None:
        async with open_threads(new) as threads:
            await threads.create("many", thread=str(number))

    await asyncio.gather(*(begin(number) for number in range(6)))
    async with open_threads(new) as threads:
        assert len(await threads.list_for("many")) == 6


@pytest.mark.slow
async def test_a_thread_is_held_against_other_processes(address: str) -> None:
    async with open_threads(address) as threads, open_threads(address) as other:
        async with threads.lock("hold", "one") as mine, threads.lock("hold", "one") as again:
            async with other.lock("hold", "one") as theirs, other.lock("hold", "two") as free:
                assert (mine, again, theirs, free) == (True, False, False, True)
            async with other.lock("hold", "one") as theirs:
                assert not theirs, "whoever did not get it does not let it go"
        async with other.lock("hold", "one") as theirs:
            assert theirs
    async with open_threads(address) as other:
        async with open_threads(address) as threads, threads.lock("hold", "one") as mine:
            await other.rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND usename = 'chat'"
            )
            async with threads.lock("hold", "two") as free, other.lock("hold", "one") as theirs:
                assert (mine, free, theirs) == (True, True, True), "with the connection its locks are gone"
        async with other.lock("hold", "one") as theirs:
            assert theirs


@pytest.mark.slow
async def test_of_two_processes_one_answers_on_a_thread(address: str) -> None:
    options, given = ServingOptions(threads=address), {"messages": [HumanMessage("Who painted Guernica?")]}
    async with open_service(options) as one, open_service(options) as two:
        turn = one.run_on_thread("both", "t", given, one.settings(AUTO, {}))
        await anext(turn)
        with pytest.raises(BusyError, match="answered by another process"):
            await anext(two.run_on_thread("both", "t", given, two.settings(AUTO, {})))
        assert two.admission.active == 0
        await turn.aclose()
        steps = [step async for step in two.run_on_thread("both", "t", given, two.settings(AUTO, {}))]
        assert isinstance(steps[-1], TurnEnd)


@pytest.mark.parametrize(
    ("package", "place", "extra"), [("aiosqlite", "x.sqlite", "chat"), ("psycopg", "postgresql://h/d", "postgres")]
)
async def test_a_missing_package_is_named_by_its_extra(
    package: str, place: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SettingsError, match=rf"pip install 'hopgraph\[{extra}\]'"):
        async with open_threads(place):
            pass
