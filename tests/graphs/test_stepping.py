"""Stepping through every graph on the real server: breakpoints, edited state, forks, cancelling."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.openai_server import OpenAIServer
from support.servers.remote_graphs import (
    GRAPHS,
    QUESTION,
    Check,
    EveryGraph,
    RemoteThread,
    asking,
    served_at,
)

pytestmark = pytest.mark.slow

OTHER = "In what year did the sculptor of the Statue of Liberty die?"
MOST_STOPS = 40


async def nodes_of(remote: LangGraphClient, name: str) -> set[str]:
    assistant = (await remote.assistants.search(graph_id=name))[0]["assistant_id"]
    drawn: Any = await remote.assistants.get_graph(assistant)
    return {str(each["id"]) for each in drawn["nodes"] if not str(each["id"]).startswith("__")}


async def stopped_before(thread: RemoteThread, nodes: set[str]) -> list[str]:
    """Stop before each node once; gives those that it stopped before."""
    pending, stops = set(nodes), list[str]()
    await thread.go(asking(thread.name), interrupt_before=sorted(pending))
    while coming := (await thread.state())["next"]:
        assert pending & set(coming), coming
        stops += [node for node in dict.fromkeys(coming) if node in pending]
        pending -= set(coming)
        assert len(stops) < MOST_STOPS
        await thread.go(interrupt_before=sorted(pending))
    return stops


async def stopped_after(thread: RemoteThread, nodes: set[str]) -> list[str]:
    """Stop after each node once; gives those that it stopped after."""
    pending, stops = set(nodes), list[str]()
    given: Any = asking(thread.name)
    while True:
        await thread.go(given, interrupt_after=sorted(pending))
        given = None
        now, before = await thread.remote.threads.get_history(thread.id, limit=2)
        assert pending & set(before["next"]) or not now["next"], before["next"]
        stops += [node for node in dict.fromkeys(before["next"]) if node in pending]
        pending -= set(before["next"])
        assert len(stops) < MOST_STOPS
        if not now["next"]:
            return stops


async def stepped_through(remote: LangGraphClient, name: str) -> None:
    """Each node is a breakpoint, before and after; every way leads to the same answer."""
    nodes = await nodes_of(remote, name)
    plain, before, after = [await RemoteThread.begin(remote, name) for _ in range(3)]
    _, stops, ends = await asyncio.gather(
        plain.go(asking(name)), stopped_before(before, nodes), stopped_after(after, nodes)
    )
    assert stops[0] == ends[0] == "prepare"
    assert stops[-1] == ends[-1] == ("reply" if name == "chat" else "finish")
    assert sorted(stops) == sorted(ends)
    found = [await each.values() for each in (plain, before, after)]
    assert found[0]["stop_reason"]
    for key in ("answer", "citations", "usage"):
        assert found[0][key] == found[1][key] == found[2][key]


async def edited(remote: LangGraphClient, name: str) -> None:
    """The question that somebody puts in its place at a breakpoint is the one that is answered."""
    changed, plain = await RemoteThread.begin(remote, name), await RemoteThread.begin(remote, name)
    await changed.go(asking(name), interrupt_before=["look_up" if name == "chat" else "prepare"])
    await remote.threads.update_state(changed.id, {"question": OTHER})
    await asyncio.gather(changed.go(), plain.go(asking(name, OTHER)))
    found, expected = await changed.values(), await plain.values()
    assert found["question"] == OTHER
    assert (found["answer"], found["stop_reason"]) == (expected["answer"], expected["stop_reason"])


async def forked(remote: LangGraphClient, name: str) -> None:
    """From an early checkpoint the run goes on to the same result, on a branch of its own."""
    thread = await RemoteThread.begin(remote, name)
    await thread.go(asking(name))
    first = await thread.values()
    history = await remote.threads.get_history(thread.id, limit=100)
    early = next(each for each in reversed(history) if each["next"] and each["next"][0] not in ("__start__", "prepare"))
    fork: Any = await remote.threads.update_state(thread.id, {}, checkpoint=early["checkpoint"])
    await thread.go(checkpoint=fork["checkpoint"])
    again = await thread.values()
    assert (again["answer"], again["citations"]) == (first["answer"], first["citations"])
    assert name != "chat" or [each["type"] for each in again["messages"]] == ["human", "ai"]
    assert len(await remote.threads.get_history(thread.id, limit=200)) > len(history)


async def readable(remote: LangGraphClient, name: str) -> None:
    """Each text stands in the state once, under short ids, without blobs."""
    thread = await RemoteThread.begin(remote, name)
    await thread.go(asking(name))
    values = await thread.values()
    texts = [passage["text"] for passage in values["passages"]]
    whole = json.dumps(values, ensure_ascii=False)
    assert all(whole.count(json.dumps(text, ensure_ascii=False)[1:-1]) == 1 for text in texts if len(text) > 200)
    assert all(len(passage["id"]) <= 40 for passage in values["passages"])
    assert len(whole) < 300_000
    assert "base64" not in whole


@pytest.mark.timeout(900)  # the first one runs them all
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(
    "check",
    [*(pytest.param(each, marks=pytest.mark.long) for each in (stepped_through, forked)), edited, readable],
    ids=lambda each: each.__name__,
)
def test_every_graph(every_graph: EveryGraph, check: Check, name: str) -> None:
    every_graph.holds(check, name)


PAPERS: dict[str, list[dict[str, Any]]] = {
    "migres": [{}, {"compression": "summary"}, {"max_iterations": 1}, {"threshold": 1e9}],
    "blendfilter": [{}, {"filtering": "union"}],
    "genground": [{}, {"max_hops": 1}, {"deduction": False}, {"grounding": False}],
    "ra_isf": [{}, {"max_depth": 0}],
    "tree_of_reviews": [{}, {"max_llm_calls": 3}],
}
"""The papers' methods, with settings under which a run comes to each of its nodes."""


