"""`ask` against a real OpenAI-compatible server: modes, faults, re-asks, fallbacks, counting, budgets, keys."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.runtime import Runtime
from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hopgraph.nodes.core.ask import CallResult, ModelCall, ask, ask_all
from hopgraph.nodes.recall_knowledge import RecallReply
from hopgraph.state import ModelError, PromptError, StepEvent
from hopgraph.state.migres import MigresContext
from hopgraph.tools.models.reply_cache import cache_key
from hopgraph.tools.models.structured import reply_tokens
from hopgraph.tools.prompts import render
from support.fake_clock import NEVER
from support.node_inputs import spent
from support.servers import faults
from support.servers.loopback import LoopbackServer
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel
from support.waiting import PATIENCE

KEY = "sk-test-0123456789abcdef"


class Recalled(BaseModel):
    knowledge: str


NOTHING = Recalled(knowledge="")
GOOD = '{"knowledge": "Lima is in Peru."}'


def question(text: str = "Where is Lima?", **fields: Any) -> ModelCall[Recalled]:
    return ModelCall("recall_knowledge", {"question": text}, Recalled, NOTHING, **fields)


def asked_with_bounds(text: str) -> ModelCall[Any]:
    return ModelCall("recall_knowledge", {"question": text}, RecallReply, RecallReply(knowledge=""))


def runtime(events: list[StepEvent] | None = None, **settings: Any) -> Runtime[MigresContext]:
    written = events if events is not None else []
    return Runtime(context=MigresContext(**settings), stream_writer=written.append)


def served(server: OpenAIServer, **settings: Any) -> Runtime[MigresContext]:
    return runtime(model=f"openai:scripted?base_url={server.base_url}", **settings)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def scripted(*replies: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=list(replies))


@pytest.mark.parametrize(
    ("rejected", "field"),
    [
        (set[str](), "json_schema"),
        ({"bounds"}, "json_schema"),
        ({"json_schema"}, "tools"),
        ({"json_schema", "tools"}, "json_object"),
        ({"json_schema", "tools", "json_object"}, "text"),
    ],
)
async def test_the_strictest_way_that_the_server_takes_is_learnt_once(rejected: set[str], field: str) -> None:
    with OpenAIServer(scripted(GOOD, GOOD), api_key=KEY, rejects=frozenset(rejected)) as server:  # pyright: ignore[reportArgumentType]
        context = served(server)
        for text in ("Where is Lima?", "Where is Cusco?"):
            answered = await ask(context, spent(), asked_with_bounds(text))
            assert (answered.record.knowledge, answered.outcome) == ("Lima is in Peru.", "replied")
            assert answered.call["attempts"] == 1
        # A refused schema is sent once more without bounds.
        assert len(server.requests) == len(rejected) + ("json_schema" in rejected) + 2
        body: Any = server.requests[-1].body
        kind = "tools" if "tools" in body else (body.get("response_format") or {"type": "text"})["type"]
        assert kind == field


@pytest.mark.parametrize(
    "fault",
    [
        faults.rate_limited(retry_after=0.1),
        faults.server_error(500),
        faults.server_error(503),
        faults.dropped("answer"),
        faults.dropped("body"),
        faults.malformed_body(),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_a_passing_failure_is_not_seen(fault: Any) -> None:
    with OpenAIServer(scripted(GOOD), api_key=KEY) as server:
        server.fail_next(fault)
        answered = await ask(served(server), spent(), question())
        assert answered.outcome == "replied"
        assert (answered.call["attempts"], answered.call["parse_failures"]) == (1, 0)
        assert len(server.requests) == 2


LONG = json.dumps({"knowledge": "Lima is in Peru. " * 100})


async def test_a_reply_that_exceeds_its_length_is_asked_for_again() -> None:
    with OpenAIServer(scripted(LONG, LONG, GOOD), api_key=KEY) as server:
        answered = await ask(served(server, max_output_tokens=50), spent(), question())
        assert (answered.outcome, answered.record.knowledge) == ("replied", "Lima is in Peru.")
        assert (answered.call["attempts"], answered.call["parse_failures"]) == (3, 2)
        bodies: list[Any] = [request.body for request in server.requests]
        assert [body["max_tokens"] for body in bodies] == [50, 50, 50]
        assert not any("max_completion_tokens" in body for body in bodies)
        assert "cut off at the token limit" in bodies[-1]["messages"][-1]["content"]


async def test_the_length_follows_from_the_form_unless_the_model_has_its_own() -> None:
    with OpenAIServer(scripted(GOOD, GOOD, GOOD), api_key=KEY) as server:
        await ask(served(server), spent(), asked_with_bounds("Where is Lima?"))
        own = f"openai:any?max_tokens=77&base_url={server.base_url}"
        await ask(runtime(model=own), spent(), question())
        await ask(runtime(model=own, max_output_tokens=88), spent(), question())
        bodies: list[Any] = [request.body for request in server.requests]
        assert [body["max_tokens"] for body in bodies] == [reply_tokens(RecallReply), 77, 88]


@pytest.mark.parametrize("unseen", ["", "<think>Lima? I remember"])
async def test_a_model_that_was_cut_off_while_it_reasoned_gets_more(unseen: str) -> None:
    with OpenAIServer(scripted(GOOD, GOOD, GOOD), api_key=KEY) as server:
        server.fail_next(cut_to(unseen))
        model = f"openai:reasons-{len(unseen)}?base_url={server.base_url}"
        for text in ("Where is Lima?", "Where is Cusco?"):
            assert (await ask(runtime(model=model), spent(), question(text))).outcome == "replied"
        limits: list[Any] = [request.body["max_tokens"] for request in server.requests]  # pyright: ignore
        assert limits[0] == reply_tokens(Recalled)
        assert limits[1] == limits[2] > 4 * limits[0]


def cut_to(text: str) -> faults.ChangedReply:
    return faults.ChangedReply(lambda reply: replace(reply, text=text, finish_reason="length"))


async def test_a_reply_that_was_kept_before_there_was_a_length_still_counts(tmp_path: Path) -> None:
    """The length is a part of the key only where somebody set it."""
    every: tuple[dict[str, Any], ...] = ({}, {"max_output_tokens": 99})
    with OpenAIServer(scripted(GOOD, GOOD), api_key=KEY) as server:
        model = f"openai:any?base_url={server.base_url}"
        keys: list[set[str]] = []
        for settings in every:
            context = runtime(model=model, cache_dir=str(tmp_path), **settings)
            await ask(context, spent(), asked_with_bounds("Where is Lima?"))
            keys.append({path.stem for path in tmp_path.rglob("*.json")})
    assert len(keys[0]) == 1
    assert len(keys[1]) == 2
    [kept] = keys[0]
    messages = render("migres/recall_knowledge", {"question": "Where is Lima?"})
    assert kept == cache_key(
        {
            "role": "migres/recall_knowledge",
            "messages": [[message.type, str(message.text)] for message in messages],
            "model": model,
            "temperature": 0.0,
            "seed": None,
            "sample": 0,
            "sampling": {},
            "schema": {
                "description": "A reply of the role `recall_knowledge`.",
                "properties": {"knowledge": {"title": "Knowledge", "type": "string"}},
                "required": ["knowledge"],
                "title": "RecallReply",
                "type": "object",
            },
        }
    )


async def test_the_server_says_how_long_to_wait() -> None:
    events: list[StepEvent] = []
    with OpenAIServer(scripted(GOOD), api_key=KEY) as server:
        server.fail_next(faults.rate_limited(retry_after=1.2))
        began = time.perf_counter()
        await ask(runtime(events, model=f"openai:scripted?base_url={server.base_url}"), spent(), question())
        assert time.perf_counter() - began >= 1.2
    [told] = [event["data"] for event in events if event["event"] == "retrying"]
    assert (told["role"], told["attempt"], told["status"], told["wait"]) == ("migres/recall_knowledge", 1, 429, 1.2)


@pytest.mark.parametrize(
    "fault",
    [faults.truncated(), faults.empty_content(), faults.refusal("I must not.")],
    ids=["cut", "empty", "refusal"],
)
async def test_an_unusable_reply_is_asked_for_again_and_counted(fault: Any) -> None:
    events: list[StepEvent] = []
    with OpenAIServer(scripted(GOOD, GOOD, GOOD), api_key=KEY) as server:
        server.fail_next(fault)
        context = runtime(events, model=f"openai:scripted?base_url={server.base_url}")
        answered = await ask(context, spent(), question())
    assert answered.outcome == "replied"
    assert (answered.call["attempts"], answered.call["parse_failures"]) == (2, 1)
    assert events[-1]["data"]["parse_failures"] == 1
    body: Any = server.requests[-1].body
    assert "could not be used" in body["messages"][-1]["content"]


async def test_the_declared_fallback_is_taken_in_the_end_and_never_silently() -> None:
    with OpenAIServer(scripted("what?", "I am a teapot", "no"), api_key=KEY) as server:
        answered = await ask(served(server, parse_retries=2), spent(), question())
    assert answered.record == NOTHING
    assert (answered.outcome, answered.call["attempts"], answered.call["parse_failures"]) == (
        "fallback",
        3,
        3,
    )
    assert answered.call["prompt_tokens"] > 0


async def test_a_reply_without_usage_from_langchains_cache_is_counted() -> None:
    model = ScriptedChatModel(replies=[AIMessage(GOOD)], cache=InMemoryCache())  # a hit's usage is a cost of 0
    asked, again = [await ask(runtime(model=model), spent(), question()) for _ in range(2)]
    assert again.record == asked.record
    assert again.call["prompt_tokens"] == asked.call["prompt_tokens"] > 0


async def test_usage_is_the_servers_else_counted() -> None:
    for reports in (True, False):
        with OpenAIServer(scripted(GOOD), api_key=KEY, reports_usage=reports) as server:
            call = (await ask(served(server), spent(), question())).call
        assert call["prompt_tokens"] > 50
        assert call["completion_tokens"] > 3


@pytest.mark.parametrize("status", [401, 403, 400, 404])
async def test_a_final_failure_is_one_line_without_the_key(status: int) -> None:
    with OpenAIServer(scripted(), api_key=KEY) as server:
        server.fail_when(lambda _request: True, faults.ErrorStatus(status, f"bad key {KEY} for you"))
        with pytest.raises(ModelError) as caught:
            await ask(served(server), spent(), question())
    assert "\n" not in str(caught.value)
    assert "openai:scripted" in str(caught.value)
    assert KEY not in str(caught.value)
    assert re.search(rf"HTTP {status}: bad key \S+ for you", str(caught.value)), "the server's message alone"


@pytest.mark.parametrize(
    "body", [b'{"error": 7}', b'{"detail": "gone"}', b"[1]", b"null", b'"gone"', b"{", b"[" * 100_000, b"<p>gone</p>"]
)
async def test_a_refusal_in_another_form_is_shown_with_its_words(body: bytes) -> None:
    async def refuse(scope: Scope, receive: Receive, reply_to: Send) -> None:
        await Response(body, 404)(scope, receive, reply_to)

    with LoopbackServer(refuse) as server, pytest.raises(ModelError) as caught:
        await ask(runtime(model=f"openai:m?base_url={server.url}/v1"), spent(), question())
    said = "gone" if body in (b'"gone"', b'{"detail": "gone"}') else body.decode()[:100]
    assert f"HTTP 404: {said}" in str(caught.value)


@pytest.mark.parametrize("retries", [0, 1])
async def test_an_unreachable_server_is_named_at_the_first_retry(retries: int) -> None:
    events: list[StepEvent] = []
    context = runtime(events, model="openai:any?base_url=http://127.0.0.1:9/v1", request_retries=retries)
    with pytest.raises(ModelError, match=r"cannot reach http://127\.0\.0\.1:9/v1"):
        await ask(context, spent(), question())
    told = [event["data"]["problem"] for event in events if event["event"] == "retrying"]
    assert told == ["cannot reach http://127.0.0.1:9/v1"] * retries


async def test_a_slow_server_ends_at_the_timeout() -> None:
    with OpenAIServer(scripted(GOOD), api_key=KEY) as server:
        server.fail_next(faults.slow(5))
        with pytest.raises(ModelError, match="no reply in time"):
            await ask(served(server, request_timeout=0.3, request_retries=0), spent(), question())


def knowing(_role: str, _messages: Any) -> str:
    return GOOD


async def test_calls_run_side_by_side_up_to_the_limit() -> None:
    with OpenAIServer(ScriptedChatModel(replies=knowing, latency=0.2), api_key=KEY) as server:
        answers = await ask_all(
            served(server, max_parallel_calls=4), spent(), [question(f"question {n}") for n in range(8)]
        )
        assert len(answers) == 8
        assert server.peak_in_flight == 4


async def test_tokens_and_deadline_are_budgets_too() -> None:
    context = runtime(model=ScriptedChatModel(replies=knowing), max_tokens=10)
    assert (await ask(context, spent(), question())).outcome == "budget"
    context = runtime(model=ScriptedChatModel(replies=knowing, latency=NEVER), deadline_seconds=0.2)
    assert (await ask(context, spent(), question())).outcome == "budget"


async def test_a_failure_cancels_its_siblings() -> None:
    class RefusedError(Exception):
        pass

    def reply(_role: str, messages: Any) -> str:
        if "question 1" in messages[-1].text:
            raise RefusedError
        return GOOD

    with pytest.raises(RefusedError):
        await ask_all(
            runtime(model=ScriptedChatModel(replies=reply)),
            spent(),
            [question(f"question {n}") for n in range(3)],
        )


async def test_the_cache_answers_the_same_prompt_for_nothing(tmp_path: Path) -> None:
    context = runtime(model=scripted(GOOD, GOOD), cache_dir=str(tmp_path))
    first, again = [await ask(context, spent(), question()) for _ in range(2)]
    assert (first.call["cached"], again.call["cached"]) == (0, 1)
    assert (again.record, again.call) == (first.record, {**first.call, "cached": 1})
    assert (await ask(context, spent(), question(sample=1))).call["cached"] == 0


async def test_the_cache_keeps_unusable_replies_too(tmp_path: Path) -> None:
    context = runtime(model=scripted("no", "\ud800 no", "nor this"), cache_dir=str(tmp_path), parse_retries=2)
    first, again = [await ask(context, spent(), question()) for _ in range(2)]
    assert (first.outcome, again.outcome) == ("fallback", "fallback")
    assert again.call == {**first.call, "cached": 3, "parse_failures": 3}


async def test_the_same_prompt_at_the_same_time_is_paid_for_once(tmp_path: Path) -> None:
    context = runtime(model=ScriptedChatModel(replies=[GOOD], latency=0.05), cache_dir=str(tmp_path))
    answers = await ask_all(context, spent(), [question()] * 8)
    assert sorted(answer.call["cached"] for answer in answers) == [0] + [1] * 7


async def test_a_role_may_have_a_model_of_its_own() -> None:
    special = scripted('{"knowledge": "special"}')
    bound: dict[str, BaseChatModel] = {
        "migres/recall_knowledge": special,
        "migres": scripted(),
        "other": scripted(),
    }
    answered = await ask(runtime(model=scripted(), models=bound), spent(), question())
    assert answered.record.knowledge == "special"


async def test_the_role_is_the_first_line_also_under_an_edited_prompt(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "recall_knowledge.md").write_text(
        "variables: question, original_question?\n--- instructions\nSay it in JSON.\n"
        "--- input\n{{question}}{{original_question}}\n"
    )
    seen: list[Any] = []

    def reply(role: str, messages: Any) -> str:
        seen.append((role, [message.text for message in messages]))
        return GOOD

    await ask(runtime(model=ScriptedChatModel(replies=reply), prompts_dir=str(tmp_path)), spent(), question("Who?"))
    ((role, (system, human)),) = seen
    assert (role, human) == ("migres/recall_knowledge", "<question>\nWho?\n</question>")
    assert system.startswith("Role: migres/recall_knowledge\n\nSay it in JSON.\n\n")


async def test_a_prompt_with_other_variables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "recall_knowledge.md").write_text(
        "variables: questoin, original_question?\n--- instructions\nX.\n--- input\n{{questoin}}{{original_question}}\n"
    )
    with pytest.raises(PromptError, match="'quest"):
        await ask(runtime(model=scripted(), prompts_dir=str(tmp_path)), spent(), question())


@pytest.mark.parametrize("ready", [False, True])
def test_one_model_serves_many_event_loops(ready: bool) -> None:
    with OpenAIServer(ScriptedChatModel(replies=knowing), api_key=KEY, models=("scripted",)) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, max_retries=0)
        given = (lambda: runtime(model=model)) if ready else (lambda: served(server))
        outcomes = [asyncio.run(_ask_in_a_new_loop(given)).outcome for _ in range(6)]
    assert outcomes == ["replied"] * 6


async def _ask_in_a_new_loop(make: Callable[[], Runtime[MigresContext]]) -> CallResult[Recalled]:
    return (await ask_all(make(), spent(), [question("a?"), question("b?")]))[0]


async def test_a_way_that_another_request_learnt_is_taken() -> None:
    with OpenAIServer(
        ScriptedChatModel(replies=knowing, latency=0.1), api_key=KEY, rejects=frozenset({"json_schema"}), latency=0.05
    ) as server:
        context = served(server, max_parallel_calls=2, request_retries=0)

        async def later(number: int) -> CallResult[Recalled]:
            await asyncio.sleep(0.03 * number)
            return await ask(context, spent(), question(f"question {number}"))

        answers = await asyncio.gather(*(later(number) for number in range(6)))
    assert {answer.outcome for answer in answers} == {"replied"}


async def test_a_corrected_key_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer(scripted(GOOD), api_key=KEY) as server:
        monkeypatch.delenv("OPENAI_API_KEY")
        with pytest.raises(ModelError, match="none is set: set OPENAI_API_KEY"):
            await ask(served(server), spent(), question())
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
        with pytest.raises(ModelError, match="check OPENAI_API_KEY"):
            await ask(served(server), spent(), question())
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert (await ask(served(server), spent(), question())).outcome == "replied"


async def test_hostile_characters_in_a_reply_do_no_harm(tmp_path: Path) -> None:
    odd = json.dumps({"knowledge": "x\ud800y"})
    with OpenAIServer(ScriptedChatModel(replies=["\ud800 no", odd]), api_key=KEY) as server:
        answered = await ask(served(server, cache_dir=str(tmp_path)), spent(), question())
    assert (answered.record.knowledge, answered.call["parse_failures"]) == ("xy", 1)


async def test_a_damaged_or_full_cache_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[StepEvent] = []
    context = runtime(events, model=scripted(GOOD, GOOD, GOOD), cache_dir=str(tmp_path))
    await ask(context, spent(), question())
    (kept,) = tmp_path.rglob("*.json")
    kept.write_text('{"reply": "garbage"}')
    assert (await ask(context, spent(), question())).call["cached"] == 0

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert (await ask(context, spent(), question("another?"))).outcome == "replied"
    assert events[-2]["event"] == "cache_failed"
    assert not list(tmp_path.rglob("*.part"))


async def test_sampling_options_reach_the_server_for_that_question_alone() -> None:
    with OpenAIServer(ScriptedChatModel(replies=knowing)) as server:
        asks = [question(), question(sample=1, sampling={"temperature": 1.0, "top_p": 0.5}), question(sample=2)]
        await ask_all(served(server, max_parallel_calls=1), spent(), asks)
        bodies: list[Any] = [request.body for request in server.requests]
    # Which of them goes first is up to the threads that resolve the model.
    drawn = sorted((body.get("temperature"), body.get("top_p") or 0) for body in bodies)
    assert drawn == [(0.0, 0), (0.0, 0), (1.0, 0.5)]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_answers() -> None:
    code = """
import os, sys, warnings
warnings.simplefilter("ignore")
from hopgraph.graphs import migres
question = {"question": "Who wrote the opera Fidelio?"}
migres.graph.invoke(question)
child = os.fork()
if child == 0:
    migres.graph.invoke(question)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)
