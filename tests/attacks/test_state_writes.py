"""What callers of the LangGraph server write to a thread's state: nothing that a budget counts, nor of other types."""

import time
from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints

import httpx
import pytest

from hopgraph.state import empty_call
from hopgraph.state.migres import MigresState
from hopgraph.state.schemas import RUN_KEYS

pytestmark = pytest.mark.slow

QUESTION = {"question": "Who painted Guernica?"}
LIMITED = {"max_llm_calls": 3}
RUN = {"assistant_id": "migres", "context": LIMITED}
GIFT: dict[str, Any] = {**empty_call("model", "migres/decide"), "attempts": -100, "prompt_tokens": -100_000}
PAUSE = {**empty_call("pause", "person"), "paused": [0, 1e12]}
FORGED: dict[str, Any] = {
    "calls": {"calls": {"x": GIFT}},
    "pause": {"calls": {"x": PAUSE}},
    "no calls": {"calls": {"__overwrite__": {}}},
    "started_at": {"started_at": time.time() + 1e6},
    "settings": {"settings": {"max_iterations": 100}},
}

Way = Callable[[httpx.Client, dict[str, Any]], httpx.Response]
"""Writes values to a thread in one of the ways there are."""


@cache
def begun(client: httpx.Client) -> str:
    """Begin a run on a new thread, one for each test, and stop it after its first model call."""
    thread = client.post("/threads", json={}).json()["thread_id"]
    body = {**RUN, "input": QUESTION, "interrupt_before": ["decide"]}
    assert client.post(f"/threads/{thread}/runs/wait", json=body).is_success
    return thread


def commanded(client: httpx.Client, command: dict[str, Any], path: str = "wait") -> httpx.Response:
    return client.post(f"/threads/{begun(client)}/runs/{path}", json={**RUN, "command": command})


def by_an_update(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    return client.post(f"/threads/{begun(client)}/state", json={"values": values})


def by_a_copied_checkpoint(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    body = {"values": [[values, "nli_verify"]], "as_node": "__copy__"}
    return client.post(f"/threads/{begun(client)}/state", json=body)


def with_a_new_thread(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    steps = [{"updates": [{"values": values, "as_node": "prepare"}]}]
    return client.post("/threads", json={"metadata": {"graph_id": "migres"}, "supersteps": steps})


def commanding_a_new_thread(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    steps = [{"updates": [{"command": {"update": values, "goto": "decide"}, "as_node": "prepare"}]}]
    return client.post("/threads", json={"metadata": {"graph_id": "migres"}, "supersteps": steps})


def by_a_command(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    return commanded(client, {"update": values, "goto": "decide"})


def by_pairs(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    return commanded(client, {"update": [[key, value] for key, value in values.items()]})


def by_a_send(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    return commanded(client, {"goto": [{"node": "decide", "input": values}]})


def in_a_stream(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    return commanded(client, {"update": values}, "stream")


def in_the_background(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    return client.post(f"/threads/{begun(client)}/runs", json={**RUN, "command": {"update": values}})


def in_a_batch(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    return client.post("/runs/batch", json=[{**RUN, "command": {"update": values}}])


def as_input(client: httpx.Client, values: dict[str, Any]) -> httpx.Response:
    return client.post("/runs/wait", json={**RUN, "input": {**QUESTION, **values}})


WAYS: list[Way] = [
    by_an_update,
    by_a_copied_checkpoint,
    with_a_new_thread,
    commanding_a_new_thread,
    by_a_command,
    by_pairs,
    by_a_send,
    in_a_stream,
    in_the_background,
    in_a_batch,
    as_input,
]


def refusal(reply: httpx.Response) -> str:
    assert reply.status_code in (400, 422), reply.text
    said = reply.json()["detail"]
    assert "\n" not in said
    return said


@pytest.mark.parametrize("way", WAYS)
def test_no_caller_writes_what_a_budget_counts(ann: httpx.Client, way: Way) -> None:
    for values in FORGED.values():
        [key] = values
        assert refusal(way(ann, values)) == f"{key}: only the run itself writes this; leave it out"


def test_an_assistant_of_ones_own_is_no_way_around_it(ann: httpx.Client) -> None:
    made = ann.post("/assistants", json={"graph_id": "migres", "context": LIMITED}).json()["assistant_id"]
    for values in FORGED.values():
        body = {"assistant_id": made, "command": {"update": values}}
        said = ann.post(f"/threads/{begun(ann)}/runs/wait", json=body).json()["__error__"]["message"]
        assert said.endswith("only the run itself writes this; leave it out")


def test_what_a_thread_holds_may_be_sent_along_unchanged(ann: httpx.Client) -> None:
    """As front ends do that send a whole state with one key edited."""
    thread = begun(ann)
    values = ann.get(f"/threads/{thread}/state").json()["values"]
    edited = {**values, "question": "Who wrote Frankenstein?"}
    assert edited.keys() >= RUN_KEYS
    assert ann.post(f"/threads/{thread}/state", json={"values": edited}).is_success
    after = ann.get(f"/threads/{thread}/state").json()["values"]
    assert after == edited


@pytest.mark.parametrize("way", [by_an_update, with_a_new_thread, by_a_command, by_a_send, as_input])
def test_what_is_written_has_the_types_of_the_state(ann: httpx.Client, way: Way) -> None:
    hints = get_type_hints(MigresState)
    for key in sorted(hints.keys() - RUN_KEYS):
        wrong: Any = "text" if hints[key] is not str else 3
        assert refusal(way(ann, {key: wrong})).startswith(f"{key}: ")


@pytest.mark.parametrize("messages", [3, [3], [{"type": "human"}], [{"role": "nobody", "content": "Hello"}]])
def test_messages_are_messages(ann: httpx.Client, messages: Any) -> None:
    body = {"assistant_id": "chat", "input": {"messages": messages}}
    assert refusal(ann.post("/runs/wait", json=body)).startswith("messages: ")
    steps = [{"updates": [{"values": {"messages": messages}, "as_node": "prepare"}]}]
    made = {"metadata": {"graph_id": "chat"}, "supersteps": steps}
    assert refusal(ann.post("/threads", json=made)).startswith("messages: ")


@pytest.mark.parametrize("given", [[], 3, "text"])
def test_an_input_is_an_object(ann: httpx.Client, given: Any) -> None:
    assert "must be an object" in refusal(ann.post("/runs/wait", json={**RUN, "input": given}))
    assert "must be an object" in refusal(commanded(ann, {"goto": [{"node": "decide", "input": given}]}))


def test_a_node_that_lacks_a_key_says_which(ann: httpx.Client) -> None:
    """As one that is sent an input of its own does."""
    sent = {"goto": [{"node": "decide", "input": {"question": "Who?"}}]}
    said = commanded(ann, sent).json()["__error__"]["message"]
    assert "node decide: the state has no '" in said


@pytest.mark.parametrize("seconds", [10**12, -(10**12), 10**30, 24 * 3600 + 1])
def test_no_run_waits_for_longer_than_a_day(ann: httpx.Client, seconds: int) -> None:
    body = {**RUN, "input": QUESTION, "after_seconds": seconds}
    for path in ("/runs", "/runs/wait", "/runs/stream"):
        assert refusal(ann.post(path, json=body)).startswith("after_seconds: must be from 0 to 86,400")
