"""Sessions, uploads and indexing are limited per user, so that no user can hold up another."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hopgraph.tools.apps.server import mcp_server, refusal
from hopgraph.tools.apps.server.index_upload import IndexingStage
from hopgraph.tools.apps.server.mcp_server import SHARE
from hopgraph.tools.apps.server.page.document_store import UserDocuments
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.by_hand import by_hand
from support.servers.openai_server import OpenAIServer
from support.servers.protocols import ACCEPT, HELLO, mcp_request
from support.servers.trap import ANN, BEN
from support.servers.web_app import WebApp, open_app, without_page
from support.waiting import until

KEYS = {ANN: "ann", BEN: "ben"}
LARGE = b"Rain falls on the coast.\n" * 39_000


async def ask_mcp(client: httpx.AsyncClient, key: str, session: str = "", what: str = "tools/list") -> httpx.Response:
    headers = {**ACCEPT, "Authorization": f"Bearer {key}", **({"Mcp-Session-Id": session} if session else {})}
    message = mcp_request(what, HELLO if what == "initialize" else None)
    return await client.post("/mcp", json=message, headers=headers)


@pytest.mark.slow
async def test_more_mcp_sessions_end_the_same_users_oldest(tmp_path: Path) -> None:
    async with (
        open_app(without_page(tmp_path, keys=KEYS)) as app,
        httpx.AsyncClient(base_url=app.url, timeout=60) as client,
    ):

        async def begin(key: str) -> str:
            return (await ask_mcp(client, key, what="initialize")).headers["mcp-session-id"]

        async def lives(key: str, session: str) -> bool:
            return (await ask_mcp(client, key, session)).status_code == 200

        bens, anns = await begin(BEN), [await begin(ANN) for _ in range(SHARE)]
        assert await lives(ANN, anns[0])  # used last of all now
        anns += [await begin(ANN) for _ in range(5)]
        assert [each for each in anns if not await lives(ANN, each)] == anns[1:6]
        assert await lives(BEN, bens)
        assert not await lives(BEN, anns[0])


async def test_who_asks_much_waits_for_themselves_alone(tmp_path: Path) -> None:
    """Of eight places and as many to wait in, a user has a quarter."""
    ended = list[tuple[str, int]]()
    with OpenAIServer(RuleBasedModel(), latency=0.5) as model:
        settings = {"model": f"openai:any?base_url={model.base_url}"}
        options = without_page(tmp_path, keys=KEYS, settings=settings, max_running=8, max_waiting=8)
        async with open_app(options) as app, httpx.AsyncClient(base_url=app.url, timeout=60) as client:

            async def ask(key: str) -> None:
                body = {"model": "one_step", "messages": [{"role": "user", "content": "Who painted Guernica?"}]}
                headers = {"Authorization": f"Bearer {key}"}
                reply = await client.post("/v1/chat/completions", json=body, headers=headers)
                ended.append((KEYS[key], reply.status_code))

            anns = [asyncio.create_task(ask(ANN)) for _ in range(20)]
            await until(lambda: len(ended) == 16)
            assert set(ended) == {("ann", 429)}
            await asyncio.gather(ask(BEN), *anns)
    assert [each for each in ended if each[1] == 200].index(("ben", 200)) < 4
    assert len(ended) == 21


@pytest.fixture
async def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WebApp]:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    options = ServingOptions(threads=tmp_path / "t.sqlite", keys=KEYS, max_upload_bytes=1_000_000)
    async with open_app(options) as app:
        yield app


async def upload(person: Any, content: bytes) -> httpx.Response:
    return await person.client.post("/chat/gradio_api/upload", files={"files": ("a.txt", content)})


async def test_uploads_have_a_share_of_each_user(page: WebApp) -> None:
    async with by_hand(page.url, ANN) as ann, by_hand(page.url, BEN) as ben:
        statuses = [(await upload(ann, LARGE[number:])).status_code for number in range(11)]
        assert statuses == [200] * 10 + [507]
        async with by_hand(page.url, ANN) as elsewhere:
            refused = await upload(elsewhere, LARGE)
        assert (refused.status_code, "that is not indexed yet" in refused.text) == (507, True)
        assert (await upload(ben, LARGE)).status_code == 200


async def test_uploads_that_are_broken_off_count(page: WebApp, tmp_path: Path) -> None:
    """Gradio leaves what came of them, so without a count they would fill the disk."""

    async def broken_off(person: Any) -> None:
        async def parts() -> AsyncIterator[bytes]:
            yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
            yield LARGE
            raise ConnectionError

        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        with pytest.raises(ConnectionError):
            await person.client.post("/chat/gradio_api/upload", content=parts(), headers=kind)

    async with by_hand(page.url, ANN) as ann, by_hand(page.url, BEN) as ben:
        await asyncio.gather(*(broken_off(ann) for _ in range(30)))
        assert (await upload(ann, LARGE)).status_code == 507
        lying = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file() and "uploads" in str(path))
        assert lying < 11_000_000
        assert (await upload(ben, LARGE)).status_code == 200


async def test_what_is_stated_and_not_sent_takes_nothing(page: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal, "_SILENT_SECONDS", 1.0)
    async with by_hand(page.url, ANN) as ann, by_hand(page.url, BEN) as ben:
        cookies = "; ".join(f"{each.name}={each.value}" for each in ann.client.cookies.jar)
        head = f"POST /chat/gradio_api/upload HTTP/1.1\r\nHost: localhost\r\nCookie: {cookies}\r\n"
        head += "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000000\r\n\r\n--x\r\n"
        port = int(page.url.rpartition(":")[2])
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        for _, writer in held:
            writer.write(head.encode())
        assert [(await upload(each, LARGE)).status_code for each in (ann, ben)] == [200, 200]
        for reader, writer in held:
            assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
            writer.close()


async def test_a_stranger_uploads_nothing(page: WebApp) -> None:
    async with by_hand(page.url, ANN) as ann, httpx.AsyncClient(base_url=page.url) as stranger:
        forged = {each.name: "x" for each in ann.client.cookies.jar}
        for cookies in ({}, forged):
            stranger.cookies.update(cookies)
            reply = await stranger.post("/chat/gradio_api/upload", files={"files": ("a.txt", b"Rain.")})
            assert reply.status_code == 401


async def index(documents: UserDocuments, user: str, file: Path, ended: list[str]) -> None:
    async for each in documents.index(user, [file]):
        ended += [user] if not isinstance(each, IndexingStage) else []


@pytest.mark.slow
async def test_whoever_indexes_much_waits_for_themselves_alone(tmp_path: Path) -> None:
    file, ended = tmp_path / "a.txt", list[str]()
    file.write_text("Rain falls on the coast.")
    documents = UserDocuments(tmp_path / "documents", 1_000_000)
    anns = [asyncio.create_task(index(documents, "ann", file, ended)) for _ in range(4)]
    await until(lambda: any(documents.folder.glob("*/*")))
    await asyncio.gather(index(documents, "ben", file, ended), *anns)
    assert "ben" in ended[:2]
    assert len(ended) == 5


@pytest.mark.slow
@pytest.mark.parametrize("text", [". . . ", "! ? ", "a. b. ", ". \n"])
async def test_a_text_of_nothing_but_marks(tmp_path: Path, text: str) -> None:
    file, ended = tmp_path / "a.txt", list[str]()
    file.write_text(f"Rain falls on the coast. {text * (1_000_000 // len(text))}")
    await index(UserDocuments(tmp_path / "documents", 20_000_000, max_seconds=60), "ann", file, ended)
    assert ended == ["ann"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX alone")
async def test_an_upload_that_the_disk_cannot_hold_is_one_line(
    page: WebApp, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that takes no file fails as a full disk does, when what came is written there."""
    async with by_hand(page.url, ANN) as ann:
        (tmp_path / "uploads" / "hopgraph-uploads").rmdir()
        (tmp_path / "uploads" / "hopgraph-uploads").symlink_to("/dev/full")
        caplog.set_level(logging.INFO)
        reply = await upload(ann, LARGE)
        assert (reply.status_code, reply.json()["error"]["code"]) == (507, "no_room")
        assert str(tmp_path) not in reply.text
        lines = [each for each in caplog.records if each.levelno >= logging.WARNING]
        assert [each.getMessage().partition(":")[0] for each in lines] == ["an upload cannot be stored"]
        assert not lines[0].exc_info


async def test_an_idle_mcp_session_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "_IDLE_SECONDS", 0.5)
    async with (
        open_app(without_page(tmp_path, keys=KEYS)) as app,
        httpx.AsyncClient(base_url=app.url, timeout=60) as client,
    ):
        session = (await ask_mcp(client, ANN, what="initialize")).headers["mcp-session-id"]
        assert (await ask_mcp(client, ANN, session)).status_code == 200
        await asyncio.sleep(1.5)
        assert (await ask_mcp(client, ANN, session)).status_code == 404
