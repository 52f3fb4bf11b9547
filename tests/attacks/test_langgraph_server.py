"""What callers of the LangGraph server try, through every way that settings, threads and assistants come in."""

import itertools
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client

from support.servers.langgraph_server import langgraph_server
from support.servers.trap import ANN, BEN, SECRETS, Trap

pytestmark = pytest.mark.slow

QUESTION = {"question": "Who painted Guernica?"}
SAID = {"messages": [{"type": "human", "content": "Who painted Guernica?"}]}

Way = Callable[[httpx.Client, dict[str, Any]], str]
"""Sends settings to the server in one of the ways there are; returns everything that it answered."""


def in_context(client: httpx.Client, settings: dict[str, Any]) -> str:
    return client.post("/runs/wait", json={"assistant_id": "migres", "input": QUESTION, "context": settings}).text


def in_configurable(client: httpx.Client, settings: dict[str, Any]) -> str:
    body = {"assistant_id": "migres", "input": QUESTION, "config": {"configurable": settings}}
    return client.post("/runs/wait", json=body).text


def in_a_batch(client: httpx.Client, settings: dict[str, Any]) -> str:
    return client.post("/runs/batch", json=[{"assistant_id": "migres", "input": QUESTION, "context": settings}]).text


def in_the_chat(client: httpx.Client, settings: dict[str, Any]) -> str:
    thread = client.post("/threads", json={}).json()["thread_id"]
    body = {"assistant_id": "chat", "input": SAID, "context": settings, "stream_mode": "values"}
    return client.post(f"/threads/{thread}/runs/stream", json=body).text


def nested_for_a_host(client: httpx.Client, settings: dict[str, Any]) -> str:
    return in_context(client, {"hopgraph": settings})


def of_one_method(client: httpx.Client, settings: dict[str, Any]) -> str:
    return in_the_chat(client, {"use_method": "migres", "methods": {"migres": settings}})


def in_an_assistant(client: httpx.Client, settings: dict[str, Any]) -> str:
    made = client.post("/assistants", json={"graph_id": "migres", "context": settings})
    return made.text + ran_with(client, made)


def in_an_assistants_config(client: httpx.Client, settings: dict[str, Any]) -> str:
    made = client.post("/assistants", json={"graph_id": "migres", "config": {"configurable": settings}})
    return made.text + ran_with(client, made)


def in_a_changed_assistant(client: httpx.Client, settings: dict[str, Any]) -> str:
    made = client.post("/assistants", json={"graph_id": "migres"})
    changed = client.patch(f"/assistants/{made.json()['assistant_id']}", json={"context": settings})
    return changed.text + ran_with(client, made)


def ran_with(client: httpx.Client, made: httpx.Response) -> str:
    if not made.is_success:
        return ""
    return client.post("/runs/wait", json={"assistant_id": made.json()["assistant_id"], "input": QUESTION}).text


def in_a_command(client: httpx.Client, settings: dict[str, Any]) -> str:
    thread = client.post("/threads", json={}).json()["thread_id"]
    parameters = {"assistant_id": "migres", "input": QUESTION, "config": {"configurable": settings}}
    body = {"id": 1, "method": "run.start", "params": parameters}
    said = client.post(f"/threads/{thread}/commands", json=body).text
    return said + client.get(f"/threads/{thread}/runs").text


def through_mcp(client: httpx.Client, settings: dict[str, Any]) -> str:
    parameters = {"name": "MIGRES", "arguments": QUESTION, "context": settings}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    return client.post("/mcp", json=body, headers={"Accept": "application/json, text/event-stream"}).text


def by_a_schedule(client: httpx.Client, settings: dict[str, Any]) -> str:
    body = {"assistant_id": "migres", "input": QUESTION, "schedule": "* * * * *", "context": settings}
    return client.post("/runs/crons", json=body).text


