"""The AG-UI endpoint over HTTP, with events parsed by AG-UI's package."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from ag_ui.core import events as ag
from fastapi import FastAPI
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from pydantic import TypeAdapter

from hopgraph.graphs import chat
from hopgraph.nodes.core.step_events import STEP_EVENT
from hopgraph.state import StepEvent
from hopgraph.tools.apps.server.ag_ui import ag_ui_router
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.service import open_service
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.endpoints import QUESTION, USERS, asked, by_model, until_idle
from support.servers.faults import server_error
from support.servers.openai_server import OpenAIServer
from support.servers.protocols import agent_request
from support.servers.scripted_model import ScriptedChatModel
from support.servers.web_app import WebApp, open_app, without_page

EVENT: TypeAdapter[Any] = TypeAdapter(ag.Event)


def body(*texts: str, props: Any = None, **more: Any) -> dict[str, Any]:
    return agent_request(*texts, forwardedProps=props or {}, **more)


async def stream(app: WebApp, wanted: Any, user: str = "") -> AsyncGenerator[Any]:
    headers = {"Authorization": f"Bearer key-of-{user}"} if user else {}
    async with (
        httpx.AsyncClient(timeout=60) as client,
        client.stream("POST", f"{app.url}/ag-ui", json=wanted, headers=headers) as reply,
    ):
        assert reply.status_code == 200, await reply.aread()
        assert reply.headers["content-type"].startswith("text/event-stream")
        async for line in reply.aiter_lines():
            if line:
                yield EVENT.validate_json(line.removeprefix("data: "))


async def run(app: WebApp, wanted: Any, user: str = "") -> list[Any]:
    return [event async for event in stream(app, wanted, user)]


async def refused(app: WebApp, content: bytes) -> tuple[int, str]:
    async with httpx.AsyncClient(timeout=60) as client:
        reply = await client.post(f"{app.url}/ag-ui", content=content)
    detail = reply.json()["detail"]
    assert "\n" not in detail
    return reply.status_code, detail


def of(events: Sequence[Any], kind: Any) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def text_of(events: Sequence[Any]) -> str:
    return "".join(event.delta for event in of(events, ag.TextMessageContentEvent))


async def test_the_answer_and_its_citations_are_those_of_ask(app: WebApp) -> None:
    events = await run(app, body(QUESTION, state={"theme": "dark"}))
    expected = asked()
    snapshot = of(events, ag.StateSnapshotEvent)[-1].snapshot
    found = of(events, ag.TextMessageStartEvent)[0].metadata["hopgraph"]
    for told in (snapshot, found):
        assert {key: told[key] for key in ("answer", "explanation", "citations", "stop_reason")} == {
            key: expected[key] for key in ("answer", "explanation", "citations", "stop_reason")
        }
        assert told["method"] == "cascade"
    assert snapshot["theme"] == "dark", "what the client keeps there stays"
    assert text_of(events).startswith("Guadalajara [1][2]")


async def test_events_are_in_the_order_that_clients_verify(app: WebApp) -> None:
    events = await run(app, body(QUESTION))
    assert isinstance(events[0], ag.RunStartedEvent)
    assert (events[0].thread_id, events[0].run_id) == ("t1", "r1")
    assert isinstance(events[-1], ag.RunFinishedEvent)
    open_step = ""
    for event in events:
        if isinstance(event, ag.StepStartedEvent):
            assert not open_step
            open_step = event.step_name
        elif isinstance(event, ag.StepFinishedEvent):
            assert event.step_name == open_step
            open_step = ""
        elif isinstance(event, ag.CustomEvent):
            assert event.name == STEP_EVENT
            assert event.value["node"] == open_step
        elif isinstance(event, ag.TextMessageStartEvent | ag.RunFinishedEvent):
            assert not open_step
    kinds = [event.value["event"] for event in of(events, ag.CustomEvent)]
    assert kinds.index("routed") < kinds.index("query")
    assert kinds.index("query") < kinds.index("retrieved") < kinds.index("answered") < kinds.index("replied")


async def test_internal_state_is_not_sent(app: WebApp) -> None:
    events = await run(app, body(QUESTION))
    assert len(of(events, ag.TextMessageStartEvent)) == 1, "what models say on the way is no message"
    assert not of(events, ag.RawEvent)
    assert of(events, ag.StateSnapshotEvent)[0].snapshot.keys() == {
        "answer",
        "markdown",
        "explanation",
        "citations",
        "method",
        "stop_reason",
        "usage",
    }


async def test_a_thread_is_titled_by_its_first_question(app: WebApp) -> None:
    for text in ("Who painted Guernica?", "Where was he born?"):
        await run(app, body(text))
    (thread,) = await app.service.threads.list_for("local")
    assert thread["title"] == "Who painted Guernica?"


async def test_a_follow_up_uses_the_threads_history(app: WebApp) -> None:
    first = await run(app, body("Who painted Guernica?"))
    again = body("Who painted Guernica?", "(not what was said)", "And where was he born?")
    assert "Picasso" in text_of(first)
    assert "laga" in text_of(await run(app, again))
    kept = (await app.service.chat.aget_state(app.service.threads.config("local", "t1"))).values["messages"]
    assert [message.type for message in kept] == ["human", "ai", "human", "ai"]
    assert "not what was said" not in str(kept)


async def test_a_history_that_only_the_client_has_is_adopted(app: WebApp) -> None:
    events = await run(app, body("Who painted Guernica?", "Pablo Picasso", "And where was he born?"))
    assert "laga" in text_of(events)


async def test_a_message_sent_again_replaces_its_turn(app: WebApp) -> None:
    await run(app, body("Who painted Guernica?"))
    await run(app, body("Who painted Guernica?", "…", "And where was he born?"))
    await run(app, body("Who painted Guernica?"))
    kept = (await app.service.chat.aget_state(app.service.threads.config("local", "t1"))).values["messages"]
    assert [message.type for message in kept] == ["human", "ai"]


async def test_a_thread_is_available_only_to_its_user(tmp_path: Path) -> None:
    async with open_app(without_page(tmp_path, keys=USERS)) as app:
        await run(app, body("Who painted Guernica?"), user="ann")
        follow_up = body("And where was he born?")
        follow_up["messages"][0]["id"] = "m2"
        assert "laga" not in text_of(await run(app, follow_up, user="bob"))
        assert "laga" in text_of(await run(app, follow_up, user="ann"))
        assert [thread["id"] for thread in await app.service.threads.list_for("bob")] == ["t1"]


@pytest.mark.parametrize("thread", ["../t1", "a/b", "ann:t1", "", "..", "t1\u0000", "x" * 65])
async def test_thread_ids_that_look_like_paths_are_refused(app: WebApp, thread: str) -> None:
    status, detail = await refused(app, json.dumps(body(QUESTION, thread=thread)).encode())
    assert status == 422
    assert "thread" in detail


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b"{", 400, "not a valid RunAgentInput"),
        (b"[]", 400, "not a valid RunAgentInput"),
        (b"\xff", 400, "not a valid RunAgentInput"),
        (b'{"threadId": "t", "runId": "r", "messages": [{"role": "user"}]}', 400, "messages"),
        (json.dumps(body()).encode(), 422, "last message"),
        (json.dumps(body("Hello", "Hi")).encode(), 422, "last message"),
        (json.dumps(body("x", props={"hopgraph": {"method": "nope"}})).encode(), 422, "'nope' is unknown"),
        (json.dumps(body("x", props={"hopgraph": {"method": 1}})).encode(), 422, "method"),
        (json.dumps(body("x", props={"hopgraph": []})).encode(), 422, "forwardedProps"),
        (json.dumps(body("x", props={"hopgraph": {"model": "openai:o"}})).encode(), 422, "by the operator"),
        (json.dumps(body("x", props={"hopgraph": {"temperature": 9}})).encode(), 422, "temperature"),
    ],
)
async def test_invalid_requests_are_refused_in_one_line(app: WebApp, content: bytes, status: int, said: str) -> None:
    told, detail = await refused(app, content)
    assert told == status
    assert said in detail


async def test_other_forwarded_properties_change_nothing(app: WebApp) -> None:
    props = {"node_name": "reply", "answer": "forged", "said": "forged", "command": {"resume": "x"}}
    events = await run(app, body(QUESTION, props=props, state={"answer": "forged"}))
    assert of(events, ag.StateSnapshotEvent)[0].snapshot["answer"] == "Guadalajara"


async def test_a_method_can_be_chosen_and_set(app: WebApp) -> None:
    props = {"hopgraph": {"method": "one_step", "top_k": 3}}
    events = await run(app, body("Who painted Guernica?", props=props))
    assert of(events, ag.StateSnapshotEvent)[0].snapshot["method"] == "one_step"
    found = [event.value for event in of(events, ag.CustomEvent) if event.value["event"] == "retrieved"]
    assert len(found) == 1
    assert len(found[0]["data"]["passage_ids"]) == 3


async def test_a_review_pauses_and_resumes(app: WebApp) -> None:
    props = {"hopgraph": {"method": "migres", "review_queries": True}}
    events = await run(app, body(QUESTION, props=props))
    rounds = 0
    while (outcome := events[-1].outcome) is not None:
        assert outcome.type == "interrupt"
        assert not of(events, ag.TextMessageStartEvent)
        pause = outcome.interrupts[0]
        assert pause.reason == "review_queries"
        assert pause.metadata["hopgraph"]["queries"][0]["text"]
        answers = [{"interruptId": pause.id, "status": "resolved", "payload": "approve"}]
        events = await run(app, body(QUESTION, props=props, resume=answers))
        rounds += 1
    assert rounds == 2
    assert of(events, ag.StateSnapshotEvent)[0].snapshot["answer"] == "Guadalajara"


@pytest.mark.slow
async def test_a_client_that_leaves_stops_its_run(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        server.hold(after=1)
        async with open_app(by_model(server, tmp_path)) as app:
            events = stream(app, body(QUESTION, props={"hopgraph": {"method": "migres"}}))
            async for event in events:
                if isinstance(event, ag.CustomEvent):
                    break
            assert app.service.admission.active == 1
            await events.aclose()
            await until_idle(app.service)
            await asyncio.sleep(0.4)  # a request in flight may still arrive
            before = len(server.requests)
            await asyncio.sleep(0.4)
            assert len(server.requests) == before < asked(method="migres")["usage"]["llm_calls"], "asked no more"
            server.release()
            assert "Guadalajara" in text_of(await run(app, body(QUESTION))), "the thread can be asked again"


async def test_concurrent_turns_are_limited_per_thread_and_app(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        server.hold(after=1)
        async with open_app(by_model(server, tmp_path, max_running=1, max_waiting=0)) as app:
            events = stream(app, body(QUESTION))
            await anext(events)
            for thread in ("t1", "t2"):
                status, detail = await refused(app, json.dumps(body(QUESTION, thread=thread)).encode())
                assert status == 429
                assert "answered" in detail
            await events.aclose()
            await until_idle(app.service)


async def test_a_turn_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel(), latency=3) as server:
        async with open_app(by_model(server, tmp_path, turn_seconds=0.3)) as app:
            status, detail = await refused(app, json.dumps(body("Who painted Guernica?")).encode())
            assert status == 504
            assert "longer than 0.3 seconds" in detail
            await until_idle(app.service)


async def test_a_run_that_fails_midway_reports_it(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel()) as server:
        server.fail_when("one_step/answer", server_error())
        async with open_app(by_model(server, tmp_path)) as app:
            events = await run(app, body(QUESTION))
            assert of(events, ag.CustomEvent)
            assert isinstance(events[-1], ag.RunErrorEvent)
            assert events[-1].code == "ModelOutageError"
            assert "\n" not in events[-1].message
            server.forget_faults()
            assert "Guadalajara" in text_of(await run(app, body(QUESTION))), "the thread can be asked again"


async def test_a_lone_surrogate_from_a_model_does_not_end_the_stream(tmp_path: Path) -> None:
    told = json.dumps({"answer": "Malaga \ud83d", "reason": "half \udc00 a pair"})
    with OpenAIServer(ScriptedChatModel(replies=lambda role, messages: told)) as server:
        async with open_app(by_model(server, tmp_path)) as app:
            props = {"hopgraph": {"method": "direct", "parse_retries": 0}}
            events = await run(app, body("Who painted Guernica?", props=props))
            assert isinstance(events[-1], ag.RunFinishedEvent)


async def locked(database: sqlite3.Connection) -> None:
    """Lock a database for writing, once the app, which runs in this loop, is not writing."""
    database.execute("PRAGMA busy_timeout = 0")
    while True:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            await asyncio.sleep(0.01)
        else:
            return


@pytest.mark.slow
async def test_a_locked_database_is_reported_in_one_line(tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel(), latency=0.1) as server:
        async with open_app(by_model(server, tmp_path)) as app:
            await app.service.threads.rows("PRAGMA busy_timeout = 10")
            other = sqlite3.connect(tmp_path / "threads.sqlite", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            status, detail = await refused(app, json.dumps(body(QUESTION)).encode())
            assert status == 503
            assert "database is locked" in detail
            other.execute("ROLLBACK")
            events: list[Any] = []
            async for event in stream(app, body(QUESTION)):
                if not events:
                    await locked(other)
                events.append(event)
            other.close()
            assert isinstance(events[-1], ag.RunErrorEvent)
            assert events[-1].code == "StorageError"
            assert "database is locked; another process is using the file" in events[-1].message
            assert "Guadalajara" in text_of(await run(app, body(QUESTION))), "the thread can be asked again"


async def test_of_an_unexpected_error_only_the_class_is_reported(
    app: WebApp, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await run(app, body("Who painted Guernica?"))
    await app.service.threads.rows("UPDATE checkpoints SET checkpoint = ?", (b"secret",))
    status, detail = await refused(app, json.dumps(body("And where was he born?")).encode())
    assert status == 500
    assert detail.startswith("internal error (")
    assert "secret" not in detail
    assert "a turn failed" in caplog.text


def fail_on_the_way(_: chat.ChatState) -> None:
    get_stream_writer()(StepEvent(event="routed", node="fails", step=1, path="", number=0, data={}))
    raise ZeroDivisionError("secret")


async def test_an_unexpected_error_ends_a_running_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph: Any = StateGraph(chat.ChatState, chat.ChatContext)
    graph.add_node("fails", fail_on_the_way)
    graph.add_edge(START, "fails")
    async with open_service(ServingOptions(threads=tmp_path / "t.sqlite")) as service:
        app = FastAPI()
        app.include_router(ag_ui_router)
        app.state.service = replace(service, chat=graph.compile(checkpointer=service.threads.saver))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
            reply = await client.post("/ag-ui", json=body(QUESTION))
        assert service.admission.active == 0
    events = [EVENT.validate_json(line.removeprefix("data: ")) for line in reply.text.splitlines() if line]
    assert isinstance(events[0], ag.RunStartedEvent)
    assert isinstance(events[-1], ag.RunErrorEvent)
    assert events[-1].code == "ZeroDivisionError"
    assert "(ZeroDivisionError)" in events[-1].message
    assert "secret" not in reply.text
    assert "ZeroDivisionError: secret" in caplog.text


async def test_a_sentence_answer_is_streamed_as_one_message(tmp_path: Path) -> None:
    """A system message sets its style."""
    with OpenAIServer(RuleBasedModel()) as server:
        settings = {"model": f"openai:any?base_url={server.base_url}"}
        async with open_app(without_page(tmp_path, settings=settings)) as app:
            wanted = body(QUESTION, props={"hopgraph": {"method": "one_step", "answer_type": "sentence"}})
            wanted["messages"].insert(0, {"id": "s", "role": "system", "content": "Answer in Latin."})
            events = [event async for event in stream(app, wanted)]
    said = [each for each in events if each.type.startswith("TEXT_MESSAGE")]
    assert [each.type for each in said[:2]] == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    assert len({each.message_id for each in said}) == 1
    assert len(said) > 4
    text = "".join(each.delta for each in said if each.type == "TEXT_MESSAGE_CONTENT")
    found = said[-1].metadata["hopgraph"]
    assert text.startswith(f"{found['answer']}\n\n[1] {found['citations'][0]['title']}: “")
    assert found["answer"].endswith("[1][2].")
    styled = [each.role for each in server.requests if "Latin" in str(each.body)]
    assert styled == ["one_step/write_sentence"]
