"""The servers of docs/model_servers.md, each imitated with what sets it apart: its paths, its fields, its errors."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from hopgraph.state import ModelError, SpecError
from hopgraph.tools.models import Sampling, UnusableReplyError, parse_reply, resolve_model
from hopgraph.tools.models.send import SendOptions, send
from support.servers.loopback import LoopbackServer

MESSAGES: list[BaseMessage] = [SystemMessage("Reply as JSON."), HumanMessage("Wo ist Köln?")]
TEXT = json.dumps({"knowledge": "Am Rhein."})
Answer = Callable[[Request, dict[str, Any], int], Response]


class Known(BaseModel):
    knowledge: str


def said(text: str | None = TEXT, finish: str = "stop", **message: Any) -> Response:
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return JSONResponse({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]})


def failed(status: int, body: Any) -> Response:
    return JSONResponse(body, status, {"retry-after": "0"})


def stream(*events: Any, text: str = TEXT) -> Response:
    pieces = [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in text]
    lines = [f"data: {json.dumps(each)}" for each in [*events, *pieces]]
    return Response("\n\n".join([*lines, "data: [DONE]", ""]), media_type="text/event-stream")


def asked_for(body: dict[str, Any]) -> str | None:
    return body.get("response_format", {}).get("type")


def vllm(request: Request, body: dict[str, Any], number: int) -> Response:
    """Enforces schemas; errors come with `object`, in a stream without `error`; reasoning is a field of its own."""
    if body["response_format"]["json_schema"]["schema"]["required"] != ["knowledge"]:
        return failed(400, {"object": "error", "message": "bad schema", "type": "BadRequestError", "code": 400})
    if number == 1:
        error = {"object": "error", "message": "Engine is restarting", "type": "ServiceUnavailable", "code": 503}
        return stream(error, text="") if body.get("stream") else failed(503, error)
    return stream() if body.get("stream") else said(reasoning_content='Maybe {"knowledge": "no"}')


def ollama(request: Request, body: dict[str, Any], number: int) -> Response:
    """Reads `max_tokens` alone, and needs no key."""
    assert "max_completion_tokens" not in body
    return said(reasoning="It is on a river.") if body["max_tokens"] else said(None)


def llama_cpp(request: Request, body: dict[str, Any], number: int) -> Response:
    """Says 503 until the model has been loaded."""
    loading = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
    return failed(503, loading) if number == 1 else said(timings={"prompt_n": 1})


def tgi(request: Request, body: dict[str, Any], number: int) -> Response:
    """Refuses temperature 0 by an error that is a string."""
    if "temperature" in body and body["temperature"] <= 0:
        words = "Input validation error: `temperature` must be strictly positive"
        return failed(422, {"error": words, "error_type": "validation"})
    return said()


def lm_studio(request: Request, body: dict[str, Any], number: int) -> Response:
    """Takes schemas, no plain JSON; other paths are an error with status 200."""
    if request.url.path != "/v1/chat/completions":
        return JSONResponse({"error": f"Unexpected endpoint or method. (POST {request.url.path})"})
    wrong = {"error": "'response_format.type' must be 'json_schema' or 'text'"}
    return said() if asked_for(body) in ("json_schema", "text", None) else failed(400, wrong)


def litellm(request: Request, body: dict[str, Any], number: int) -> Response:
    """Passes on what the providers behind it refuse, in its own words."""
    if "seed" in body:
        words = "litellm.UnsupportedParamsError: x does not support parameters: ['seed'], for model=m."
        return failed(400, {"error": {"message": words, "type": "None", "param": "None", "code": "400"}})
    return said()


def openrouter(request: Request, body: dict[str, Any], number: int) -> Response:
    """Reports a provider's failure with status 200; a stream begins with comments."""
    if number == 1:
        return JSONResponse({"error": {"message": "Provider returned error", "code": 502}, "user_id": "u"})
    if body.get("stream"):
        whole = stream()
        return Response(b": OPENROUTER PROCESSING\n\n" + bytes(whole.body), media_type="text/event-stream")
    return said(reasoning="…", refusal=None)


def deepseek(request: Request, body: dict[str, Any], number: int) -> Response:
    """Knows no schemas, and plain JSON only where the prompt names it; keeps waiting clients by empty lines."""
    if asked_for(body) == "json_schema":
        words = "This response_format type is unavailable now"
        return failed(400, {"error": {"message": words, "type": "invalid_request_error", "code": "invalid_request"}})
    if asked_for(body) == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        words = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
        return failed(400, {"error": {"message": words}})
    whole = said(reasoning_content="It is on a river.")
    return PlainTextResponse(b"\n\n\n" + bytes(whole.body), media_type="application/json")