WAYS: list[Way] = [
    in_context,
    in_configurable,
    in_a_batch,
    in_the_chat,
    nested_for_a_host,
    of_one_method,
    in_an_assistant,
    in_an_assistants_config,
    in_a_changed_assistant,
    in_a_command,
]
ADDRESSES: dict[str, Callable[[str], dict[str, Any]]] = {
    "model": lambda url: {"model": f"openai:any?base_url={url}/v1"},
    "models": lambda url: {"models": {"migres": f"openai:any?base_url={url}/v1"}},
    "reranker": lambda url: {"reranker": f"{url}/rerank"},
    "entailment": lambda url: {"entailment": f"{url}/predict"},
    "retriever": lambda url: {"retriever": f"web:serper?base_url={url}&retries=0"},
    "second_retriever": lambda url: {"second_retriever": f"web:serper?base_url={url}&retries=0"},
}


PATHS = ["cache_dir", "prompts_dir", "demonstrations", "retriever", "model"]


def by_each_way(settings: Iterable[str]) -> list[Any]:
    """Pair settings with ways: one setting by every way and every setting by one; `make attacks` all with all."""
    every = list(itertools.product(settings, WAYS))
    if "HOPGRAPH_ATTACKS" not in os.environ:
        every = [(name, way) for name, way in every if name == every[0][0] or way is WAYS[0]]
    return [pytest.param(name, way, id=f"{name}-{way.__name__}") for name, way in every]


@pytest.mark.parametrize(("setting", "way"), by_each_way(ADDRESSES))
def test_no_key_is_sent_to_an_address_of_the_callers(ann: httpx.Client, trap: Trap, way: Way, setting: str) -> None:
    answer = way(ann, ADDRESSES[setting](trap.url))
    assert not trap.heard
    named = "methods" if way is of_one_method else setting
    assert f"setting '{named}' can only be set by the operator of this server" in answer
    assert "HOPGRAPH_TRUST_CALLERS" in answer


@pytest.mark.parametrize(("setting", "way"), by_each_way(PATHS))
def test_no_path_of_the_callers_is_read_or_written(ann: httpx.Client, tmp_path: Path, way: Way, setting: str) -> None:
    place = tmp_path / "chosen"
    spec = {"retriever": f"bm25:{place}", "model": f"rehearsal:{place}"}.get(setting, str(place))
    answer = way(ann, {setting: spec})
    assert not place.exists()
    assert "can only be set by the operator of this server" in answer


def test_no_tool_of_mcp_takes_what_a_run_does_not(ann: httpx.Client, trap: Trap) -> None:
    assert "Pablo Picasso" in through_mcp(ann, {"max_iterations": 2})
    for choose in ADDRESSES.values():
        assert "can only be set by the operator of this server" in through_mcp(ann, choose(trap.url))
    assert not trap.heard


def test_nothing_runs_by_a_schedule(ann: httpx.Client) -> None:
    assert "this server does not offer crons" in by_a_schedule(ann, {})


def test_callers_lower_limits_and_choose_how_a_method_works(ann: httpx.Client) -> None:
    given = {"max_llm_calls": 50, "max_iterations": 2, "top_k": 3, "reranker": "lexical"}
    assert json.loads(in_context(ann, given))["answer"] == "Pablo Picasso"


def test_no_question_costs_without_bound(ann: httpx.Client) -> None:
    """Where the operator has set no limits, the server has."""
    for name, most in {"max_llm_calls": 500, "max_tokens": 2_000_000, "deadline_seconds": 540}.items():
        for asked in (most + 1, None):
            answer = in_context(ann, {name: asked})
            assert f"setting '{name}' may be at most" in answer
    wide = {"widths": [1000] * 10, "max_depth": 10}
    body = {"assistant_id": "tree_of_reviews", "input": QUESTION, "context": wide}
    assert "at most 200,000" in ann.post("/runs/wait", json=body).text