async def replayed(remote: LangGraphClient, name: str) -> None:
    """Each node is a stop, and from each checkpoint of each run it goes on to the same answer, on a branch."""

    async def stops_of(settings: dict[str, Any]) -> set[str]:
        thread = await RemoteThread.begin(remote, name, links=False, **settings)
        await thread.go(asking(name), interrupt_before="*")
        stops: list[str] = []
        while coming := (await thread.state())["next"]:
            stops += coming
            assert len(stops) < 4 * MOST_STOPS
            await thread.go(interrupt_before="*")
        first = await thread.values()
        history = await remote.threads.get_history(thread.id, limit=100)
        steps = [each for each in history if each["next"] and "__start__" not in each["next"]]
        assert {node for each in steps for node in each["next"]} == set(stops)
        for each in steps:
            await thread.go(checkpoint=each["checkpoint"])
            again = await thread.values()
            assert (again["answer"], again["citations"]) == (first["answer"], first["citations"]), each["next"]
        return set(stops)

    reached = set[str]().union(*await asyncio.gather(*map(stops_of, PAPERS[name])))
    assert reached == {node for node in await nodes_of(remote, name) if not node.startswith("review_")}


SEARCHES = {
    "migres": "retrieve",
    "blendfilter": "retrieve_blended",
    "genground": "retrieve",
    "tree_of_reviews": "retrieve",
}
"""Whose last search is forked. RA-ISF searches inside the step that solves a question: its first frontier is forked."""


async def forked_inside(remote: LangGraphClient, name: str) -> None:
    """What is put in by hand at a step inside the method is what the run goes on with from there."""
    node = SEARCHES.get(name, "frontier")
    thread = await RemoteThread.begin(remote, name)
    await thread.go(asking(name))
    history = await remote.threads.get_history(thread.id, limit=100)
    steps = [each for each in history if node in each["next"]]
    step = steps[0] if name in SEARCHES else steps[-1]
    values: Any = step["values"]
    if name in SEARCHES:
        given: Any = {"queries": [{"text": f"{each['text']} Toledo", "why": ""} for each in values["queries"]]}
    else:
        given = {"tree": {"0": {**values["tree"]["0"], "status": "answered", "answer": "Toledo", "how": "known"}}}
    fork: Any = await remote.threads.update_state(thread.id, given, checkpoint=step["checkpoint"])
    await thread.go(checkpoint=fork["checkpoint"])
    found = await thread.values()
    if name in SEARCHES:
        assert {each["text"] for each in given["queries"]} <= set(found["asked"])
    else:
        assert found["answer"] == "Toledo"
    assert found["stop_reason"]


@pytest.mark.timeout(900)  # the first one runs them all
@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("check", [replayed, forked_inside], ids=lambda each: each.__name__)
def test_every_step_of_the_papers_methods_on_the_server(every_graph: EveryGraph, check: Check, name: str) -> None:
    every_graph.holds(check, name, list(PAPERS))


@pytest.fixture(scope="module")
def cancelled() -> Iterator[Check]:
    """Cancel while a model that never answers is asked; nothing more is sent, and the thread can be used again."""
    with OpenAIServer(RuleBasedModel(), latency=3600) as served:

        def sent(name: str) -> int:
            return sum(isinstance(each.body, dict) and each.body["model"] == name for each in served.requests)

        async def check(remote: LangGraphClient, name: str) -> None:
            thread = await RemoteThread.begin(remote, name, model=served_at(served, name))
            run = await remote.runs.create(thread.id, name, input=asking(name), context=thread.context)
            for _ in range(2000):
                if sent(name):
                    break
                await asyncio.sleep(0.1)
            assert sent(name)
            await remote.runs.cancel(thread.id, run["run_id"], wait=True)
            assert (await remote.runs.get(thread.id, run["run_id"]))["status"] == "interrupted"
            before = sent(name)
            again = RemoteThread(remote, thread.id, name)
            await again.go(asking(name))
            assert (await again.values())["stop_reason"]
            assert sent(name) == before

        yield check


@pytest.mark.timeout(900)  # the first one runs them all
@pytest.mark.parametrize("name", GRAPHS)
def test_a_running_question_is_cancelled(every_graph: EveryGraph, cancelled: Check, name: str) -> None:
    every_graph.holds(cancelled, name)


def test_an_edited_answer_is_cited_from_the_edited_evidence(client: SyncLangGraphClient) -> None:
    """What is merged in the state is replaced by LangGraph's form for it, `__overwrite__`."""
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "migres", input={"question": QUESTION}, interrupt_before=["finish"], raise_error=True)
    before: Any = client.threads.get_state(thread)
    evidence = before["values"]["evidence"]
    kept = {**evidence[0], "statement": "Guillermo del Toro directed Pan's Labyrinth."}
    client.threads.update_state(thread, {"answer": "Rome", "evidence": {"__overwrite__": [kept]}, "used": [kept["id"]]})
    client.runs.wait(thread, "migres", input=None, raise_error=True)
    after: Any = client.threads.get_state(thread)
    assert after["values"]["answer"] == "Rome"
    assert [each["passage_id"] for each in after["values"]["citations"]] == kept["passage_ids"]
