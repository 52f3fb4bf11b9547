"""One answer from each passage by itself."""

from typing import Any

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.propose_answers import propose_answers
from hopgraph.state import Knowledge
from hopgraph.state.baselines import ReplugContext
from support.node_inputs import node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


def proposing(*texts: str) -> Any:
    found = [passage(f"p{number}", text) for number, text in enumerate(texts)]
    knowledge = [Knowledge(query="q", excerpts=[whole_excerpt(each, 1.0) for each in found])]
    return {"question": "Where?", "passages": found, "knowledge": knowledge, "stop_reason": None, **spent()}


async def test_a_prompt_shows_one_passage_and_each_has_a_draft() -> None:
    def reply(_role: str, messages: list[Any]) -> str:
        said = "Lima" if "In Peru." in messages[-1].text else "unanswerable"
        return f'{{"answer": "{said}", "used_passages": [1]}}'

    model = ScriptedChatModel(replies=reply)
    update = await propose_answers(proposing("Far off.", "In Peru."), node_runtime(ReplugContext(model=model)))
    assert [each["answer"] for each in update["drafts"]] == ["", "Lima"]
    assert [each["passage_ids"] for each in update["drafts"][1]["evidence"]] == [["p1"]]
    assert [call.messages[-1].text.count("<passage ") for call in model.calls] == [1, 1]


async def test_what_the_budget_does_not_reach_has_an_empty_draft() -> None:
    settings = ReplugContext(model=ScriptedChatModel(replies=['{"answer": "Lima"}']), max_llm_calls=1)
    update = await propose_answers(proposing("a", "b"), node_runtime(settings))
    assert ([each["answer"] for each in update["drafts"]], update["stop_reason"]) == (["Lima", ""], "budget")


async def test_no_passages_take_no_call() -> None:
    update = await propose_answers(proposing(), node_runtime(ReplugContext(model=ScriptedChatModel(replies=[]))))
    assert (update["drafts"], update["calls"]) == ([], {})