def test_the_default_assistants_can_be_used_but_not_changed(ann: httpx.Client, ben: httpx.Client) -> None:
    assistants = ben.post("/assistants/search", json={"graph_id": "migres", "limit": 10}).json()
    [default] = [each["assistant_id"] for each in assistants if each["metadata"].get("created_by") == "system"]
    address = f"/assistants/{default}"
    assert ann.patch(address, json={"context": {"max_llm_calls": 1}, "metadata": {"owner": "ann"}}).status_code == 404
    assert ann.patch(address, json={"name": "poisoned"}).status_code == 404
    assert ann.post(f"{address}/latest", json={"version": 1}).status_code == 404
    assert ann.delete(address).status_code in (403, 404, 409)
    body = {"graph_id": "migres", "assistant_id": default, "context": {"max_llm_calls": 1}, "if_exists": "do_nothing"}
    assert ann.post("/assistants", json=body).status_code == 409
    after = ben.get(address).json()
    assert (after["name"], after["context"], after["version"]) == ("MIGRES", {}, 1)
    assert json.loads(in_context(ben, {}))["answer"] == "Pablo Picasso"


def test_an_assistant_is_its_makers_alone(ann: httpx.Client, ben: httpx.Client) -> None:
    """Also one that says it is the system's, or somebody else's."""
    metadata = {"created_by": "system", "owner": "ben"}
    body = {"graph_id": "migres", "name": "mine", "context": {"max_llm_calls": 1}, "metadata": metadata}
    made = ann.post("/assistants", json=body).json()["assistant_id"]
    ann.patch(f"/assistants/{made}", json={"metadata": metadata})
    seen = {each["assistant_id"] for each in ben.post("/assistants/search", json={"limit": 100}).json()}
    assert made not in seen
    assert ben.get(f"/assistants/{made}").status_code == 404
    assert ben.patch(f"/assistants/{made}", json={"name": "taken"}).status_code == 404
    assert ben.delete(f"/assistants/{made}").status_code == 404
    assert ben.post("/runs/wait", json={"assistant_id": made, "input": QUESTION}).status_code == 404
    assert ann.get(f"/assistants/{made}").json()["name"] == "mine"
    assert ann.delete(f"/assistants/{made}").is_success


def thread_of(client: httpx.Client) -> tuple[str, str]:
    """Ask something on a new thread; returns the thread and its last checkpoint."""
    thread = client.post("/threads", json={"metadata": {"owner": "ben"}}).json()["thread_id"]
    ran = client.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "chat", "input": SAID})
    assert "Pablo Picasso" in ran.text
    return thread, client.get(f"/threads/{thread}/state").json()["checkpoint"]["checkpoint_id"]