def groq(request: Request, body: dict[str, Any], number: int) -> Response:
    """Refuses what its model wrote against the schema, and quotes it."""
    if number > 1:
        return said()
    error = {"message": "Failed to generate JSON", "type": "invalid_request_error", "code": "json_validate_failed"}
    return failed(400, {"error": {**error, "failed_generation": "Am Rhein."}})


def cloudflare(request: Request, body: dict[str, Any], number: int) -> Response:
    """The gateway's own errors are pages, with statuses of its own."""
    return HTMLResponse("<h1>A timeout occurred</h1>", 524, {"retry-after": "0"}) if number < 3 else said()


def azure(request: Request, body: dict[str, Any], number: int) -> Response:
    """Has a path for each deployment, a version in the address, and the key in a header of its own."""
    if request.url.path != "/openai/deployments/m/chat/completions" or "api-version" not in request.query_params:
        return failed(404, {"error": {"code": "404", "message": "Resource not found"}})
    if request.headers.get("api-key") != "azure-key":
        return failed(401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key"}})
    return said()


SERVERS = [vllm, ollama, llama_cpp, tgi, lm_studio, litellm, openrouter, deepseek, groq, cloudflare, azure]


async def reply_of(answer: Answer, spec: str = "", *, streamed: bool = False) -> tuple[Known, list[dict[str, Any]]]:
    """Ask a server; returns the first reply that can be read, and the bodies of all requests."""
    seen: list[dict[str, Any]] = []

    async def app(scope: Scope, receive: Receive, reply_to: Send) -> None:
        request = Request(scope, receive)
        seen.append(await request.json())
        await answer(request, seen[-1], len(seen))(scope, receive, reply_to)

    options = SendOptions(parallel=1, retries=3, on_text=(lambda text: None) if streamed else None)
    with LoopbackServer(app) as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        handle = await resolve_model(spec.format(server.url) or f"openai:m?base_url={server.url}/v1", Sampling(seed=7))
        with suppress(UnusableReplyError):  # which is asked for again
            return parse_reply((await send(handle, MESSAGES, Known, options)).text, Known), seen
        return parse_reply((await send(handle, MESSAGES, Known, options)).text, Known), seen


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("server", SERVERS, ids=lambda each: each.__name__)
async def test_each_gives_its_answer(server: Answer, streamed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ""
    if server is azure:
        pytest.importorskip("langchain", reason="init_chat_model comes with langchain")
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key")
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
        spec = "azure_openai:m"
    known, _ = await reply_of(server, spec, streamed=streamed)
    assert known.knowledge == "Am Rhein."


def test_the_page_has_a_row_for_each() -> None:
    page = (Path(__file__).parents[3] / "docs" / "model_servers.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")][1:]
    named = [row.lower().replace("openai", "").strip().translate({ord("."): "_", ord(" "): "_"}) for row in rows]
    assert sorted(named) == sorted(each.__name__ for each in SERVERS)


async def test_fields_of_a_servers_own_are_sent_from_a_spec_a_file_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers: list[str | None] = []

    def answer(request: Request, body: dict[str, Any], number: int) -> Response:
        headers.append(request.headers.get("x-title"))
        return said()

    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Title: hopgraph")
    written = tmp_path / "body.json"
    written.write_text('{"provider": {"only": ["x"]}}')
    for given in (written, written.read_text()):
        _, (body,) = await reply_of(
            answer, "openai:m?base_url={}/v1&extra_body=" + str(given).replace("{", "{{").replace("}", "}}")
        )
        assert body["provider"] == {"only": ["x"]}
        assert body["response_format"]
    assert headers == ["hopgraph"] * 2
    for wrong in ("[1]", "{", "/none"):
        with pytest.raises(SpecError, match="'extra_body' of 'openai:m' must be a JSON object, or file of one"):
            await resolve_model(f"openai:m?extra_body={wrong}", Sampling())


async def test_an_azure_deployment_that_is_not_there_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain", reason="init_chat_model comes with langchain")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    with pytest.raises(ModelError, match="Resource not found"):
        await reply_of(azure, "azure_openai:other")
