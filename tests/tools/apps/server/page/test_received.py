"""What a browser sends by hand: no file of the machine, and no address, may be had through the page."""

import asyncio
import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.page.document_store import folder_size
from hopgraph.tools.apps.server.page.upload_guard import check_files, make_guarded_blocks
from hopgraph.tools.apps.server.server_options import ServingOptions
from support.servers.by_hand import by_hand
from support.servers.web_app import open_app

SECRET = "the-owner's-secret-word"
ANN, BOB = "ann-0123456789abcdef", "bob-0123456789abcdef"


def named(path: str | Path) -> dict[str, Any]:
    return {"path": str(path), "meta": {"_type": "gradio.FileData"}, "orig_name": "x.txt"}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    place = tmp_path / "owner" / "secret.txt"
    place.parent.mkdir()
    place.write_text(f"Nobody is to read {SECRET}.")
    return place


@pytest.mark.slow
async def test_no_file_of_the_machine_comes_back(tmp_path: Path, secret: Path) -> None:
    options = ServingOptions(threads=tmp_path / "threads.sqlite", keys={ANN: "ann", BOB: "bob"})
    async with open_app(options) as app, by_hand(app.url, "bob", BOB) as bob:
        for place in (secret, tmp_path / "threads.sqlite", Path(f"/proc/{os.getpid()}/environ"), Path("/etc/passwd")):
            said = await bob.call("ask", [None, named(place), "direct", None, "", []])
            assert "was not uploaded" in said
            for copy in re.findall(r"[^\s\"'\\]*[0-9a-f]{64}/[^\s\"'\\]+", said):
                reply = await bob.client.get(f"/chat/gradio_api/file={copy}")
                assert reply.status_code in (403, 404)
        assert "was not uploaded" in await bob.call("_add", [None, [named(secret)], None, "mine", "english"])
        assert "was not uploaded" in await bob.call("_add", [None, [{"path": str(secret)}], None, "mine", "english"])
        assert (await bob.client.get(f"/chat/gradio_api/file={secret}")).status_code in (403, 404)


@pytest.mark.slow
async def test_no_address_is_fetched(tmp_path: Path) -> None:
    options = ServingOptions(threads=tmp_path / "threads.sqlite", keys={BOB: "bob"})
    async with open_app(options) as app, by_hand(app.url, "bob", BOB) as bob:
        for address in (f"{app.url}/health", "http://example.org/x.txt", "https://example.org/x.txt"):
            assert "was not uploaded" in await bob.call("_add", [None, [named(address)], None, "mine", "english"])
            assert "was not uploaded" in await bob.call("ask", [None, named(address), "direct", None, "", []])


@pytest.mark.slow
async def test_an_honest_upload_is_indexed_and_then_gone(tmp_path: Path) -> None:
    options = ServingOptions(threads=tmp_path / "threads.sqlite", keys={BOB: "bob"})
    async with open_app(options) as app, by_hand(app.url, "bob", BOB) as bob:
        place = await bob.uploaded("rain.txt", "Rain falls in Bergen.")
        assert Path(place).exists()
        (folder,) = tmp_path.glob("*uploads")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert Path(place).is_relative_to(folder)
        said = await bob.call("_add", [None, [named(place)], None, "mine", "english"])
    assert "1 passage indexed" in json.dumps(said)
    assert not Path(place).exists()


@pytest.mark.slow
async def test_an_upload_is_its_sessions_alone(tmp_path: Path) -> None:
    options = ServingOptions(threads=tmp_path / "threads.sqlite", keys={ANN: "ann", BOB: "bob"})
    async with open_app(options) as app, by_hand(app.url, "ann", ANN) as ann, by_hand(app.url, "bob", BOB) as bob:
        place = await ann.uploaded("rain.txt", "Rain falls in Bergen.")
        assert (await ann.client.get(f"/chat/gradio_api/file={place}")).status_code == 200
        for path in (
            place,
            place.replace("/rain", "//rain"),
            place.replace("/rain", "/../" + place.split("/")[-2] + "/rain"),
        ):
            assert "was not uploaded" in await bob.call("_add", [None, [named(path)], None, "mine", "english"])
            assert (await bob.client.get(f"/chat/gradio_api/file={path}")).status_code == 404
        assert "1 passage indexed" in await ann.call("_add", [None, [named(place)], None, "mine", "english"])


@pytest.mark.slow
async def test_what_is_uploaded_and_never_indexed_has_an_end(tmp_path: Path) -> None:
    options = ServingOptions(threads=tmp_path / "threads.sqlite", max_upload_bytes=1_000_000)
    (tmp_path / "hopgraph-uploads").mkdir(mode=0o777)  # of an older version
    async with open_app(options) as app, by_hand(app.url) as person:

        async def posted(number: int) -> httpx.Response:
            content = b"x" * (900_000 + number)
            return await person.client.post("/chat/gradio_api/upload", files={"files": ("x.txt", content)})

        replies = [await posted(0), *await asyncio.gather(*(posted(number) for number in range(1, 20)))]
        assert replies[0].status_code == 200
        refused = [each for each in replies if each.status_code != 200]
        assert {each.status_code for each in refused} == {507}
        assert refused[0].json()["detail"].startswith("too much was uploaded")
        lying = [path for path in (tmp_path / "hopgraph-uploads").rglob("*") if path.is_file()]
        assert len(lying) == 20 - len(refused) < 12
        assert folder_size(tmp_path / "hopgraph-uploads") <= 10_000_000
        assert (await person.client.get("/health")).status_code == 200
    assert (tmp_path / "hopgraph-uploads").stat().st_mode & 0o777 == 0o700


def test_only_regular_files_in_the_folder_are_uploads(tmp_path: Path, secret: Path) -> None:
    folder = tmp_path / "uploads"
    (folder / "a").mkdir(parents=True)
    good, link = folder / "a" / "x.txt", folder / "a" / "y.txt"
    good.write_text("x")
    link.symlink_to(secret)
    own = {str(folder / "a" / name) for name in ("x.txt", "y.txt")} | {str(secret), str(folder), ""}
    check_files(["text", 1, None, {"a": [{"path": str(good)}]}], folder, own)
    with pytest.raises(SettingsError, match="not uploaded"):
        check_files({"path": str(good)}, folder, own - {str(good)})
    for path in (
        link,
        secret,
        folder,
        folder / "a" / ".." / ".." / "owner" / "secret.txt",
        folder / "none",
        "",
        7,
        None,
        ["x"],
    ):
        with pytest.raises(SettingsError, match="not uploaded"):
            check_files([{"deep": [{"path": path if path is None or path in (7, ["x"]) else str(path)}]}], folder, own)


@pytest.mark.slow
async def test_an_event_is_not_lost_while_a_thread_renders() -> None:
    import gradio as gr
    from gradio.state_holder import SessionState

    with make_guarded_blocks(gr, {})() as blocks:
        entered = gr.Textbox()
        entered.change(str.upper, entered, gr.State())
    session, done = SessionState(blocks), threading.Event()
    functions = session.blocks_config.fns
    [function] = functions.values()

    def render() -> None:
        while not done.is_set():
            functions.update(dict.fromkeys(range(100, 200), function))
            for number in range(100, 200):
                del functions[number]

    rendering = threading.Thread(target=render)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    rendering.start()
    try:
        for _ in range(1_000):
            assert blocks.get_state_ids_to_track(function, session) == ([], [])
    finally:
        done.set()
        rendering.join()
        sys.setswitchinterval(before)