def test_threads_are_their_owners_alone(ann: httpx.Client, ben: httpx.Client) -> None:
    thread, checkpoint = thread_of(ann)
    [run] = ann.get(f"/threads/{thread}/runs").json()
    assert thread in {each["thread_id"] for each in ann.post("/threads/search", json={}).json()}
    for search in ({}, {"metadata": {"owner": "ann"}}, {"ids": [thread]}, {"values": {}}):
        assert thread not in ben.post("/threads/search", json={**search, "limit": 1000}).text
    assert ben.post("/threads/count", json={"metadata": {"graph_id": "chat"}}).json() == 0
    at, state = f"/threads/{thread}", {"values": {"answer": "poisoned"}}
    other = ben.post("/threads", json={}).json()["thread_id"]
    checked = {"thread_id": thread, "checkpoint_id": checkpoint, "checkpoint_ns": ""}
    turn = {"assistant_id": "chat", "input": SAID}
    attempts = [
        ben.get(at),
        ben.get(f"{at}/state"),
        ben.get(f"{at}/state/{checkpoint}"),
        ben.get(f"{at}/history"),
        ben.post(f"{at}/history", json={}),
        ben.post(f"{at}/state/checkpoint", json={"checkpoint": checked}),
        ben.post(f"{at}/state", json=state),
        ben.patch(at, json={"metadata": {"owner": "ben"}}),
        ben.post(f"{at}/copy"),
        ben.get(f"{at}/runs"),
        ben.get(f"{at}/runs/{run['run_id']}"),
        ben.get(f"{at}/runs/{run['run_id']}/join"),
        ben.post(f"{at}/runs/{run['run_id']}/cancel"),
        ben.delete(f"{at}/runs/{run['run_id']}"),
        ben.post(f"{at}/runs/wait", json=turn),
        ben.post(f"{at}/runs/wait", json={**turn, "if_not_exists": "create"}),
        ben.post("/threads", json={"thread_id": thread, "if_exists": "do_nothing"}),
        ben.post("/threads/prune", json={"thread_ids": [thread]}),
        ben.get(f"/internal/debug/thread/{thread}"),
        ben.delete(at),
    ]
    started = {"id": 1, "method": "run.start", "params": turn}
    streamed = [
        ben.get(f"{at}/stream"),
        ben.get(f"{at}/runs/{run['run_id']}/stream"),
        ben.post(f"{at}/stream/events", json={"channels": ["values", "messages"]}),
        ben.post(f"{at}/commands", json=started),
    ]
    assert not [each.text for each in streamed if each.text and "404: Thread" not in each.text]
    elsewhere = {"assistant_id": "chat", "input": None, "checkpoint": checked}
    attempts.append(ben.post(f"/threads/{other}/history", json={"checkpoint": checked}))
    assert "messages" not in ben.post(f"/threads/{other}/runs/wait", json=elsewhere).text
    # On a thread of one's own with a checkpoint that names another's.
    ben.post(f"/threads/{other}/state", json={**state, "checkpoint": checked})
    assert "Picasso" not in ben.post(f"/threads/{other}/state/checkpoint", json={"checkpoint": checked}).text
    assert not [each.text for each in attempts if "Picasso" in each.text or "Guernica" in each.text]
    allowed = [(each.request.method, each.url.path) for each in attempts if each.is_success and each.json() != []]
    assert allowed == []
    values = ann.get(f"{at}/state").json()["values"]
    assert [each["type"] for each in values["messages"]] == ["human", "ai"]
    assert ann.get(at).json()["metadata"]["owner"] == "ann"


def test_nothing_is_stored_for_callers(ann: httpx.Client) -> None:
    """No graph uses the store."""
    put = ann.put("/store/items", json={"namespace": ["notes"], "key": "k", "value": {}})
    listed = ann.post("/store/namespaces", json={})
    assert (put.status_code, listed.status_code) == (403, 403)


WITHOUT_A_KEY: list[tuple[str, str, dict[str, str]]] = [
    ("POST", "/threads/search", {}),
    ("POST", "/assistants/search", {}),
    ("POST", "/runs/wait", {}),
    ("POST", "/threads/search", {"Authorization": "Bearer wrong"}),
    ("POST", "/threads/search", {"X-Api-Key": "wrong"}),
    ("POST", "/threads/search", {"X-Auth-Scheme": "langsmith"}),
    ("POST", "/runs/wait", {"X-Auth-Scheme": "langsmith", "X-Api-Key": "any"}),
    ("POST", "/mcp", {"Accept": "application/json, text/event-stream"}),
    ("POST", "/a2a/chat", {}),
    ("POST", "/store/namespaces", {}),
]


@pytest.mark.parametrize(("method", "path", "headers"), WITHOUT_A_KEY)
def test_without_a_key_nothing_is_answered(server_url: str, method: str, path: str, headers: dict[str, str]) -> None:
    body = {"assistant_id": "migres", "input": QUESTION}
    reply = httpx.request(method, f"{server_url}{path}", json=body, headers=headers)
    assert reply.status_code == 401
    assert "HOPGRAPH_API_KEY" not in reply.text
    assert ANN not in reply.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/internal/truncate"),
        ("GET", "/internal/debug/thread/00000000-0000-4000-8000-000000000000"),
        ("GET", "/deploy"),
        ("POST", "/deploy"),
        ("GET", "/deploy/0123456789ab/stream"),
    ],
)
def test_the_routes_that_the_server_does_not_guard_are_closed(ann: httpx.Client, method: str, path: str) -> None:
    """They empty it, show any thread, and upload the project; none asks for a key."""
    reply = ann.request(method, path, json={})
    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "closed")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:2024", "[::ffff:1.2.3.4]"])
