"""A question may be sampled in a way of its own, whatever the settings say."""

import json
import time
from typing import Any

import pytest
from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask_all
from hopgraph.nodes.draft_answers import sampling_at
from hopgraph.nodes.recall_knowledge import RecallReply
from hopgraph.state import Spent
from hopgraph.state.migres import MigresContext
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel


async def test_sampling_options_reach_the_server_for_that_question_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    reply = json.dumps({"knowledge": "Lima is in Peru."})

    def wanted(**fields: Any) -> Ask[RecallReply]:
        return Ask("recall_knowledge", {"question": "Where is Lima?"}, RecallReply, RecallReply(knowledge=""), **fields)

    with OpenAIServer(ScriptedChatModel(replies=lambda *_: reply)) as server:
        settings = MigresContext(model=f"openai:scripted?base_url={server.base_url}", max_parallel_calls=1)
        runtime = Runtime(context=settings, stream_writer=lambda _event: None)
        asks = [wanted(), wanted(sample=1, sampling={"temperature": 1.0, "top_p": 0.5}), wanted(sample=2)]
        await ask_all(runtime, Spent(calls={}, started_at=time.time()), asks)
        bodies: list[Any] = [request.body for request in server.requests]
    # Which of them goes first is up to the threads that resolve the model.
    drawn = sorted((body.get("temperature"), body.get("top_p") or 0) for body in bodies)
    assert drawn == [(0.0, 0), (0.0, 0), (1.0, 0.5)]


@pytest.mark.parametrize(
    ("top_p", "temperature", "expected"),
    [
        (0, 0.7, {"temperature": 0.0}),
        (0.5, 0.0, {"temperature": 1.0, "top_p": 0.5}),
        (0.5, None, {"temperature": 1.0, "top_p": 0.5}),
        (1, 0.7, {"temperature": 0.7, "top_p": 1}),
    ],
)
def test_sampling_at_a_share_of_the_probability(
    top_p: float, temperature: float | None, expected: dict[str, float]
) -> None:
    assert sampling_at(top_p, temperature) == expected
