"""A passage that the model writes itself."""

from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.recall_knowledge import write_passage
from hopgraph.state import Query
from hopgraph.state.baselines import GenReadContext
from support.node_inputs import model_call, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


def asked(**fields: Any) -> Any:
    queries = [Query(text="q1", why="")]
    return {"queries": queries, "hops": [], "iteration": 1, "stop_reason": None, **spent(), **fields}


@pytest.mark.parametrize(("said", "texts"), [("Lima is old.", ["Lima is old."]), ("I don't know.", [])])
async def test_a_query_has_the_models_passage_or_none(said: str, texts: list[str]) -> None:
    model = ScriptedChatModel(replies=[f'{{"passage": "{said}"}}'])
    update = await write_passage(asked(iteration=2), node_runtime(GenReadContext(model=model)))
    assert [(each["id"], each["source"], each["text"]) for each in update["passages"]] == [
        ("model:2.1", "model", each) for each in texts
    ]
    assert [(each["query"], len(each["excerpts"])) for each in update["knowledge"]] == [("q1", len(texts))]


@pytest.mark.parametrize(("hops", "limit"), [([], 2), ([open_hop(1, "q1")], 3)])
async def test_the_calls_that_read_the_passage_and_compose_are_left_over(hops: list[Any], limit: int) -> None:
    settings = GenReadContext(model=ScriptedChatModel(replies=[]), max_llm_calls=limit)
    update = await write_passage(asked(hops=hops, **spent(model_call())), node_runtime(settings))
    assert (update["passages"], update["stop_reason"]) == ([], "budget")