def test_another_host_name_is_refused(ann: httpx.Client, host: str) -> None:
    for path in ("/ok", "/info", "/openapi.json", "/assistants/search"):
        reply = (
            ann.post(path, json={}, headers={"Host": host})
            if "search" in path
            else ann.get(path, headers={"Host": host})
        )
        assert reply.status_code == 421, path
    assert ann.get("/ok", headers={"Host": "chat.example"}).is_success


EVIL, STUDIO = "https://evil.example", "https://smith.langchain.com"


@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:3000", f"{STUDIO}.evil.example", "http://[", "x"])
def test_another_sites_page_is_refused(ann: httpx.Client, server_url: str, origin: str) -> None:
    asks = {"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    body = json.dumps({"assistant_id": "migres", "input": QUESTION})
    simple = {"Origin": origin, "Content-Type": "text/plain"}
    replies = [
        httpx.options(f"{server_url}/runs/wait", headers=asks),
        ann.post("/runs/wait", content=body, headers=simple),
        ann.post("/threads", content="{}", headers=simple),
        ann.get("/info", headers={"Origin": origin}),
        ann.post("/internal/truncate", headers=simple),
    ]
    assert [each.status_code for each in replies] == [403] * len(replies)
    assert not [each for each in replies if "access-control-allow-origin" in each.headers]


def test_studios_page_is_let_in(ann: httpx.Client, server_url: str) -> None:
    asks = {"Origin": STUDIO, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}
    allowed = httpx.options(f"{server_url}/threads", headers=asks)
    assert allowed.is_success
    assert allowed.headers["access-control-allow-origin"] == STUDIO
    made = ann.post("/threads", json={}, headers={"Origin": STUDIO, "X-Auth-Scheme": "langsmith"})
    assert made.is_success
    assert made.headers["access-control-allow-origin"] == STUDIO
    assert "content-location" in made.headers["access-control-expose-headers"].lower()


MCP_CALL = {"name": "OneR-Direct", "arguments": QUESTION}


@pytest.mark.parametrize(
    ("params", "status", "said"),
    [
        ({**MCP_CALL, "context": {"model": "openai:x?base_url=http://127.0.0.1:9"}}, 403, "set by the operator"),
        ("none", 400, "not a valid MCP request"),
        ({**MCP_CALL, "arguments": {"question": "\ud800"}}, 400, "not a valid MCP request"),
        ("nested", 400, "not a valid MCP request"),
    ],
    ids=["a setting of the owner's", "no parameters", "half a letter", "nested"],
)
def test_its_mcp_endpoint_refuses_in_the_protocols_form(ann: httpx.Client, params: Any, status: int, said: str) -> None:
    """The package itself would give a bare 500 and break the connection off."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    deep = body.replace('"nested"', "[" * 50_000 + "]" * 50_000)
    reply = ann.post("/mcp", content=deep, headers=headers)
    assert (reply.status_code, reply.json()["jsonrpc"]) == (status, "2.0")
    assert said in reply.json()["error"]["message"]
    good = body.replace(json.dumps(params), json.dumps(MCP_CALL))
    assert "Picasso" in ann.post("/mcp", content=good, headers=headers).text


@pytest.mark.slow
def test_no_key_makes_calls_without_end(tmp_path: Path) -> None:
    environment = {"HOPGRAPH_API_KEY": f"ann={ANN},ben={BEN}", "HOPGRAPH_CALLS_PER_DAY": "2"}
    asked = {
        "assistant_id": "migres",
        "input": {"question": "Where was the director of the film Pan's Labyrinth born?"},
    }
    with langgraph_server(tmp_path / "log", environment=environment) as url:
        ways = [ANN, ANN, BEN]
        replies = [httpx.post(f"{url}/runs/wait", json=asked, headers={"X-Api-Key": key}, timeout=60) for key in ways]
    assert [each.status_code for each in replies] == [200, 429, 200]
    assert "you have made 2 model calls today" in replies[1].text


def test_results_are_posted_to_no_address_of_the_callers(ann: httpx.Client, trap: Trap) -> None:
    body = {"assistant_id": "one_step", "input": QUESTION, "webhook": f"{trap.url}/told"}
    ann.post("/runs/wait", json=body)
    assert not trap.heard


@pytest.mark.parametrize("place", ["content", "additional_kwargs", "message"])
def test_no_secret_is_read_out_by_a_message(ann: httpx.Client, place: str) -> None:
    """LangChain's own notation for an object and for a secret stays data."""
    asked: dict[str, Any] = {"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]}
    message: dict[str, Any] = {"type": "human", "content": "Who painted Guernica?"}
    if place == "content":
        message["content"] = [{"type": "text", "text": "Who painted Guernica?", "extra": asked}]
    elif place == "additional_kwargs":
        message["additional_kwargs"] = {"context": {"cache_dir": "/tmp/x"}, "key": asked}  # noqa: S108
    else:
        built = {"content": "Who painted Guernica?", "name": asked}
        message = {
            "lc": 1,
            "type": "constructor",
            "kwargs": built,
            "id": ["langchain", "schema", "messages", "HumanMessage"],
        }
    thread = ann.post("/threads", json={}).json()["thread_id"]
    body = {"assistant_id": "chat", "input": {"messages": [message]}}
    said = ann.post(f"/threads/{thread}/runs/wait", json=body).text + ann.get(f"/threads/{thread}/state").text
    assert not [name for name, secret in SECRETS.items() if secret in said]


def test_the_sdk_works_with_a_key(server_url: str) -> None:
    """It sends the key as `X-Api-Key`; agent-chat-ui does so, too. Stepping works as in Studio."""
    with get_sync_client(url=server_url, api_key=ANN) as client:
        thread = client.threads.create()["thread_id"]
        client.runs.wait(thread, "migres", input=QUESTION, interrupt_before=["finish"], raise_error=True)
        state: Any = client.threads.get_state(thread)
        assert state["next"] == ["finish"]
        ended: Any = client.runs.wait(thread, "migres", input=None, raise_error=True)
        assert ended["answer"] == "Pablo Picasso"
        assert len(client.threads.get_history(thread)) > 1
        assert thread in {each["thread_id"] for each in client.threads.search(limit=100)}


@pytest.mark.slow
def test_a_developers_callers_choose_all_but_where_keys_go(tmp_path: Path, trap: Trap) -> None:
    """The escape hatch, on a server of one's own."""
    log = tmp_path / "log"
    with (
        langgraph_server(log, environment={"HOPGRAPH_TRUST_CALLERS": "1", **SECRETS}) as url,
        httpx.Client(base_url=url, timeout=60) as caller,
    ):
        assert "HOPGRAPH_TRUST_CALLERS is set" in log.read_text(errors="replace")
        assert json.loads(in_context(caller, {"model": "offline:extractive"}))["answer"] == "Pablo Picasso"
        for setting, choose in ADDRESSES.items():
            answer = in_context(caller, choose(trap.url))
            assert f"setting '{setting}' names an address" in answer
        hidden = {"model": f"openai:any?base%5Furl={trap.url.replace('/', '%2F')}%2Fv1"}
        assert "names an address" in in_context(caller, hidden)
        assert caller.get("/ok", headers={"Host": "evil.example"}).status_code == 421
        assert caller.get("/ok", headers={"Origin": EVIL}).status_code == 403
    assert not trap.heard
