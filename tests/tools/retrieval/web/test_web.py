import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime

from hopgraph.graphs import METHODS
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state import CorpusError, Query, SettingsError, SpecError
from hopgraph.state.migres import MigresContext
from hopgraph.tools.io import json_server
from hopgraph.tools.retrieval import resolve_retriever
from support.servers.search_server import Fault, SearchServer, article

KEY = "3f9a1c7be2d04568a1b2c3d4e5f60718"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPER_API_KEY", KEY)
    monkeypatch.setattr(json_server, "FIRST_WAIT", 0.01)


def serper(server: SearchServer, options: str = "") -> Any:
    return resolve_retriever(f"web:serper?base_url={server.url}{options}")


def wikipedia(server: SearchServer, options: str = "") -> Any:
    return resolve_retriever(f"web:wikipedia?base_url={server.url}/w/api.php{options}")


async def test_serper_gives_what_google_shows_with_addresses_as_sources(server: SearchServer) -> None:
    found = await serper(server).ainvoke("Who made the Statue of Liberty?", k=5)
    assert [(each.id, each.metadata["title"], each.page_content) for each in found] == [
        (
            "https://en.wikipedia.org/wiki/Statue_of_Liberty",
            "Statue of Liberty / Sculptor",
            "Frédéric Auguste Bartholdi. The statue was designed by Bartholdi. "
            "A colossal neoclassical sculpture on Liberty Island.",
        ),
        (
            "https://en.wikipedia.org/wiki/Bartholdi",
            "Frédéric Auguste Bartholdi",
            "French sculptor. He was born in Colmar. Born: August 2, 1834, Colmar. Died: October 4, 1904",
        ),
        ("https://museum.example.org/", "Bartholdi Museum", "The museum in Colmar."),
    ]
    assert [each.metadata["score"] for each in found] == [1, 1 / 2, 1 / 3]
    assert all(each.metadata["source"] == each.id for each in found)
    request = server.seen[0]
    assert (request.method, request.path, request.headers["x-api-key"]) == ("POST", "/search", KEY)
    assert request.body == {"q": "Who made the Statue of Liberty?", "gl": "us", "hl": "en", "num": 5}
    await serper(server, "&country=de&lang=de").ainvoke("x", k=1000)
    assert server.seen[1].body == {"q": "x", "gl": "de", "hl": "de", "num": 100}


async def test_wikipedia_gives_introductions_in_the_order_of_the_search(server: SearchServer) -> None:
    server.articles.append(article(1, 4, ""))
    found = await wikipedia(server).ainvoke("some words", k=4)
    assert [each.id for each in found] == [f"https://en.wikipedia.org/wiki/Article_{n}" for n in (3, 7, 9)]
    assert found[0].page_content == "The introduction of article 3."
    request = server.seen[0]
    assert (request.query["gsrsearch"], request.query["gsrlimit"]) == ("some words", "4")
    assert request.headers["user-agent"].startswith("hopgraph/")
    assert "x-api-key" not in request.headers


async def test_wikipedia_is_asked_again_for_what_did_not_fit(server: SearchServer) -> None:
    server.articles = [article(number, 60 - number) for number in range(1, 60)]
    found = await wikipedia(server).ainvoke("x", k=45)
    assert [each.metadata["title"] for each in found] == [f"Article {60 - rank}" for rank in range(1, 46)]
    assert [request.query.get("excontinue") for request in server.seen] == [None, "20", "40"]


async def test_nothing_found_and_nothing_asked_is_empty(server: SearchServer) -> None:
    server.articles, server.serper = [], {"searchParameters": {}, "organic": []}
    assert await wikipedia(server).ainvoke("x") == []
    assert await serper(server).ainvoke("x") == []
    asked = len(server.seen)
    assert await serper(server).ainvoke(" \ud800 ") == []
    assert await serper(server).ainvoke("x", k=0) == []
    assert len(server.seen) == asked


async def test_a_long_query_is_cut_before_a_word_and_a_long_text_after_a_sentence(server: SearchServer) -> None:
    server.articles = [article(1, 1, "This is a sentence. " * 500)]
    (found,) = await wikipedia(server).ainvoke("word " * 200)
    assert len(server.seen[0].query["gsrsearch"]) == 299
    assert 3900 < len(found.page_content) <= 4000
    assert found.page_content.endswith("sentence.")
    assert await wikipedia(server).ainvoke("x" * 500) != []


