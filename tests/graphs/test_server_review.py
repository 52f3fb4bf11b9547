"""Human in the loop on the real server, through langgraph-sdk: interrupts read from the thread, resumed by id."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from support.honest import model
from support.servers.openai_server import OpenAIServer
from support.servers.remote_graphs import (
    GRAPHS,
    LIMITED,
    QUESTION,
    Check,
    EveryGraph,
    RemoteThread,
    asking,
    served_at,
)

pytestmark = pytest.mark.slow

COMPARISON = "Who was born earlier, the director of Seven Samurai or the director of The Magnificent Seven?"
NEVER_PAUSES = {
    "review_queries": {"direct", "cot", "cot_sc", "genread", "gold_passages", "least_to_most", "agent"},
    "review_evidence": {"direct", "cot", "cot_sc", "genread", "least_to_most", "agent"},
}
"""Methods that do not search, those whose answers come from the model's own knowledge, and one whose tools this model
does not call."""
FANS_OUT = {"ra_isf": COMPARISON}
"""Questions for which a method has several branches at once."""
MOST_PAUSES = 60


@dataclass(frozen=True)
class Ended:
    """A run that went on until its end."""

    values: dict[str, Any]
    kinds: set[str]
    """What it paused for: queries, evidence."""
    at_once: int
    """The greatest number of pauses at one time."""


async def to_the_end(thread: RemoteThread, question: str) -> Ended:
    """Run, and approve whatever is shown, all that waits at one time by its ids."""
    await thread.go(asking(thread.name, question))
    kinds, at_once, answered = set[str](), 0, 0
    pauses = await thread.pauses()
    while pauses:
        at_once, answered = max(at_once, len(pauses)), answered + len(pauses)
        assert answered < MOST_PAUSES
        for value in (each["value"] for each in pauses):
            kinds.add(value["kind"])
            assert value[value["kind"]]
            assert value["question"]
            assert value["instructions"]
        pauses = await thread.resume({each["id"]: {"action": "approve"} for each in pauses})
    return Ended(await thread.values(), kinds, at_once)


@dataclass(frozen=True)
class Reviewing:
    """Runs a question with and without review on a model over HTTP, whose requests are counted by their run."""

    served: OpenAIServer

    async def compared(self, remote: LangGraphClient, name: str, question: str, **settings: Any) -> dict[str, Ended]:
        """Run side by side without review, with each kind of it, and give what each came to."""
        ways = {"plain": {}, "review_queries": {"review_queries": True}, "review_evidence": {"review_evidence": True}}
        runs = {way: f"{name}.{len(settings)}.{way}" for way in ways}
        threads = [
            await RemoteThread.begin(remote, name, model=served_at(self.served, runs[way]), **review, **settings)
            for way, review in ways.items()
        ]
        ended = dict(zip(ways, await asyncio.gather(*(to_the_end(each, question) for each in threads)), strict=True))
        plain = self.asked(runs["plain"])
        assert plain.total()
        for way, run in runs.items():
            for key in ("answer", "citations", "passages", "stop_reason", "usage"):
                assert ended[way].values[key] == ended["plain"].values[key], (way, key)
            assert self.asked(run) == plain, way
            assert plain.total() == ended[way].values["usage"]["llm_calls"], way
        return ended

    def asked(self, run: str) -> Counter[tuple[str, str]]:
        """Count what was asked in a run: role and prompt."""
        bodies = [(each.role, each.body) for each in self.served.requests if isinstance(each.body, dict)]
        mine: list[tuple[str, Any]] = [(role, body) for role, body in bodies if body.get("model") == run]
        return Counter((role, str(body.get("messages", body.get("prompt")))) for role, body in mine)


@pytest.fixture(scope="module")
def reviewing() -> Iterator[Reviewing]:
    with OpenAIServer(model(), completions="vllm") as served:
        yield Reviewing(served)


@pytest.fixture(scope="module")
def reviewed(reviewing: Reviewing) -> Check:
    """A reviewed run ends as one without review, and no model call is paid twice; without a search, no pause."""

    async def check(remote: LangGraphClient, name: str) -> None:
        at_once = {"part_order": "side_by_side", "links": False} if name in FANS_OUT else {}
        ended = await reviewing.compared(remote, name, FANS_OUT.get(name, QUESTION), **at_once)
        for setting, kind in {"review_queries": "queries", "review_evidence": "evidence"}.items():
            assert ended[setting].kinds == (set[str]() if name in NEVER_PAUSES[setting] else {kind})
            assert ended[setting].at_once >= (2 if name in FANS_OUT and kind == "queries" else 0)
        assert not ended["plain"].kinds

    return check


@pytest.mark.long
@pytest.mark.timeout(900)  # the first one runs them all
@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_pauses_for_a_person_and_goes_on(every_graph: EveryGraph, reviewed: Check, name: str) -> None:
    every_graph.holds(reviewed, name)


def test_branches_of_a_method_inside_the_chat_pause(server_url: str, reviewing: Reviewing) -> None:
    async def check() -> dict[str, Ended]:
        async with get_client(url=server_url) as remote:
            return await reviewing.compared(remote, "chat", COMPARISON, use_method="ra_isf")

    ended = asyncio.run(check())
    assert min(ended["review_queries"].at_once, ended["review_evidence"].at_once) >= 1  # a chat's parts wait in order
    assert all([each["type"] for each in run.values["messages"]] == ["human", "ai"] for run in ended.values())


def go(client: SyncLangGraphClient, thread: str, name: str, context: dict[str, Any], **given: Any) -> list[Any]:
    """Run to the next pause or to the end; gives what is asked."""
    client.runs.wait(thread, name, context=context, raise_error=True, **given)
    state: Any = client.threads.get_state(thread)
    return list(state["interrupts"])


def test_several_pauses_are_resumed_one_by_one_by_their_ids(client: SyncLangGraphClient) -> None:
    with OpenAIServer(model()) as served:
        context = {**LIMITED, "review_queries": True, "part_order": "side_by_side", "links": False}
        context["model"] = served_at(served)
        thread = client.threads.create()["thread_id"]
        [first] = go(client, thread, "ra_isf", context, input={"question": COMPARISON})
        pauses = go(client, thread, "ra_isf", context, command={"resume": {first["id"]: True}})
        assert len(pauses) >= 2
        assert all(each["value"]["kind"] == "queries" and each["value"]["hop"] == 2 for each in pauses)
        before = len(served.requests)
        left = go(client, thread, "ra_isf", context, command={"resume": {pauses[1]["id"]: ["Seven Samurai"]}})
        assert {each["id"] for each in left} == {each["id"] for each in pauses} - {pauses[1]["id"]}
        while left:
            left = go(
                client,
                thread,
                "ra_isf",
                context,
                command={"resume": dict.fromkeys([each["id"] for each in left], True)},
            )
        state: Any = client.threads.get_state(thread)
        assert state["values"]["usage"]["llm_calls"] == len(served.requests) > before


def test_what_cannot_be_used_is_asked_again_and_a_resume_without_the_settings_is_refused(
    client: SyncLangGraphClient,
) -> None:
    context, thread = {"review_queries": True}, client.threads.create()["thread_id"]
    go(client, thread, "migres", context, input={"question": QUESTION})
    [again] = go(client, thread, "migres", context, command={"resume": {"action": "maybe"}})
    assert "expected " in again["value"]["problem"]
    answer: Any = client.runs.wait(thread, "migres", command={"resume": True}, raise_error=False)
    assert "started with review_queries = True" in str(answer)
