"""Rerankers and entailment checkers behind real HTTP servers."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from hopgraph.state import ModelError, SpecError
from hopgraph.tools.io import json_server
from hopgraph.tools.scoring.resolve import resolve_entailment, resolve_reranker
from support.servers.loopback import LoopbackServer
from support.servers.scoring_app import ScoringApp, overlap


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> ScoringApp:
    monkeypatch.setattr(json_server, "FIRST_WAIT", 0.01)
    for name in ("HOPGRAPH_RERANKER_API_KEY", "HOPGRAPH_ENTAILMENT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return ScoringApp()


@pytest.fixture
def server(app: ScoringApp) -> Iterator[LoopbackServer]:
    with LoopbackServer(app.app()) as running:
        yield running


def pairs(count: int = 70) -> list[tuple[str, str]]:
    texts = [f"the film number {number} of Tim Burton" for number in range(count)]
    return [(query, text) for query in ("film number 3", "Tim Burton 9") for text in texts] + [
        ("film number 3", texts[0])
    ]


@pytest.mark.parametrize(
    "spec", ["{}", "{}/", "{}/rerank", "rerank:{}", "{}/v1/rerank", "{}?model=bge", "rerank:{}?model=bge"]
)
def test_scores_come_back_in_the_order_of_the_pairs(spec: str, app: ScoringApp, server: LoopbackServer) -> None:
    reranker = resolve_reranker(spec.format(server.url))
    assert reranker.score(pairs()) == [overlap(*pair) for pair in pairs()]
    assert reranker.threshold is None
    assert len(app.asked) == 6  # 70 distinct texts of two queries, 32 in one request
    assert app.asked[0].get("model") == ("bge" if "model" in spec else None)
    assert reranker.score([]) == []


async def test_many_loops_and_threads_share_a_server(server: LoopbackServer) -> None:
    reranker: Any = resolve_reranker(server.url)
    expected = [overlap(*pair) for pair in pairs(5)]
    assert await asyncio.gather(*(reranker.ascore(pairs(5)) for _ in range(8))) == [expected] * 8
    for _ in range(3):
        assert await asyncio.to_thread(lambda: asyncio.run(reranker.ascore(pairs(5)))) == expected
        assert await asyncio.to_thread(reranker.score, pairs(5)) == expected


def test_entailment_is_read_by_its_label(app: ScoringApp, server: LoopbackServer) -> None:
    checker = resolve_entailment(server.url)
    some = [(text, query) for query, text in pairs()]
    assert checker.score(some) == [overlap(hypothesis, premise) for premise, hypothesis in some]
    assert sorted(len(each["inputs"]) for each in app.asked) == [13, 32, 32, 32, 32]
    assert resolve_entailment(f"{server.url}?label=neutral").score(some[:1]) == [1 - overlap(some[0][1], some[0][0])]
    with pytest.raises(ModelError, match="no label means entailment: "):
        resolve_entailment(f"{server.url}?label=LABEL_7").score(some[:1])


def test_a_refused_key_names_the_variable_and_is_not_shown(
    app: ScoringApp, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.key = "right-key-123456"
    with pytest.raises(ModelError, match="HTTP 401: no such key; set HOPGRAPH_RERANKER_API_KEY"):
        resolve_reranker(server.url).score(pairs(1))
    monkeypatch.setenv("HOPGRAPH_RERANKER_API_KEY", "right-key-123456")
    assert resolve_reranker(server.url).score(pairs(1)[:1]) == [overlap(*pairs(1)[0])]


def test_wrong_servers_are_one_line_errors(
    app: ScoringApp, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_server, "RETRIES", 1)
    with pytest.raises(ModelError, match=r"/odd: unexpected answer: KeyError: 'results'"):
        resolve_reranker(f"{server.url}/odd").score(pairs(1))
    app.faults = [PlainTextResponse("<html>")]
    assert resolve_reranker(server.url).score(pairs(1)[:1]) == [overlap(*pairs(1)[0])]  # a passing fault
    with pytest.raises(ModelError, match=r"cannot reach http://127\.0\.0\.1:9/rerank; is the server running"):
        resolve_reranker("http://127.0.0.1:9").score(pairs(1))
    for spec in ("rerank:", "rerank:localhost", "http://", "rerank:ftp://x"):
        with pytest.raises(SpecError, match="is not an address such as"):
            resolve_reranker(spec)
