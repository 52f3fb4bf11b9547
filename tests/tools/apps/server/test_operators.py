"""The operator's view: a log line per question, counters, health, and the OpenAPI schema of `/v1`."""

import logging
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.apps.server.monitoring import LOG_QUESTIONS
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.faults import server_error
from support.servers.openai_server import OpenAIServer
from support.servers.protocols import chat_request, sent
from support.servers.web_app import WebApp, open_app, without_page

KEY = "sk-of-the-owner-0123456789"
ASK = chat_request("Who painted Guernica?")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer(RuleBasedModel(), api_key=KEY) as server:
        yield server


@pytest.fixture
async def app(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[WebApp]:
    settings = {"model": f"openai:any?base_url={model.base_url}", "request_retries": 0}
    async with open_app(without_page(tmp_path, settings=settings)) as opened:
        yield opened


async def test_a_question_is_logged_in_one_line_without_its_text(
    app: WebApp, model: OpenAIServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "hopgraph.questions")
    named = {"X-Request-ID": "of-a-proxy.1"}
    answered = await sent(app, "POST", "/v1/chat/completions", json=ASK, headers=named)
    assert answered.headers["x-request-id"] == "of-a-proxy.1"
    model.fail_next(server_error())
    monkeypatch.setenv(LOG_QUESTIONS, "1")
    made_up = {"X-Request-ID": "two\twords" * 30}
    failed = await sent(app, "POST", "/v1/chat/completions", json=ASK, headers=made_up)
    assert failed.status_code == 502
    first, second = (each.getMessage() for each in caplog.records if each.name == "hopgraph.questions")
    assert re.fullmatch(
        r"question id=of-a-proxy\.1 user=local method=one_step outcome=answered calls=[12] seconds=\d+\.\d{3}", first
    )
    identity = failed.headers["x-request-id"]
    assert re.fullmatch(r"\w{16}", identity)
    assert f"id={identity} user=local method=one_step outcome=failed calls=1 " in second
    assert 'cause="openai:any' in second
    assert "HTTP 500" in second
    assert second.endswith('question="Who painted Guernica?"')
    assert KEY not in caplog.text


async def test_counters_distinguish_outcomes(app: WebApp, model: OpenAIServer) -> None:
    await sent(app, "POST", "/v1/chat/completions", json=ASK)
    model.fail_next(server_error())
    await sent(app, "POST", "/v1/chat/completions", json=ASK)
    text = (await sent(app, "GET", "/metrics")).text
    assert 'hopgraph_questions_total{method="one_step",outcome="answered"} 1.0' in text
    assert 'hopgraph_questions_total{method="one_step",outcome="failed"} 1.0' in text
    assert f'hopgraph_model_calls_total{{method="one_step"}} {len(model.requests)}.0' in text
    assert 'hopgraph_question_seconds_count{method="one_step"} 2.0' in text
    assert "hopgraph_turns_active 0.0" in text
    assert "Guernica" not in text


@pytest.mark.parametrize(
    ("broken", "statuses"),
    [
        ("nothing", {"models": "ok", "index": "ok"}),
        ("the model's server", {"models": "unreachable", "index": "ok"}),
        ("the key", {"models": "refused", "index": "ok"}),
        ("the index", {"models": "ok", "index": "failed"}),
    ],
)
async def test_health_distinguishes_models_and_index(
    tmp_path: Path, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch, broken: str, statuses: dict[str, str]
) -> None:
    settings: dict[str, Any] = {"model": f"openai:any?base_url={model.base_url}"}
    if broken == "the model's server":
        settings["model"] = "openai:any?base_url=http://127.0.0.1:9/v1"
    elif broken == "the key":
        monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    elif broken == "the index":
        settings["retriever"] = f"bm25:{tmp_path / 'nothing'}"
    async with open_app(without_page(tmp_path, settings=settings)) as app:
        health, ready = await sent(app, "GET", "/health"), await sent(app, "GET", "/health/ready")
    whole = {"status": "ok" if broken == "nothing" else "degraded", "turns": 0, **statuses}
    assert (health.status_code, health.json()) == (200, whole)
    assert (ready.status_code, ready.json()) == (200 if broken == "nothing" else 503, whole)


async def test_the_openapi_schema_of_v1_is_self_contained(app: WebApp) -> None:
    described = (await sent(app, "GET", "/v1/openapi.json")).json()
    body = described["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert {"model", "messages", "stream", "hopgraph"} <= body["properties"].keys()
    references = re.findall(r'"\$ref": ?"#([^"]+)"', str(described).replace("'", '"'))
    assert references
    for each in references:
        found: Any = described
        for part in each.strip("/").split("/"):
            found = found[part.replace("~1", "/")]
        assert isinstance(found, dict)
