"""Queries for missing information, none of them asked before."""

import json
from typing import Any

import pytest

from hopgraph.nodes.generate_queries import NewQueries, generate_queries, new_queries
from hopgraph.state.migres import MigresContext
from support.node_inputs import node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


def generating() -> Any:
    return {
        "question": "Who?",
        "asked": ["Who?", "Where?"],
        "evidence": [],
        "missing": "the year",
        "iteration": 1,
        **spent(),
    }


def test_repeated_empty_and_endless_queries_are_dropped() -> None:
    said = NewQueries(queries=["where", " When\n was  it? ", "when was it", "…", "x" * 20_000])
    assert new_queries(said, known=["Where?"], why="w") == [{"text": "When was it?", "why": "w"}]
    assert NewQueries.model_validate({"queries": "When?"}).queries == ["When?"]


@pytest.mark.parametrize(("memory", "texts"), [(True, ["When?", "Why?"]), (False, ["Where?", "When?"])])
async def test_memory_drops_earlier_queries_before_the_limit_counts(memory: bool, texts: list[str]) -> None:
    said = json.dumps({"queries": ["Where?", "When?", "Why?"]})
    settings = MigresContext(model=ScriptedChatModel(replies=[said]), memory=memory, max_queries=2)
    update = await generate_queries(generating(), node_runtime(settings))
    assert [(query["text"], query["why"]) for query in update["queries"]] == [(text, "the year") for text in texts]
    assert update["iteration"] == 2


@pytest.mark.parametrize(("settings", "reason"), [({}, None), ({"max_tokens": 1}, "budget")])
async def test_without_queries_the_iteration_stays(settings: dict[str, Any], reason: str | None) -> None:
    model = ScriptedChatModel(replies=lambda *_: '{"queries": []}')
    update = await generate_queries(generating(), node_runtime(MigresContext(model=model, **settings)))
    assert (update["queries"], update["iteration"], update.get("stop_reason")) == ([], 1, reason)
