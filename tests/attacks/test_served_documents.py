"""Documents that are opened from the page: only those of an index, by their ids, and nothing in them does anything."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from hopgraph.tools.apps.server.index_upload import document_id
from hopgraph.tools.apps.server.page.served_documents import find_document, list_documents, send_document
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.retrieval import build_index
from support.servers.app_in_thread import app_in_thread
from support.servers.browsing import chromium_browser
from support.servers.by_hand import by_hand
from support.servers.web_app import WebApp, open_app

ANN, BOB = "ann-0123456789abcdef", "bob-0123456789abcdef"
RUNS = "document.title = 'ran'; fetch('/chat/config').then(each => { document.title = 'fetched ' + each.status; });"
HOSTILE = {
    "page.html": f'<title>still</title><p>A page of Oslo.</p><img src=x onerror="{RUNS}"><script>{RUNS}</script>'
    f"<form action='/chat/logout'><button>x</button></form><iframe srcdoc='<script>parent.{RUNS}</script>'></iframe>"
    "<meta http-equiv=refresh content='0;url=/chat/config'>",
    "drawing.svg": f"<svg xmlns='http://www.w3.org/2000/svg'><title>still</title><text>A drawing of Oslo.</text>"
    f'<script>{RUNS}</script><rect onload="{RUNS}" width="9" height="9"/></svg>',
    "text.txt": f"<title>still</title> A text of Oslo. <script>{RUNS}</script>",
    "notes.md": f"# Notes\n\nNotes of Oslo. <script>{RUNS}</script>",
    "page.xhtml": "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>still</title></head><body><p>Oslo again.</p>"
    f"<script>{RUNS}</script></body></html>",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, content in HOSTILE.items():
        (folder / name).write_text(content)
    (tmp_path / "secret.txt").write_text("Nobody is to read this.")
    return folder


@pytest.fixture
def index(folder: Path, tmp_path: Path) -> Path:
    build_index(folder, tmp_path / "index")
    return tmp_path / "index"


def test_a_document_is_found_by_its_id_alone(index: Path, folder: Path) -> None:
    assert {name for _, name in list_documents(index).values()} == {*HOSTILE}
    assert find_document(index, document_id("text.txt")) == folder / "text.txt"
    for forged in ("", "text.txt", "../secret.txt", str(folder / "text.txt"), document_id("../secret.txt"), "0" * 32):
        assert find_document(index, forged) is None


def test_what_lies_outside_the_source_is_not_sent(index: Path, folder: Path, tmp_path: Path) -> None:
    place = folder / "text.txt"
    place.unlink()
    place.symlink_to(tmp_path / "secret.txt")
    assert find_document(index, document_id("text.txt")) is None
    place.unlink()
    place.mkdir()
    assert find_document(index, document_id("text.txt")) is None
    place.rmdir()
    os.mkfifo(place)
    assert find_document(index, document_id("text.txt")) is None
    place.unlink()
    folder.rename(tmp_path / "moved")
    assert find_document(index, document_id("notes.md")) is None


def test_an_index_that_names_files_outside_of_its_source_opens_none(index: Path) -> None:
    sources = index / "sources.json"
    sources.write_text(sources.read_text().replace("text.txt", "../secret.txt"))
    manifest = index / "manifest.json"
    size = sources.stat().st_size
    manifest.write_text(re.sub(r'"sources.json": \d+', f'"sources.json": {size}', manifest.read_text()))
    assert document_id("../secret.txt") in list_documents(index)
    assert find_document(index, document_id("../secret.txt")) is None


def test_a_corpus_of_records_has_no_documents(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "title": "Oslo", "text": "Oslo is dry."}\n')
    build_index(tmp_path / "corpus.jsonl", tmp_path / "index")
    assert list_documents(tmp_path / "index") == {}


def test_each_kind_is_sent_as_what_it_is(tmp_path: Path) -> None:
    kinds = {
        "a.html": ("text/html", "inline", True),
        "a.svg": ("image/svg+xml", "inline", True),
        "a.py": ("text/plain", "inline", True),
        "a.pdf": ("application/pdf", "inline", False),
        "a.docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "attachment", True),
    }
    (tmp_path / "x").write_text("Text.")
    for name, (kind, shown, sandboxed) in kinds.items():
        headers = send_document(tmp_path / "x", name).headers
        assert headers["content-type"].partition(";")[0] == kind
        assert headers["content-disposition"].startswith(shown)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("sandbox;") == sandboxed


def test_a_name_that_is_not_utf_8_is_replaced_where_it_is_not(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / name).write_text("Text.")
    headers = send_document(tmp_path / name, name).headers
    assert headers["content-disposition"] == "inline; filename*=utf-8''caf%3F.txt"


def test_a_text_that_is_none_any_more_is_downloaded(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(range(256)) * 64)
    for name in ("a.txt", "a.html", "a.svg"):
        headers = send_document(tmp_path / "x", name).headers
        assert headers["content-type"] == "application/octet-stream"
        assert headers["content-disposition"].startswith("attachment")


def test_a_text_is_sent_in_its_own_encoding(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes("Die Wartung bei Müller & Söhne kostet 1.250 € für größere Geräte.".encode("cp1252"))
    assert send_document(tmp_path / "x", "a.csv").headers["content-type"] == "text/plain; charset=cp1252"
    (tmp_path / "x").write_text("Müller", "utf-16")
    assert send_document(tmp_path / "x", "a.html").headers["content-type"] == "text/html; charset=utf-16"


@pytest.fixture
def app(index: Path, tmp_path: Path) -> Iterator[WebApp]:
    with ExitStack() as running:
        options = ServingOptions(settings={"retriever": f"bm25:{index}"}, threads=tmp_path / "threads.sqlite")
        yield running.enter_context(app_in_thread(options))


@pytest.mark.slow
def test_no_document_runs_a_script_on_the_pages_origin(app: WebApp) -> None:
    with chromium_browser() as browser:
        page = browser.new_page()
        for name in HOSTILE:
            page.goto(f"{app.url}/chat/documents/app/{document_id(name)}")
            page.wait_for_timeout(300)
            assert page.title() in ("still", ""), name
            assert "Oslo" in page.content()
            assert page.evaluate("() => self.origin") == "null"  # an origin of its own: no cookies, no storage of ours
            assert page.url.endswith(document_id(name))


@pytest.mark.slow
def test_no_path_leads_to_a_file(app: WebApp, tmp_path: Path) -> None:
    paths = [
        "../secret.txt",
        "%2e%2e%2fsecret.txt",
        quote(str(tmp_path / "secret.txt"), safe=""),
        "text.txt",
        "..",
        "%00",
    ]
    for path in paths:
        for corpus in ("app", "..", "0" * 12, ""):
            reply = httpx.get(f"{app.url}/chat/documents/{corpus}/{path}")
            assert reply.status_code in (307, 404)
            assert "Nobody" not in reply.text
            assert str(tmp_path) not in reply.text


async def cited(person: Any, corpus: str, name: str) -> httpx.Response:
    return await person.client.get(f"/chat/documents/{corpus}/{document_id(name)}")


@pytest.mark.slow
async def test_an_uploaded_document_opens_for_its_user_alone(tmp_path: Path) -> None:
    options = ServingOptions(threads=tmp_path / "threads.sqlite", keys={ANN: "ann", BOB: "bob"})
    async with open_app(options) as app, by_hand(app.url, ANN) as ann, by_hand(app.url, BOB) as bob:
        name = await ann.uploaded("rain.html", f"<p>Rain falls in Bergen.</p><script>{RUNS}</script>")
        said = await ann.call("_add", [None, f'["{name}"]', None, "mine", "english"])
        (corpus,) = set(re.findall(r"\b[0-9a-f]{12}\b", said.partition("indexed")[2][:2000])) & {
            each.name for each in (tmp_path / "documents").glob("*/*")
        }
        opened = await cited(ann, corpus, "rain.html")
        assert (opened.status_code, opened.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert opened.headers["content-security-policy"].startswith("sandbox;")
        assert (await cited(bob, corpus, "rain.html")).status_code == 404
        assert (await cited(ann, corpus, "other.html")).status_code == 404
        async with httpx.AsyncClient(base_url=app.url) as stranger:
            assert (await stranger.get(f"/chat/documents/{corpus}/{document_id('rain.html')}")).status_code == 401
            assert (await stranger.get("/chat/documents/app/" + "0" * 32)).status_code == 401
            assert (await stranger.get("/chat/conversations/" + "0" * 32)).status_code == 401
