"""Human in the loop on the real server, through langgraph-sdk: interrupts read from the thread, resumed by id."""

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk.client import SyncLangGraphClient

from blendfilter_script import QUESTION as BLEND_QUESTION
from blendfilter_script import replies
from hopgraph.graphs import METHODS
from servers.openai_server import OpenAIServer
from walks import Script

QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
COMPARISON = "Who was born earlier, the director of Seven Samurai or the director of The Magnificent Seven?"


@pytest.fixture
def scripted() -> Iterator[tuple[Script, OpenAIServer]]:
    script = Script(replies())
    with OpenAIServer(script.model()) as served:
        yield script, served


def go(client: SyncLangGraphClient, thread: str, name: str, context: dict[str, Any], **given: Any) -> list[Any]:
    """Run to the next pause or to the end; gives what is asked."""
    client.runs.wait(thread, name, context=context, raise_error=True, **given)
    state: Any = client.threads.get_state(thread)
    return list(state["interrupts"])


def to_the_end(client: SyncLangGraphClient, name: str, question: str, context: dict[str, Any]) -> tuple[Any, list[int]]:
    thread = client.threads.create()["thread_id"]
    pauses, at_once = go(client, thread, name, context, input={"question": question}), list[int]()
    while pauses:
        at_once.append(len(pauses))
        resume = {each["id"]: {"action": "approve"} for each in pauses}
        pauses = go(client, thread, name, context, command={"resume": resume})
    state: Any = client.threads.get_state(thread)
    return state["values"], at_once


@pytest.mark.parametrize("setting", ["review_queries", "review_evidence"])
@pytest.mark.parametrize(
    ("name", "question"), [("migres", QUESTION), ("ra_isf", COMPARISON), ("blendfilter", QUESTION)]
)
def test_a_reviewed_run_ends_as_one_without_review(
    client: SyncLangGraphClient, name: str, question: str, setting: str
) -> None:
    values, at_once = to_the_end(client, name, question, {setting: True})
    expected = METHODS[name].graph.invoke({"question": question})
    assert at_once
    assert {key: values[key] for key in expected} == expected
    assert name != "ra_isf" or max(at_once) >= 3


def test_several_pauses_are_resumed_one_by_one_by_their_ids(
    client: SyncLangGraphClient, scripted: tuple[Script, OpenAIServer]
) -> None:
    script, served = scripted
    context = {"review_queries": True, "model": f"openai:any?base_url={served.base_url}"}
    thread = client.threads.create()["thread_id"]
    [first] = go(client, thread, "blendfilter", context, input={"question": BLEND_QUESTION})
    pauses = go(client, thread, "blendfilter", context, command={"resume": {first["id"]: True}})
    assert len(pauses) == 2
    assert all(each["value"]["kind"] == "queries" and each["value"]["hop"] == 2 for each in pauses)
    before = len(script.steps)
    [left] = go(client, thread, "blendfilter", context, command={"resume": {pauses[1]["id"]: ["Guernica"]}})
    assert left["id"] == pauses[0]["id"]
    assert go(client, thread, "blendfilter", context, command={"resume": {left["id"]: "approve"}}) == []
    state: Any = client.threads.get_state(thread)
    assert state["values"]["usage"]["llm_calls"] == len(script.steps) > before


def test_what_cannot_be_used_is_asked_again_and_a_resume_without_the_settings_is_refused(
    client: SyncLangGraphClient,
) -> None:
    context, thread = {"review_queries": True}, client.threads.create()["thread_id"]
    go(client, thread, "migres", context, input={"question": QUESTION})
    [again] = go(client, thread, "migres", context, command={"resume": {"action": "maybe"}})
    assert "resume with" in again["value"]["problem"]
    answer: Any = client.runs.wait(thread, "migres", command={"resume": True}, raise_error=False)
    assert "began with review_queries = True" in str(answer)
