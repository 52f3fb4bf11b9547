"""When passages are looked up, by a record and by the retrieval tokens."""

import json
import math
from typing import Any

import pytest

from hopgraph.nodes.decide_retrieval import decide_retrieval
from hopgraph.state.baselines import SelfRagContext
from support.node_inputs import model_call, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel

STATE: Any = {"question": "Where?", "stop_reason": None, **spent()}


def tokens(retrieval: float, other: float) -> str:
    top = {"[Retrieval]": math.log(retrieval), "[No Retrieval]": math.log(other)}
    return json.dumps({"tokens": [{"text": "[Retrieval]", "logprob": math.log(retrieval), "top": top}]})


@pytest.mark.parametrize(
    ("reflection", "reply", "threshold", "needed"),
    [
        ("records", '{"known": true}', 0.2, False),
        ("records", '{"known": false}', 0.2, True),
        ("records", "?", 0.2, True),
        ("tokens", tokens(0.1, 0.3), 0.2, True),
        ("tokens", tokens(0.1, 0.3), 0.3, False),
        ("tokens", '{"tokens": [{"text": "Lima", "logprob": -1}]}', 0.9, True),
        ("tokens", "?", 0.2, True),
    ],
)
async def test_it_is_decided_by_the_share(reflection: Any, reply: str, threshold: float, *, needed: bool) -> None:
    model = ScriptedChatModel(replies=[reply])
    settings = SelfRagContext(model=model, reflection=reflection, retrieval_threshold=threshold, parse_retries=0)
    update = await decide_retrieval(STATE, node_runtime(settings))
    assert (update["needs_retrieval"], len(update["calls"])) == (needed, 1)


@pytest.mark.parametrize(("threshold", "needed"), [(0.0, True), (1.0, False)])
async def test_always_and_never_take_no_call(threshold: float, *, needed: bool) -> None:
    settings = SelfRagContext(model=ScriptedChatModel(replies=[]), retrieval_threshold=threshold)
    assert await decide_retrieval(STATE, node_runtime(settings)) == {"needs_retrieval": needed}


async def test_without_budget_passages_are_looked_up() -> None:
    settings = SelfRagContext(model=ScriptedChatModel(replies=[]), max_llm_calls=1)
    used_up: Any = {**STATE, **spent(model_call())}
    update = await decide_retrieval(used_up, node_runtime(settings))
    assert (update["needs_retrieval"], update["stop_reason"]) == (True, "budget")
