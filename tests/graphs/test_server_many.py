"""Many runs at once on the real server, each on a thread of its own: none gets anything of another's."""

import asyncio
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from support.sample import read_sample_questions
from support.servers.remote_graphs import GRAPHS, EveryGraph, RemoteThread, asking

pytestmark = pytest.mark.slow

AT_ONCE = 20
QUESTIONS = [each["text"] for each in read_sample_questions()]


async def answers(remote: LangGraphClient, name: str, questions: list[str]) -> list[dict[str, Any]]:
    """Ask each question on a thread of its own, all at the same time; gives what the threads hold."""

    async def answer(question: str) -> dict[str, Any]:
        thread = await RemoteThread.begin(remote, name)
        await thread.go(asking(name, question))
        return await thread.values()

    return await asyncio.gather(*(answer(each) for each in questions))


async def unmixed(remote: LangGraphClient, name: str, count: int) -> None:
    """Ask half as many questions twice: each thread holds its own question, and the same as its twin."""
    half = QUESTIONS[: count // 2]
    assert len(half) == count // 2
    results = await answers(remote, name, [*half, *half])
    assert [each["question"] for each in results] == [*half, *half]
    for one, twin in zip(results[: count // 2], results[count // 2 :], strict=True):
        for key in ("answer", "citations", "passages", "usage"):
            assert one[key] == twin[key]
        known = {passage["id"] for passage in one["passages"]}
        assert {citation["passage_id"] for citation in one["citations"]} <= known
        if name == "chat":
            assert [each["type"] for each in one["messages"]] == ["human", "ai"]
            assert one["messages"][-1]["content"] == twin["messages"][-1]["content"]


async def four_at_once(remote: LangGraphClient, name: str) -> None:
    await unmixed(remote, name, 4)


async def twenty_at_once(remote: LangGraphClient, name: str) -> None:
    await unmixed(remote, name, AT_ONCE)


@pytest.mark.long
@pytest.mark.timeout(900)  # the first one runs them all
@pytest.mark.parametrize("name", GRAPHS)
def test_all_graphs_at_once_do_not_mix(every_graph: EveryGraph, name: str) -> None:
    """A hundred runs, of which twenty are under way at any time."""
    every_graph.holds(four_at_once, name)


@pytest.mark.parametrize("name", ["chat", "tree_of_reviews"])
def test_twenty_of_a_graph_do_not_mix(server_url: str, name: str) -> None:
    async def check() -> None:
        async with get_client(url=server_url) as remote:
            await twenty_at_once(remote, name)

    asyncio.run(check())


def test_twenty_conversations_do_not_mix(server_url: str) -> None:
    """Follow-ups are understood from the thread that they are on."""
    said = [
        ("Who painted Guernica?", "Pablo Picasso", "Málaga"),
        ("Who directed Spirited Away?", "Hayao Miyazaki", "Tokyo"),
        ("In which city was the director of the film Pan's Labyrinth born?", "Guadalajara", "Guadalajara"),
        ("Who painted The Starry Night?", "Vincent van Gogh", "Zundert"),
    ]
    follow_up = "And where was he born?"

    async def talk(remote: LangGraphClient, number: int) -> None:
        question, answer, birthplace = said[number % len(said)]
        thread = await RemoteThread.begin(remote, "chat")
        first = await thread.go(asking("chat", question))
        assert first["messages"][-1]["content"].startswith(answer)
        second = await thread.go(asking("chat", follow_up))
        assert second["messages"][-1]["content"].startswith(birthplace)
        assert [each["content"] for each in second["messages"] if each["type"] == "human"] == [question, follow_up]

    async def check() -> None:
        async with get_client(url=server_url) as remote:
            await asyncio.gather(*(talk(remote, number) for number in range(AT_ONCE)))

    asyncio.run(check())
