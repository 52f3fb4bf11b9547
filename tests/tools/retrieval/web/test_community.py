import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.retrieval import resolve_retriever
from support.servers.search_server import Fault, SearchServer

KEY = "3f9a1c7be2d04568a1b2c3d4e5f60718"


def searx(server: SearchServer, options: str = "") -> Any:
    return resolve_retriever(f"web:community:SearxSearchWrapper?searx_host={server.url}/searx{options}")


def remote(server: SearchServer, options: str = "") -> Any:
    return resolve_retriever(f"web:community:RemoteLangChainRetriever?url={server.url}/remote{options}")


async def test_a_wrappers_results_become_documents_with_their_address(server: SearchServer) -> None:
    found = await searx(server).ainvoke("Who made the Statue of Liberty?", k=2)
    assert [(each.id, each.metadata["title"], each.page_content) for each in found] == [
        ("https://a.example.org/", "A", "The first."),
        ("https://b.example.org/", "B", "The second."),
    ]
    assert [each.metadata["score"] for each in found] == [1, 1 / 2]
    assert server.seen[0].query["q"] == "Who made the Statue of Liberty?"


async def test_a_retrievers_documents_are_cleaned_and_cut_and_cited_by_their_address(server: SearchServer) -> None:
    found = await remote(server).ainvoke("x", k=5)
    assert [(each.id, each.metadata["title"]) for each in found] == [
        ("https://a.example.org/", "A"),
        ("https://pubmed.ncbi.nlm.nih.gov/77/", "B"),
    ]
    assert found[0].page_content.startswith("This is a sentence.")
    assert 3900 < len(found[0].page_content) <= 4000
    assert "\u202e" not in found[1].page_content


def test_results_are_cached_by_class_and_options_for_all_event_loops(server: SearchServer, tmp_path: Path) -> None:
    once = remote(server, f"&cache={tmp_path}").invoke("x", k=5)
    assert asyncio.run(remote(server, f"&cache={tmp_path}").ainvoke("x", k=5)) == once
    assert len(server.seen) == 1
    asyncio.run(searx(server, f"&cache={tmp_path}").ainvoke("x", k=5))
    assert len(server.seen) == 2


async def test_a_search_is_given_up_at_its_deadline_and_does_not_hold_the_loop(server: SearchServer) -> None:
    server.faults = [Fault(seconds=60)]
    with pytest.raises(CorpusError, match=r"web:community:SearxSearchWrapper: no answer in 0\.2 s$"):
        await searx(server, "&timeout=0.2").ainvoke("x")
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "hopgraph-web")


async def test_what_a_class_raises_is_one_line_without_the_key(
    server: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    server.faults = [Fault(500, KEY.encode()), Fault(body=b"<html>\n")]
    with pytest.raises(CorpusError, match=r"^web:community:SearxSearchWrapper: ValueError: .*\[key\]") as error:
        await searx(server).ainvoke("x")
    assert KEY not in str(error.value)
    with pytest.raises(CorpusError, match=r"^web:community:RemoteLangChainRetriever: JSONDecodeError: ") as error:
        await remote(server).ainvoke("x")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("web:community:Bing", "has no search class 'Bing'; valid: DuckDuckGoSearchAPIWrapper, "),
        ("web:community:PythonREPL", "has no search class 'PythonREPL'"),
        ("web:community:TextRequestsWrapper", "has no search class"),
        ("web:community:SearxSearchWrapper?speed=1", "option 'speed' is unknown; valid: "),
        ("web:community:BraveSearchWrapper?api_key=x", "has no search class"),
        ("web:community:TavilySearchAPIRetriever?api_key=x", "'api_key' is read from the environment"),
        ("web:community:RemoteLangChainRetriever", "RemoteLangChainRetriever: url: Field required"),
        ("web:community:RemoteLangChainRetriever?url=http://x&timeout=0", "must be a number from 0.1 to 300"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason) as error:
        resolve_retriever(spec)
    assert "\n" not in str(error.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wikipedia", None)
    with pytest.raises(SpecError, match=r"web:community:WikipediaRetriever: .*pip install wikipedia"):
        resolve_retriever("web:community:WikipediaRetriever")
    monkeypatch.setitem(sys.modules, "langchain_community.retrievers", None)
    with pytest.raises(SpecError, match=r"langchain_community.* is not installed; run: pip install 'hopgraph\[web\]'"):
        resolve_retriever("web:community:ArxivRetriever")
