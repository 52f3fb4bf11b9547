"""A model server that answers with status 200 and not in OpenAI's format: one clear error, never a raw one."""

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hopgraph.graphs import METHODS
from hopgraph.state import EntailmentChecker, HopgraphError, ModelError, Reranker
from hopgraph.tools.io import json_server
from hopgraph.tools.retrieval.embeddings.resolve import resolve_embeddings
from hopgraph.tools.retrieval.resolve import resolve_retriever
from hopgraph.tools.scoring.pair_scorers import check_scores
from hopgraph.tools.scoring.resolve import resolve_entailment, resolve_reranker
from support.mutated_json import mutate_json
from support.servers.loopback import LoopbackServer

RUNS = int(os.environ.get("HOPGRAPH_ATTACKS", "60"))
"""`make attacks` asks for more."""
MESSAGE = {"role": "assistant", "content": '{"answer": "Dominik Moll, né à Bühl"}'}
GOOD: dict[str, Any] = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}
JUNK = [float("nan"), None, [], {}, "x", "", -1, 1e308, True, [None], {"a": {}}, "\ud800", "</s>" * 100, 10**30]
NAMED = {
    "no choices": {**GOOD, "choices": []},
    "null": None,
    "an error": {"error": {"message": "the queue is full", "code": 9}},
    "a list": [1],
}
ODD = {
    "counts as text": {"usage": {"prompt_tokens": "many", "completion_tokens": -1, "total_tokens": None}},
    "negative counts": {"usage": {"prompt_tokens": -5, "completion_tokens": -1, "total_tokens": -6}},
    "the user's role": {"choices": [{"index": 0, "message": {**MESSAGE, "role": "user"}, "finish_reason": "stop"}]},
    "a text as the message": {"choices": [{"index": 0, "message": MESSAGE["content"], "finish_reason": "stop"}]},
}