@pytest.mark.parametrize(
    "faults",
    [
        [Fault(429, b"slow down", headers={"Retry-After": "0"})],
        [Fault(500, b"<html>"), Fault(503), Fault(502)],
        [Fault(body=b"<html>busy</html>")],
        [Fault(seconds=60)],
    ],
)
async def test_what_passes_is_tried_again(server: SearchServer, faults: list[Fault]) -> None:
    server.faults = list(faults)
    timeout = 1 if faults[0].seconds else 60
    assert len(await serper(server, f"&timeout={timeout}").ainvoke("x")) == 3
    assert len(server.seen) == len(faults) + 1


@pytest.mark.parametrize(
    ("fault", "tries", "reason"),
    [
        (Fault(429, b'{"message":"quota"}'), 2, "web:serper: HTTP 429: quota"),
        (Fault(500), 2, "web:serper: HTTP 500"),
        (Fault(403, b"Unauthorized."), 1, "HTTP 403: Unauthorized.; check SERPER_API_KEY"),
        (Fault(403, KEY.encode()), 1, r"HTTP 403: \[key\]; check SERPER_API_KEY"),
        (Fault(302, headers={"Location": "http://192.0.2.1/"}), 1, "HTTP 302: redirects are not followed"),
        (Fault(seconds=60), 2, "web:serper: no answer in 0.2 s"),
        (Fault(body=b"<html>"), 2, "web:serper: the answer is not JSON"),
        (Fault(body=b"\xff\xfe\xff"), 1, "web:serper: the answer is not JSON"),
        (Fault(body=b"[" * 100_000), 1, "web:serper: the answer is not JSON"),
        (
            Fault(body=b"[]"),
            1,
            "unexpected answer: Input should be a valid dictionary or instance of SerperResponse",
        ),
        (Fault(body=b"{}"), 1, "unexpected answer: no results in it"),
        (
            Fault(body=b'{"organic": {"a": 1}}'),
            1,
            "unexpected answer: organic: Input should be a valid list",
        ),
        (
            Fault(body=b'{"organic": [1]}'),
            1,
            "unexpected answer: organic.0: Input should be a valid dictionary",
        ),
        (Fault(body=b" " * (16 * 1024**2 + 1)), 1, "the reply is larger than 16,777,216 bytes"),
    ],
)
async def test_what_does_not_pass_is_one_line_without_the_key(
    server: SearchServer, fault: Fault, tries: int, reason: str
) -> None:
    server.faults = [fault] * 5
    with pytest.raises(CorpusError, match=reason) as error:
        await serper(server, f"&timeout={0.2 if fault.seconds else 60}&retries=1").ainvoke("x")
    assert len(server.seen) == tries
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)


async def test_an_unreachable_server_and_wikipedias_errors_are_named(server: SearchServer) -> None:
    server.faults = [Fault(body=b'{"error": {"code": "readonly", "info": "The wiki is closed"}}')]
    with pytest.raises(CorpusError, match="web:wikipedia: unexpected answer: The wiki is closed"):
        await wikipedia(server).ainvoke("x")
    retriever = serper(server, "&retries=0")
    server.close()
    with pytest.raises(CorpusError, match=rf"web:serper: cannot reach {server.url}"):
        await retriever.ainvoke("x")


def test_it_works_without_an_event_loop_in_several_and_many_times_at_once(server: SearchServer) -> None:
    retriever = serper(server)
    assert len(retriever.invoke("x")) == 3

    async def search_many() -> list[Any]:
        return await asyncio.gather(*(retriever.ainvoke(f"query {number}") for number in range(20)))

    for _ in range(2):
        assert [len(each) for each in asyncio.run(search_many())] == [3] * 20
    assert KEY not in f"{retriever!r} {vars(retriever)!r}"


