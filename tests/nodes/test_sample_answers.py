"""Several chains of thought to one prompt."""

from typing import Any

from hopgraph.nodes.sampling import make_sample_answers_node
from hopgraph.state.baselines import CotScContext
from support.node_inputs import model_call, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel

SAMPLE = make_sample_answers_node(own_knowledge=True)


async def test_samples_share_a_prompt_and_differ_in_their_seed() -> None:
    model = ScriptedChatModel(replies=[f'{{"answer": "{said}"}}' for said in ("Lima", "Oslo", "Lima")])
    settings = CotScContext(model=model, samples=3, seed=7, max_parallel_calls=1)
    state: Any = {"question": "Where?", "stop_reason": None, **spent()}
    update = await SAMPLE(state, node_runtime(settings))
    assert sorted(each["answer"] for each in update["drafts"]) == ["Lima", "Lima", "Oslo"]
    assert len({call.messages[-1].text for call in model.calls}) == 1
    assert update["stop_reason"] is None


async def test_samples_that_the_budget_does_not_reach_are_left_out() -> None:
    settings = CotScContext(model=ScriptedChatModel(replies=['{"answer": "Lima"}']), samples=3, max_llm_calls=2)
    state: Any = {"question": "Where?", "stop_reason": None, **spent(model_call())}
    update = await SAMPLE(state, node_runtime(settings))
    assert ([each["answer"] for each in update["drafts"]], update["stop_reason"]) == (["Lima"], "budget")
