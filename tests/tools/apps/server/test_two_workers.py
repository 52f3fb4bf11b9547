"""Two processes of `hopgraph chat` on one PostgreSQL server under load: threads are consistent and private."""

import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from hopgraph.tools.apps.server.threads import open_threads
from hopgraph.tools.models.offline import RuleBasedModel
from support.servers.openai_server import OpenAIServer
from support.servers.postgres import postgres_server
from support.servers.protocols import agent_request
from support.servers.web_app import ChatProcess, chat_process

pytestmark = pytest.mark.slow

USERS = {f"key-of-user-{number:02}-0123456789": f"user{number:02}" for number in range(16)}
QUESTIONS = ("Who painted Guernica?", "Who wrote Frankenstein?", "Where was Alan Turing born?")


@pytest.fixture
def address() -> Iterator[str]:
    pytest.importorskip("psycopg_pool", reason="needs hopgraph[postgres]")
    with postgres_server() as running:
        yield running


async def ask(worker: ChatProcess, key: str, thread: str, said: Sequence[str]) -> httpx.Response:
    """Send a conversation whose last message is the question."""
    async with httpx.AsyncClient(timeout=120, headers={"Authorization": f"Bearer {key}"}) as client:
        return await client.post(f"{worker.url}/ag-ui", json=agent_request(*said, thread=thread))


async def converse(workers: Sequence[ChatProcess], key: str) -> None:
    """Ask questions in sequence, alternating between the workers."""
    said: list[str] = []
    for number, question in enumerate(QUESTIONS):
        marked = f"{question} ({USERS[key]})"
        reply = await ask(workers[number % 2], key, "same", [*said, marked])
        assert reply.status_code == 200
        assert "RUN_ERROR" not in reply.text
        said += [marked, "what it said"]


async def test_threads_of_two_workers_are_consistent_and_survive_a_worker(address: str, tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel(), latency=0.2) as model, ExitStack() as running:
        keys = ",".join(f"{name}={key}" for key, name in USERS.items())
        options = ("--threads", address, "--model", f"openai:m?base_url={model.base_url}")
        workers = list[ChatProcess]()
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            chat = chat_process(tmp_path / name, *options, environment={"HOPGRAPH_API_KEY": keys})
            workers.append(running.enter_context(chat))
        await asyncio.gather(*(converse(workers, key) for key in USERS))
        key = next(iter(USERS))
        race = await asyncio.gather(*(ask(worker, key, "race", [QUESTIONS[0]]) for worker in workers * 4))
        assert {each.status_code for each in race} == {200, 429}

        model.hold()
        before = len(model.requests)
        left = asyncio.create_task(ask(workers[0], key, "killed", [QUESTIONS[0]]))
        async with asyncio.timeout(60):
            while len(model.requests) == before:  # noqa: ASYNC110 - the server has no event to wait for
                await asyncio.sleep(0.02)
        workers[0].stop(signal.SIGKILL)
        with pytest.raises(httpx.HTTPError):
            await left
        model.release()
        again = await ask(workers[1], key, "killed", [QUESTIONS[0]])
        assert again.status_code == 200
        assert "Pablo Picasso" in again.text
        assert "Traceback" not in workers[1].said()

    async with open_threads(address) as threads:
        for name in USERS.values():
            listed = await threads.list_for(name)
            assert "same" in [each["id"] for each in listed]
            stored = await threads.saver.aget_tuple(threads.config(name, "same"))
            asked = [each.text for each in stored.checkpoint["channel_values"]["messages"] if each.type == "human"]
            assert asked == [f"{question} ({name})" for question in QUESTIONS]
