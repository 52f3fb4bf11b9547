"""Embedding models behind a real HTTP server on loopback."""

import asyncio
from collections.abc import Generator

import numpy as np
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from hopgraph.state import ModelError, SpecError
from hopgraph.tools.retrieval.embeddings.resolve import resolve_embeddings, untrusted_address
from support.hashed_words import HashedWords
from support.servers.embedding_app import EmbeddingApp
from support.servers.loopback import LoopbackServer

TEXTS = [f"passage number {number} of the fox" for number in range(10)]


@pytest.fixture
def served() -> EmbeddingApp:
    return EmbeddingApp()


@pytest.fixture
def address(served: EmbeddingApp) -> Generator[str]:
    with LoopbackServer(served.app()) as server:
        yield f"{server.url}/v1"


def test_texts_go_in_batches_and_come_back_in_order(served: EmbeddingApp, address: str) -> None:
    model = resolve_embeddings(f"openai:any?base_url={address}&batch=4")
    vectors = model.passages(TEXTS)
    assert vectors == pytest.approx(np.array(HashedWords().embed_documents(TEXTS)), abs=1e-6)
    assert sorted(len(body["input"]) for body in served.asked) == [2, 4, 4]
    assert {body["model"] for body in served.asked} == {"any"}
    assert model.passages([]).shape == (0, 0)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_server_that_takes_fewer_texts_at_a_time_is_sent_fewer(status: int) -> None:
    asked: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        texts = (await Request(scope, receive).json())["input"]
        asked.append(len(texts))
        error = {"error": f"batch size {len(texts)} > maximum allowed batch size 4", "error_type": "Validation"}
        vectors = [{"embedding": each} for each in HashedWords().embed_documents(texts)]  # without an index
        answer = JSONResponse(error, status) if len(texts) > 4 else JSONResponse({"data": vectors})
        await answer(scope, receive, send)

    with LoopbackServer(app) as server:
        vectors = resolve_embeddings(f"openai:any?base_url={server.url}/v1").passages(TEXTS)
    assert vectors == pytest.approx(np.array(HashedWords().embed_documents(TEXTS)), abs=1e-6)
    assert sorted(asked) == [2, 2, 3, 3, 5, 5, 10]


async def test_queries_are_embedded_on_any_event_loop(served: EmbeddingApp, address: str) -> None:
    model = resolve_embeddings(f"openai:any?base_url={address}&query_prefix=q:+&dimensions=8")
    here = await asyncio.gather(*(model.aquery(text) for text in TEXTS))
    there = await asyncio.to_thread(lambda: asyncio.run(model.aquery(TEXTS[0])))
    assert here[0].tolist() == there.tolist()
    assert there == pytest.approx(HashedWords(8).embed_query(f"q: {TEXTS[0]}"), abs=1e-6)
    assert served.asked[0]["input"][0].startswith("q: ")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (PlainTextResponse("no such model", 404), "HTTP 404: no such model"),
        (JSONResponse({"error": {"message": "no such model"}}, 404), "HTTP 404: no such model"),
        (JSONResponse({"data": []}), "0 vectors for 1 texts"),
        (JSONResponse({"data": [{"index": 0, "embedding": []}]}), "returned 1 vectors of"),
        (JSONResponse({"data": [{"index": 0, "embedding": ["x"]}]}), "could not convert string to float"),
    ],
)
def test_an_unusable_answer_is_a_one_line_error(
    served: EmbeddingApp, address: str, answer: Response, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopgraph.tools.io.json_server.RETRIES", 0)
    served.faults = [answer]
    with pytest.raises(ModelError, match=message) as caught:
        resolve_embeddings(f"openai:any?base_url={address}").passages(TEXTS[:1])
    assert "\n" not in str(caught.value)


def test_the_key_comes_from_the_environment_and_is_never_shown(
    served: EmbeddingApp, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.key = "sk-very-secret-1234"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-secret-99")
    with pytest.raises(ModelError, match="HTTP 401") as caught:
        asyncio.run(resolve_embeddings(f"openai:any?base_url={address}").aquery("x"))
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", served.key)
    assert len(asyncio.run(resolve_embeddings(f"openai:any?base_url={address}").aquery("x"))) == 32


def test_the_error_for_an_unusable_spec_says_what_to_do() -> None:
    with pytest.raises(SpecError, match="set OPENAI_API_KEY, or name a local server"):
        resolve_embeddings("openai:text-embedding-3-small")
    with pytest.raises(SpecError, match=r"leave the key out") as caught:
        resolve_embeddings("openai:m?base_url=https://user:hush4@host/v1")
    assert "hush4" not in str(caught.value)
    with pytest.raises(SpecError, match=r"option 'url' of .* is unknown; valid: base_url"):
        resolve_embeddings("openai:m?url=http://127.0.0.1")
    with pytest.raises(SpecError, match="is not an address"):
        resolve_embeddings("openai:m?base_url=localhost")


def test_only_addresses_that_the_user_named_are_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert untrusted_address("openai:m?base_url=http://127.0.0.1:8080/v1") is None
    assert untrusted_address("openai:m") is None
    assert untrusted_address("st:folder") is None
    assert untrusted_address("openai:m?base_url=https://example.org/v1") == "https://example.org/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://example.org/v1")
    assert untrusted_address("openai:m?base_url=https://example.org/v1") is None
