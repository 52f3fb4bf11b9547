"""Stepping through every graph on the real server: breakpoints, edited state, forks, cancelling, many at once."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from hopgraph.tools.sample import sample_questions

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
OTHER = "In what year did the sculptor of the Statue of Liberty die?"
METHOD_GRAPHS = sorted(set(json.loads((ROOT / "langgraph.json").read_text())["graphs"]) - {"chat"})
LIMITED = {"max_llm_calls": 200}
SUBGRAPHS = {"ra_isf": {"solve"}, "tree_of_reviews": {"grow"}}


def go(client: SyncLangGraphClient, thread: str, name: str, given: Any, **options: Any) -> Any:
    return client.runs.wait(thread, name, input=given, context=LIMITED, raise_error=True, **options)


async def begun(remote: LangGraphClient, name: str, question: str, **options: Any) -> str:
    thread = (await remote.threads.create())["thread_id"]
    given = {"question": question}
    await remote.runs.wait(thread, name, input=given, context=LIMITED, raise_error=True, **options)
    return thread


async def gone_on(remote: LangGraphClient, thread: str, name: str, **options: Any) -> None:
    await remote.runs.wait(thread, name, input=None, context=LIMITED, raise_error=True, **options)


async def state_of(remote: LangGraphClient, thread: str) -> Any:
    return await remote.threads.get_state(thread)


async def stepped_through(remote: LangGraphClient, name: str) -> None:
    """Stop before each node in turn, and after the first; both ways lead to the same answer."""
    assistant = (await remote.assistants.search(graph_id=name))[0]["assistant_id"]
    drawn: Any = await remote.assistants.get_graph(assistant)
    nodes = [str(each["id"]) for each in drawn["nodes"] if not str(each["id"]).startswith("__")]
    before = await begun(remote, name, QUESTION, interrupt_before=nodes)
    stops: list[str] = []
    while stopped_at := (await state_of(remote, before))["next"]:
        stops.append(stopped_at[0])
        assert len(stops) < 200, name
        await gone_on(remote, before, name, interrupt_before=nodes)
    assert (stops[0], stops[-1]) == ("prepare", "finish"), name
    after = await begun(remote, name, QUESTION, interrupt_after=["prepare"])
    stopped = await state_of(remote, after)
    assert stopped["values"]["question"] == QUESTION, name
    assert stopped["next"][0] not in ("prepare", "__start__"), name
    await gone_on(remote, after, name)
    answers = [(await state_of(remote, each))["values"]["answer"] for each in (before, after)]
    assert answers[0] == answers[1], name


async def edited_question(remote: LangGraphClient, name: str) -> None:
    """The question that somebody puts in its place at a breakpoint is the one that is answered."""
    edited = await begun(remote, name, QUESTION, interrupt_before=["prepare"])
    await remote.threads.update_state(edited, {"question": OTHER})
    await gone_on(remote, edited, name)
    plain = await begun(remote, name, OTHER)
    found, expected = [(await state_of(remote, each))["values"] for each in (edited, plain)]
    assert found["question"] == OTHER, name
    assert (found["answer"], found["stop_reason"]) == (expected["answer"], expected["stop_reason"]), name


async def forked(remote: LangGraphClient, name: str) -> None:
    """From an early checkpoint the run goes on to the same result, on a branch of its own."""
    thread = await begun(remote, name, QUESTION)
    first = (await state_of(remote, thread))["values"]
    history = await remote.threads.get_history(thread, limit=100)
    early = next(each for each in reversed(history) if each["next"] and each["next"][0] not in ("__start__", "prepare"))
    fork: Any = await remote.threads.update_state(thread, {}, checkpoint=early["checkpoint"])
    again: Any = await remote.runs.wait(
        thread, name, input=None, checkpoint=fork["checkpoint"], context=LIMITED, raise_error=True
    )
    assert (again["answer"], again["citations"]) == (first["answer"], first["citations"]), name
    assert len(await remote.threads.get_history(thread, limit=200)) > len(history), name


async def readable(remote: LangGraphClient, name: str) -> None:
    """Each text stands in the state once, under short ids, without blobs."""
    values = (await state_of(remote, await begun(remote, name, QUESTION)))["values"]
    texts = [passage["text"] for passage in values["passages"]]
    whole = json.dumps(values, ensure_ascii=False)
    assert all(whole.count(json.dumps(text, ensure_ascii=False)[1:-1]) == 1 for text in texts if len(text) > 200), name
    assert all(len(passage["id"]) <= 40 for passage in values["passages"]), name
    assert len(whole) < 300_000, name
    assert "base64" not in whole, name


Check = Callable[[LangGraphClient, str], Coroutine[Any, Any, None]]


@pytest.mark.parametrize("check", [stepped_through, edited_question, forked, readable], ids=lambda each: each.__name__)
def test_every_graph(server_url: str, check: Check) -> None:
    """All graphs at once, since most of the time of a run on the server is waiting for its turn."""

    async def every() -> None:
        async with get_client(url=server_url) as remote, asyncio.TaskGroup() as group:
            for name in METHOD_GRAPHS:
                group.create_task(check(remote, name))

    asyncio.run(every())


def test_an_edited_answer_is_cited_from_the_edited_evidence(client: SyncLangGraphClient) -> None:
    """What is merged in the state is replaced by LangGraph's form for it, `__overwrite__`."""
    thread = client.threads.create()["thread_id"]
    go(client, thread, "migres", {"question": QUESTION}, interrupt_before=["finish"])
    before: Any = client.threads.get_state(thread)
    evidence = before["values"]["evidence"]
    kept = {**evidence[0], "statement": "Guillermo del Toro directed Pan's Labyrinth."}
    client.threads.update_state(thread, {"answer": "Rome", "evidence": {"__overwrite__": [kept]}, "used": [kept["id"]]})
    go(client, thread, "migres", None)
    after: Any = client.threads.get_state(thread)
    assert after["values"]["answer"] == "Rome"
    assert [each["passage_id"] for each in after["values"]["citations"]] == kept["passage_ids"]


