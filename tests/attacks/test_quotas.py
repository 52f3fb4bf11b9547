"""What one key's user may store: a refusal in the protocol's form, and what is there can still be read."""

import random
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from attacks.conftest import person

from hopgraph.tools.apps.server.page.texts import texts_for
from hopgraph.tools.apps.server.server_options import ServingOptions
from support.servers.langgraph_server import langgraph_server
from support.servers.postgres import postgres_server
from support.servers.protocols import agent_request
from support.servers.trap import ANN, BEN
from support.servers.web_app import WebApp, open_app, without_page

KEYS = {ANN: "ann", BEN: "ben"}
QUESTION = "Who painted Guernica?"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def threads(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | Path]:
    """Where conversations are stored."""
    if request.param == "sqlite":
        yield tmp_path / "threads.sqlite"
        return
    pytest.importorskip("psycopg_pool", reason="needs hopgraph[postgres]")
    with postgres_server() as address:
        yield address


@pytest.fixture
async def app(threads: str | Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WebApp]:
    monkeypatch.setenv("HOPGRAPH_THREADS_PER_USER", "5")
    monkeypatch.setenv("HOPGRAPH_THREAD_BYTES", "3000000")
    async with open_app(ServingOptions(threads=threads, page=False, keys=KEYS)) as opened:
        yield opened


async def ask(app: WebApp, key: str, thread: str, *before: str) -> httpx.Response:
    """Ask after other messages of the user's."""
    messages = [{"id": uuid.uuid4().hex, "role": "user", "content": each} for each in (*before, QUESTION)]
    body = agent_request(thread=thread, messages=messages)
    async with httpx.AsyncClient(base_url=app.url, timeout=60) as client:
        return await client.post("/ag-ui", json=body, headers={"Authorization": f"Bearer {key}"})


async def test_a_users_threads_have_an_end(app: WebApp) -> None:
    """Those that there are go on, and another user is not held up."""
    replies = [await ask(app, ANN, f"thread-{number}") for number in range(7)]
    assert [each.status_code for each in replies] == [200] * 5 + [507] * 2
    assert replies[-1].json()["detail"] == "you have 5 conversations, which is the limit; delete some on the page"
    assert (await ask(app, ANN, "thread-0")).status_code == 200
    assert (await ask(app, BEN, "thread-6")).status_code == 200
    threads = app.service.threads
    assert len(await threads.list_for("ann")) == 5
    await threads.delete("ann", "thread-3")
    assert (await ask(app, ANN, "thread-6")).status_code == 200


async def test_the_bytes_of_a_users_threads_have_an_end(app: WebApp) -> None:
    """However they are stored: as messages, or as what a run has written."""
    long = [random.Random(number).randbytes(175_000).hex() for number in range(4)]  # what no database compresses
    replies = [await ask(app, ANN, f"thread-{number % 4}", *long) for number in range(6)]
    statuses = [each.status_code for each in replies]
    assert statuses[0] == 200
    assert statuses[-1] == 507
    refused = texts_for("de").problem(replies[-1].json()["detail"])
    assert re.fullmatch(r"Ihre Unterhaltungen belegen [\d.]+ von [\d.]+ Byte; löschen Sie einige\.", refused)
    assert (await ask(app, BEN, "one")).status_code == 200


async def test_a_full_disk_leaves_what_is_stored_to_be_read(tmp_path: Path) -> None:
    async with open_app(without_page(tmp_path, keys=KEYS)) as app:
        assert (await ask(app, ANN, "before")).status_code == 200
        threads = app.service.threads
        pages = (await threads.rows("PRAGMA page_count"))[0][0]
        await threads.rows(f"PRAGMA max_page_count = {pages}")  # SQLite fails as it does on a full disk
        replies = [await ask(app, ANN, f"thread-{number}") for number in range(12)]
        full = [each for each in replies if "the disk with the threads is full; they can be read" in each.text]
        assert len(full) > 5  # before the first event with status 507, and within a stream as its error
        assert all(each.status_code == 507 or "RUN_ERROR" in each.text for each in full)
        assert "before" in [each["id"] for each in await threads.list_for("ann")]
        state = await app.service.chat.aget_state(threads.config("ann", "before"))
        assert state.values["answer"] == "Pablo Picasso"
        body = {"model": "one_step", "messages": [{"role": "user", "content": QUESTION}]}
        async with httpx.AsyncClient(base_url=app.url, headers={"Authorization": f"Bearer {ANN}"}) as client:
            reply = await client.post("/v1/chat/completions", json=body)
        assert reply.json()["hopgraph"]["answer"] == "Pablo Picasso"


@pytest.fixture(scope="module")
def small_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    limits = {"HOPGRAPH_THREADS_PER_USER": "3", "HOPGRAPH_BYTES_PER_DAY": "4000000"}
    environment = {"HOPGRAPH_API_KEY": f"ann={ANN},ben={BEN}", **limits}
    with langgraph_server(tmp_path_factory.mktemp("quotas") / "log", environment=environment) as url:
        yield url


RUN: dict[str, Any] = {"assistant_id": "direct", "input": {"question": QUESTION}}


@pytest.mark.slow
def test_a_langgraph_servers_users_have_so_many_threads(small_server: str) -> None:
    """By each route that makes one."""
    with person(small_server, ANN) as ann, person(small_server, BEN) as ben:
        made = [ann.post("/threads", json={}) for _ in range(3)]
        first = made[0].json()["thread_id"]
        assert [each.status_code for each in made] == [200] * 3
        ways = [
            ann.post("/threads", json={}),
            ann.post(f"/threads/{uuid.uuid4()}/runs/wait", json={**RUN, "if_not_exists": "create"}),
            ann.post("/runs/wait", json={**RUN, "on_completion": "keep"}),
            ann.post(f"/threads/{first}/copy"),
        ]
        assert [each.status_code for each in ways] == [507] * 4
        assert ways[0].json()["detail"] == "you have 3 threads, which is the limit; delete some"
        assert ann.post(f"/threads/{first}/runs/wait", json=RUN).status_code == 200
        assert ben.post("/threads", json={}).status_code == 200
        assert ann.delete(f"/threads/{first}").status_code == 204
        assert ann.post("/threads", json={}).status_code == 200


@pytest.mark.slow
def test_a_langgraph_servers_users_store_so_much(small_server: str) -> None:
    large = {"metadata": {"note": "x" * 20_000}}
    with person(small_server, BEN) as ben, person(small_server, ANN) as ann:
        thread = ben.post("/threads", json={}).json()["thread_id"]
        told = [
            ben.post("/threads", json=large),
            ben.patch(f"/threads/{thread}", json=large),
            ben.post(f"/threads/{thread}/runs/wait", json={**RUN, **large}),
            ben.post("/assistants", json={"graph_id": "direct", **large}),
        ]
        assert {each.status_code for each in told} == {413}
        assert "the metadata has 20," in told[0].json()["detail"]
        assert ben.post("/threads", json={"metadata": {"note": "x" * 2_000_000}}).status_code == 413
        assistant = {"graph_id": "direct", "config": {"configurable": {"note": "x" * 900_000}}}
        statuses = [ben.post("/assistants", json=assistant).status_code for _ in range(6)]
        assert (statuses[0], statuses[-1]) == (200, 507)
        assert ben.get(f"/threads/{thread}").status_code == 200
        assert ann.post("/assistants", json=assistant).status_code == 200