async def test_results_are_kept_where_a_cache_is_named(server: SearchServer, tmp_path: Path) -> None:
    once = await serper(server, f"&cache={tmp_path / 'kept'}").ainvoke("x", k=3)
    again = await serper(server, f"&cache={tmp_path / 'kept'}").ainvoke("  x ", k=3)
    assert again == once != []
    assert len(server.seen) == 1
    await serper(server, f"&cache={tmp_path / 'kept'}").ainvoke("x", k=2)
    await serper(server, f"&cache={tmp_path / 'kept'}&lang=de").ainvoke("x", k=3)
    await wikipedia(server, f"&cache={tmp_path / 'kept'}").ainvoke("x", k=3)
    assert len(server.seen) == 4
    kept = [path.read_text() for path in (tmp_path / "kept").rglob("*.json")]
    assert len(kept) == 4
    assert not any(KEY in text for text in kept)
    await serper(server).ainvoke("x", k=3)
    assert len(server.seen) == 5


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"at": 0, "pages": []}', '{"at": 1e18, "pages": [{"url": 1}]}'])
async def test_old_and_damaged_results_are_fetched_anew(server: SearchServer, tmp_path: Path, damage: str) -> None:
    retriever = serper(server, f"&cache={tmp_path}&cache_days=1")
    await retriever.ainvoke("x")
    (path,) = tmp_path.rglob("*.json")
    if damage:
        path.write_text(damage)
    else:
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "at": time.time() - 90_000}))
    assert len(await retriever.ainvoke("x")) == 3
    assert len(server.seen) == 2
    assert len(await retriever.ainvoke("x")) == 3
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("web:bing", "unknown web search 'bing'; valid: web:serper"),
        ("web:", "unknown web search ''"),
        ("web:community", "unknown web search 'community'"),
        ("web:serper:x", "unknown web search 'serper:x'"),
        (
            "web:serper?speed=1",
            "option 'speed' of .* is unknown; valid: timeout, cache, cache_days, lang, base_url",
        ),
        ("web:wikipedia?lang=x/../y", "lang of .* must be a language code, e.g. de or zh, got 'x/../y'"),
        ("web:serper?country=usa", "country of .* must be a country code"),
        ("web:serper?base_url=ftp://x", "base_url of .* must be the address of a compatible server"),
        ("web:serper?base_url=http://[::1", "must be the address of a compatible server"),
        ("web:serper?timeout=0", "timeout of .* must be a number from 0.1 to 300, in seconds, got '0'"),
        ("web:serper?timeout=nan", "must be a number"),
        ("web:serper?retries=many", "retries of .* must be a number"),
        ("web:serper?cache_days=-1", "cache_days of"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        resolve_retriever(spec)


def test_a_key_is_asked_for_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch, server: SearchServer) -> None:
    monkeypatch.setenv("SERPER_API_KEY", " ")
    with pytest.raises(SpecError, match=r"'web:serper' needs a key of serper.dev: set .* SERPER_API_KEY$"):
        resolve_retriever("web:serper")
    assert len(serper(server).invoke("x")) == 3
    assert "x-api-key" not in server.seen[0].headers
    monkeypatch.setenv("SERPER_API_KEY", "schlüssel\n1")
    with pytest.raises(SpecError, match="has characters that cannot be part of a key") as error:
        resolve_retriever("web:serper")
    assert "schl" not in str(error.value)


def test_the_language_chooses_the_wikipedia_and_a_spec_is_opened_once() -> None:
    for language, spec in (("de", "web:wikipedia?lang=de"), ("en", "web:wikipedia")):
        retriever: Any = resolve_retriever(spec)
        assert f"https://{language}.wikipedia.org/w/api.php" in retriever.index.cache_key
        assert resolve_retriever(spec) is retriever


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SettingsError, match="cannot be written"):
        resolve_retriever(f"web:wikipedia?cache={tmp_path / 'file'}")


async def test_a_method_reads_and_cites_the_web(server: SearchServer) -> None:
    settings = {"retriever": f"web:serper?base_url={server.url}"}
    question = "Where was Frédéric Auguste Bartholdi born?"
    result = await METHODS["migres"].graph.ainvoke({"question": question}, context=settings)
    assert {each["source"] for each in result["passages"]} <= {each["id"] for each in result["passages"]}
    assert "https://en.wikipedia.org/wiki/Bartholdi" in {each["passage_id"] for each in result["citations"]}
    assert result["answer"] == "Colmar"


async def test_a_failing_search_ends_the_run_in_one_line(server: SearchServer) -> None:
    server.faults = [Fault(401, b"bad key")] * 9
    retriever = f"web:serper?base_url={server.url}"
    asked: Any = {"question": "q", "queries": [Query(text="q", why="")], "asked": [], "excluded": [], "iteration": 1}
    with pytest.raises(CorpusError, match="HTTP 401: bad key; check SERPER_API_KEY"):
        await retrieve(asked, Runtime(context=MigresContext(retriever=retriever)))