class RawServer:
    """Answers every request with the bodies it is given, the last one again and again."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.media_type = "application/json"
        self.requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Request(scope, receive).body()
        self.requests += 1
        body = self.bodies.pop(0) if len(self.bodies) > 1 else self.bodies[0]
        await Response(body, media_type=self.media_type)(scope, receive, send)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[RawServer, str]]:
    app = RawServer()
    with LoopbackServer(app) as server:
        yield app, f"{server.url}/v1"


@pytest.fixture
def raw(served: tuple[RawServer, str], monkeypatch: pytest.MonkeyPatch) -> RawServer:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-operator")
    served[0].media_type, served[0].requests = "application/json", 0
    return served[0]


async def ask(url: str, retries: int = 0) -> str:
    settings = {"model": f"openai:m?base_url={url}", "request_retries": retries, "parse_retries": 0}
    found = await METHODS["direct"].graph.ainvoke({"question": "Who?"}, context=settings)
    return found["answer"]


@pytest.mark.parametrize("name", NAMED)
async def test_a_wrong_envelope_is_one_error(served: tuple[RawServer, str], raw: RawServer, name: str) -> None:
    raw.bodies = [json.dumps(NAMED[name]).encode()]
    with pytest.raises(ModelError) as raised:
        await ask(served[1])
    assert "\n" not in str(raised.value)
    assert "sk-secret" not in str(raised.value)


@pytest.mark.parametrize("part", ODD.values(), ids=ODD)
async def test_an_odd_reply_is_read(served: tuple[RawServer, str], raw: RawServer, part: dict[str, Any]) -> None:
    raw.bodies = [json.dumps({**GOOD, **part}).encode()]
    assert await ask(served[1]) == "Dominik Moll, né à Bühl"


async def test_the_servers_words_are_shown(served: tuple[RawServer, str], raw: RawServer) -> None:
    raw.bodies = [json.dumps(NAMED["an error"]).encode()]
    with pytest.raises(ModelError, match="the queue is full"):
        await ask(served[1])


@pytest.mark.parametrize(
    "body",
    [b"<html>busy</html>", b"", b"null", json.dumps(GOOD, ensure_ascii=False).encode()[:165], b"\xff\xfe{}"],
    ids=["a page", "nothing", "null", "half a letter", "another encoding"],
)
@pytest.mark.parametrize("media_type", ["application/json", "text/html"])
async def test_what_a_retry_can_help_is_retried(
    served: tuple[RawServer, str], raw: RawServer, body: bytes, media_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopgraph.tools.models.send._MAX_WAIT_SECONDS", 0.01)
    raw.media_type = media_type
    raw.bodies = [body]
    with pytest.raises(ModelError, match="not in the OpenAI format"):
        await ask(served[1])
    raw.media_type = "application/json"
    raw.bodies, raw.requests = [body, body, json.dumps(GOOD).encode()], 0
    assert await ask(served[1], retries=2) == "Dominik Moll, né à Bühl"
    assert raw.requests == 3


def mutate(chance: random.Random, good: Any = GOOD) -> bytes:
    """Return a good reply with one to three parts replaced, removed or repeated, and at times cut off."""
    body = mutate_json(chance, good, JUNK, removed=0.3)
    return body[: chance.randrange(len(body))] if chance.random() < 0.2 else body


@pytest.mark.parametrize("seed", range(4))
async def test_no_reply_raises_a_raw_error(served: tuple[RawServer, str], raw: RawServer, seed: int) -> None:
    chance = random.Random(seed)
    errors: list[str] = []
    for _ in range(RUNS // 4):
        raw.bodies = [mutate(chance)]
        raw.media_type = chance.choice(["application/json", "application/json", "text/plain"])
        try:
            answer = await ask(served[1])
        except ModelError as error:
            errors.append(str(error))
        else:
            assert isinstance(answer, str)
    assert 0 < len(errors) < RUNS // 4
    assert not any("\n" in each for each in errors)


PAIRS = [("rain in Bühl", "it rains"), ("rain in Bühl", "it snows")]


async def scored(scorer: Reranker | EntailmentChecker) -> list[float]:
    return check_scores(scorer.name, await asyncio.to_thread(scorer.score, PAIRS), len(PAIRS))


JSON_SERVERS: dict[str, tuple[Any, Callable[[str], Awaitable[Any]]]] = {
    "reranker of TEI": (
        [{"index": 1, "score": 0.5}, {"index": 0, "score": -2}],
        lambda url: scored(resolve_reranker(f"{url}/rerank")),
    ),
    "reranker of Cohere": (
        {"results": [{"index": 1, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.1}]},
        lambda url: scored(resolve_reranker(f"{url}/v1/rerank?model=m")),
    ),
    "entailment": (
        [[{"label": "entailment", "score": 0.9}, {"label": "neutral", "score": 0.1}]] * 2,
        lambda url: scored(resolve_entailment(f"{url}/predict")),
    ),
    "embeddings": (
        {"data": [{"index": 0, "embedding": [0.6, 0.8]}]},
        lambda url: resolve_embeddings(f"openai:any?base_url={url}").aquery("Bühl"),
    ),
    "web:serper": (
        {"organic": [{"title": "Bühl", "link": "https://a.example", "snippet": "A town."}], "answerBox": {"link": "x"}},
        lambda url: resolve_retriever(f"web:serper?base_url={url}&retries=0").ainvoke("Bühl"),
    ),
    "web:wikipedia": (
        {
            "query": {
                "pages": [{"pageid": 1, "title": "Bühl", "extract": "A town.", "index": 1, "fullurl": "https://b"}]
            }
        },
        lambda url: resolve_retriever(f"web:wikipedia?base_url={url}/w/api.php&retries=0").ainvoke("Bühl"),
    ),
}


@pytest.mark.parametrize("name", JSON_SERVERS)
async def test_no_answer_of_another_server_raises_a_raw_error(
    served: tuple[RawServer, str], raw: RawServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_server, "RETRIES", 0)
    monkeypatch.setenv("SERPER_API_KEY", "sk-secret-of-the-operator")
    good, call = JSON_SERVERS[name]
    chance, errors = random.Random(name), list[str]()
    raw.bodies = [json.dumps(good).encode()]
    assert len(await call(served[1])) > 0
    for _ in range(RUNS // 6):
        raw.bodies = [mutate(chance, good)]
        try:
            await call(served[1])
        except HopgraphError as error:
            errors.append(str(error))
    assert errors
    assert not any("\n" in each or "sk-secret" in each for each in errors)
