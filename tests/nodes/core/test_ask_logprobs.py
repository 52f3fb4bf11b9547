"""`ask` for log-probabilities, against the endpoints of vLLM and llama.cpp around one tiny model."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.runnables import RunnableLambda
from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import CallResult, ModelCall, ask, ask_all
from hopgraph.state import ModelError, StepEvent
from hopgraph.state.migres import MigresContext
from hopgraph.tools.models.completions import TextRequest, TokenLogprobs
from hopgraph.tools.prompts import render
from support.node_inputs import spent
from support.servers import faults
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel
from support.servers.toy_completions import Flavour, distribution, logprob_of, tokenize
from support.waiting import until

FLAVOURS: list[Flavour] = ["vllm", "llama.cpp"]
VARIABLES = {"question": "Where was Ada Brink born?"}
TEXTS = [" Tallinn", " the Tall innkeeper", " Zürich 北京", "x"]
KEY = "sk-test-0123456789abcdef"


def prompt() -> str:
    return "\n\n".join(message.text for message in render("migres/recall_knowledge", VARIABLES))


def scoring(text: str, **request: Any) -> ModelCall[TokenLogprobs]:
    asked = TextRequest(continuation=text, **request)
    return ModelCall("recall_knowledge", VARIABLES, TokenLogprobs, TokenLogprobs(tokens=[]), text=asked)


def serving(flavour: Flavour | None, **options: Any) -> OpenAIServer:
    return OpenAIServer(ScriptedChatModel(replies=[]), completions=flavour, api_key=KEY, **options)


def served(server: OpenAIServer, events: list[StepEvent] | None = None, **settings: Any) -> Runtime[MigresContext]:
    written = events if events is not None else []
    context = MigresContext(model=f"openai:m?base_url={server.base_url}", **settings)
    return Runtime(context=context, stream_writer=written.append)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_a_text_has_the_log_probability_that_the_model_gives_it(flavour: Flavour) -> None:
    with serving(flavour) as server:
        found = await ask_all(served(server), spent(), [scoring(text) for text in TEXTS])
    assert [each.record.total for each in found] == pytest.approx([logprob_of(prompt(), text) for text in TEXTS])
    for text, each in zip(TEXTS, found, strict=True):
        assert each.outcome == "replied"
        pieces = "".join(token.text for token in each.record.tokens)
        assert pieces == (text if flavour == "vllm" or text.isascii() else "".join(c for c in text if c.isascii()))
        written = len(tokenize(text)) - 1 if flavour == "llama.cpp" else 1
        assert (each.call["attempts"], each.call["completion_tokens"]) == (1, written)
        assert each.call["prompt_tokens"] == len(tokenize(prompt() + text))


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_a_text_that_the_model_writes_has_the_likeliest_tokens_at_each_place(flavour: Flavour) -> None:
    wanted = ModelCall(
        "recall_knowledge",
        VARIABLES,
        TokenLogprobs,
        TokenLogprobs(tokens=[]),
        text=TextRequest(prompt="Ada Brink", max_tokens=3, top=4),
    )
    with serving(flavour) as server:
        found = await ask(served(server), spent(), wanted)
    before = tokenize("Ada Brink")[-1]
    assert len(found.record.tokens) == 3
    for token in found.record.tokens:
        likeliest = sorted(distribution(before), reverse=True)[:4]
        assert token.logprob == pytest.approx(likeliest[0])
        assert [*token.top.values()] == pytest.approx(likeliest)
        [before] = tokenize(token.text)[1:]


async def test_how_a_server_scores_is_learnt_once() -> None:
    with serving("llama.cpp") as server:
        for _ in range(2):
            await ask(served(server), spent(), scoring(" Tallinn"))
        paths = [request.path.rpartition("/")[2] for request in server.requests]
    assert paths == ["completions", "tokenize", "tokenize", "completions", "tokenize", "tokenize", "completions"]


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_a_passing_failure_is_not_seen(flavour: Flavour) -> None:
    events: list[StepEvent] = []
    with serving(flavour) as server:
        server.fail_next(faults.rate_limited(retry_after=0.1))
        found = await ask(served(server, events), spent(), scoring(" Riga"))
    assert found.record.total == pytest.approx(logprob_of(prompt(), " Riga"))
    assert [each["event"] for each in events] == ["retrying", "asked"]
    assert events[-1]["data"]["attempts"] == 1


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"text": "", "logprobs": 3}], "usage": {}}', b"<html>"],
    ids=str,
)
async def test_a_reply_in_another_format_is_an_error_in_one_line(body: bytes) -> None:
    with serving("vllm") as server:
        server.fail_when(lambda _: True, faults.malformed_body(body))
        with pytest.raises(ModelError, match="not in the OpenAI format") as raised:
            await ask(served(server, request_retries=0), spent(), scoring(" Riga"))
    assert "\n" not in str(raised.value)


async def test_a_server_without_log_probabilities_is_named_with_what_it_lacks() -> None:
    with serving(None) as server, pytest.raises(ModelError) as raised:
        await ask(served(server), spent(), scoring(" Riga"))
    said = str(raised.value)
    assert f"{server.base_url}/ gives no log-probabilities of a given text" in said
    assert "vLLM" in said
    assert "/tokenize" in said
    assert KEY not in said


async def test_a_refused_key_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("vllm") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
        with pytest.raises(ModelError, match="refused the key") as raised:
            await ask(served(server), spent(), scoring(" Riga"))
    assert "sk-wrong" not in str(raised.value)
    assert len(server.requests) == 1


async def test_a_model_of_another_kind_is_refused_in_one_line() -> None:
    class Plain(ScriptedChatModel):
        writes_logprobs: bool = False

    runtime = Runtime(context=MigresContext(model=Plain(replies=[])), stream_writer=lambda _: None)
    with pytest.raises(ModelError, match=r"Plain returns no log-probabilities; use gguf:FILE"):
        await ask(runtime, spent(), scoring(" Riga"))


async def test_scores_are_cached_by_their_text(tmp_path: Path) -> None:
    async def scores() -> list[CallResult[TokenLogprobs]]:
        wanted = [scoring(" Riga"), scoring(" Tallinn"), scoring(" Riga", top=3)]
        return await ask_all(served(server, cache_dir=str(tmp_path)), spent(), wanted)

    with serving("vllm") as server:
        first, again = await scores(), await scores()
        assert len(server.requests) == 3
    assert [each.record for each in again] == [each.record for each in first]
    assert [each.call["cached"] for each in again] == [1, 1, 1]
    assert first[0].record.total != first[1].record.total


async def test_requests_of_a_score_are_limited_and_end_when_it_is_cancelled() -> None:
    with serving("vllm", latency=0.05) as server:
        await ask_all(served(server, max_parallel_calls=2), spent(), [scoring(text) for text in TEXTS])
        assert server.peak_in_flight == 2
        server.fail_when(lambda _: True, faults.slow(600))
        task = asyncio.create_task(ask(served(server), spent(), scoring(" Riga")))
        await until(lambda: len(server.requests) == 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


class Runs(AsyncCallbackHandler):
    """Notes the runs that a trace would show."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def on_chain_start(self, *_args: Any, name: str = "", **_more: Any) -> None:
        self.names.append(name)


async def test_a_trace_shows_it() -> None:
    async def node(_: object) -> float:
        return (await ask(served(server), spent(), scoring(" Riga"))).record.total

    seen = Runs()
    with serving("vllm") as server:
        total = await RunnableLambda(node).ainvoke({}, {"callbacks": [seen]})
    assert math.isfinite(total)
    assert "log-probabilities" in seen.names
