"""Hand-written requests can neither read local files nor fetch URLs through the page."""

import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.apps.server.page.upload_guard import find_uploads, make_guarded_blocks
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
async def test_the_page_returns_no_local_file_and_fetches_no_url(tmp_path: Path, secret: Path) -> None:
    options = ServingOptions(threads=tmp_path / "threads.sqlite", keys={ANN: "ann", BOB: "bob"})
    async with open_app(options) as app, by_hand(app.url, BOB) as bob:
        files = (secret, tmp_path / "threads.sqlite", Path(f"/proc/{os.getpid()}/environ"), Path("/etc/passwd"))
        for place in (*files, f"{app.url}/health", "http://example.org/x.txt", "https://example.org/x.txt"):
            assert "was not uploaded" in await bob.call("_add", [None, [named(place)], None, "mine", "english"])
            said = await bob.call("ask", [None, named(place), "direct", None, "", []])
            assert "was not uploaded" in said
            for copy in re.findall(r"[^\s\"'\\]*[0-9a-f]{64}/[^\s\"'\\]+", said):
                reply = await bob.client.get(f"/chat/gradio_api/file={copy}")
                assert reply.status_code in (403, 404)
        assert "was not uploaded" in await bob.call("_add", [None, [{"path": str(secret)}], None, "mine", "english"])
        for names in (str(secret), "../owner/secret.txt", {"path": str(secret)}, ["a"], None, 7):
            assert "was not uploaded" in await bob.call("_add", [None, json.dumps([names]), None, "mine", "english"])
        assert "cannot be read" in await bob.call("_add", [None, "[", None, "mine", "english"])
        assert (await bob.client.get(f"/chat/gradio_api/file={secret}")).status_code in (403, 404)


@pytest.mark.slow
async def test_an_upload_is_deleted_after_indexing(tmp_path: Path) -> None:
    (tmp_path / "hopgraph-uploads").mkdir(mode=0o777)  # from an older version
    options = ServingOptions(threads=tmp_path / "threads.sqlite", keys={BOB: "bob"})
    async with open_app(options) as app, by_hand(app.url, BOB) as bob:
        name = await bob.uploaded("rain.txt", "Rain falls in Bergen.")
        (folder,) = tmp_path.glob("*uploads")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / name).is_file()
        assert not Path(name).is_absolute()
        said = await bob.call("_add", [None, json.dumps([name]), None, "mine", "english"])
    assert "1 passage indexed" in json.dumps(said)
    assert not (folder / name).exists()


@pytest.mark.slow
async def test_an_upload_is_available_only_to_its_user(tmp_path: Path) -> None:
    options = ServingOptions(threads=tmp_path / "threads.sqlite", keys={ANN: "ann", BOB: "bob"})
    async with open_app(options) as app, by_hand(app.url, ANN) as ann, by_hand(app.url, BOB) as bob:
        place = await ann.uploaded("rain.txt", "Rain falls in Bergen.")
        own = await ann.client.get(f"/chat/gradio_api/file={place}")
        assert (own.text, own.headers["content-disposition"]) == (
            "Rain falls in Bergen.",
            'attachment; filename="rain.txt"',
        )
        (folder,) = tmp_path.glob("*uploads")
        whole, (middle, _) = str(folder / place), place.split("/")
        for path in (place, whole, whole.replace("/rain", "//rain"), f"{middle}/../{place}"):
            for files in ([named(path)], json.dumps([path])):
                assert "was not uploaded" in await bob.call("_add", [None, files, None, "mine", "english"])
            for route in ("file=", "file/", "file%3D", "proxy=", "stream/x/"):
                assert (await bob.client.get(f"/chat/gradio_api/{route}{path}")).status_code == 404
                assert (await bob.client.head(f"/chat/gradio_api/{route}{path}")).status_code in (404, 405)
        assert (await ann.client.get(f"/chat/gradio_api/file={whole}")).status_code == 404
        assert "1 passage indexed" in await ann.call("_add", [None, json.dumps([place]), None, "mine", "english"])


@pytest.mark.slow
async def test_no_gradio_route_serves_files_except_own_uploads(tmp_path: Path) -> None:
    """Every route of Gradio is asked for an upload by its path, so that new routes are noticed."""
    options = ServingOptions(threads=tmp_path / "threads.sqlite", keys={ANN: "ann", BOB: "bob"})
    async with open_app(options) as app, by_hand(app.url, ANN) as ann, by_hand(app.url, BOB) as bob:
        name = await ann.uploaded("rain.txt", SECRET)
        (folder,) = tmp_path.glob("*uploads")
        asked = 0
        for route in _routes_of_gradio():
            for place in (name, str(folder / name), str(folder / name).lstrip("/"), f"file://{folder / name}"):
                path = re.sub(r"\{[^}]*\}", lambda _, place=place: place, route)
                if path != route:
                    reply = await bob.client.get(f"/chat{path}")
                    assert SECRET not in reply.text, path
                    asked += 1
        assert asked > 40


def _routes_of_gradio() -> list[str]:
    import gradio as gr
    from gradio.routes import App

    return sorted(App.create_app(gr.Blocks()).openapi()["paths"])


def test_only_regular_files_in_the_folder_are_uploads(tmp_path: Path, secret: Path) -> None:
    folder = tmp_path / "uploads"
    (folder / "a").mkdir(parents=True)
    good, link = folder / "a" / "x.txt", folder / "a" / "y.txt"
    good.write_text("x")
    link.symlink_to(secret)
    own = {"a/x.txt", "a/y.txt", str(good), "../owner/secret.txt", str(secret), ".", ""}
    found = find_uploads(["text", 1, None, {"a": [{"path": "a/x.txt", "size": 1}]}], folder, own)
    assert found == ["text", 1, None, {"a": [{"path": str(good), "size": 1}]}]
    with pytest.raises(SettingsError, match="not uploaded"):
        find_uploads({"path": "a/x.txt"}, folder, own - {"a/x.txt"})
    names = ("a/y.txt", "../owner/secret.txt", str(secret), ".", "", "a/../../owner/secret.txt", "none", 7, None, ["x"])
    for name in names:
        with pytest.raises(SettingsError, match="not uploaded"):
            find_uploads([{"deep": [{"path": name}]}], folder, own)


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