@pytest.mark.parametrize(("name", "inside"), SUBGRAPHS.items())
def test_subgraphs_are_drawn_and_can_be_looked_into(client: SyncLangGraphClient, name: str, inside: set[str]) -> None:
    assistant = client.assistants.search(graph_id=name)[0]["assistant_id"]
    drawn: Any = client.assistants.get_graph(assistant, xray=True)
    assert inside <= {str(each["id"]).split(":")[0] for each in drawn["nodes"] if ":" in str(each["id"])}
    assert inside <= set(dict(client.assistants.get_subgraphs(assistant)))


def test_a_running_question_is_cancelled(client: SyncLangGraphClient) -> None:
    thread = client.threads.create()["thread_id"]
    context = {"model": "openai:never?base_url=http://127.0.0.1:9/v1", "request_retries": 20}
    run = client.runs.create(thread, "migres", input={"question": QUESTION}, context=context)
    deadline = time.monotonic() + 20
    while client.runs.get(thread, run["run_id"])["status"] == "pending" and time.monotonic() < deadline:
        time.sleep(0.1)
    client.runs.cancel(thread, run["run_id"], wait=True)
    assert client.runs.get(thread, run["run_id"])["status"] == "interrupted"
    go(client, client.threads.create()["thread_id"], "one_step", {"question": QUESTION})


def test_twenty_at_once_do_not_mix(server_url: str) -> None:
    asked = [each["text"] for each in sample_questions()][:20]

    async def answered(question: str, name: str) -> dict[str, Any]:
        async with get_client(url=server_url) as remote:
            thread = (await remote.threads.create())["thread_id"]
            await remote.runs.wait(thread, name, input={"question": question}, context=LIMITED)
            return (await state_of(remote, thread))["values"]

    async def everything() -> list[dict[str, Any]]:
        names = ["migres", "one_step", "genground", "blendfilter"]
        work = [answered(each, names[number % 4]) for number, each in enumerate(asked)]
        return await asyncio.gather(*work)

    results = asyncio.run(everything())
    assert [each["question"] for each in results] == asked
    for each in results:
        known = {passage["id"] for passage in each["passages"]}
        assert {citation["passage_id"] for citation in each["citations"]} <= known
