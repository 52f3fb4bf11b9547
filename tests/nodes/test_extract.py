"""Statements with citations, and the passages that no reply cites."""

import json
from typing import Any

from hopgraph.nodes.extract import extract
from hopgraph.state.migres import MigresContext
from support.node_inputs import knowledge, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


def extracting(*entries: Any) -> Any:
    passages = [passage("a", "Cats purr. Dogs bark."), passage("b", "Lima is in Peru.")]
    return {"knowledge": list(entries), "passages": passages, "iteration": 2, "shown": {}, "question": "q", **spent()}


def reply(*statements: tuple[str, list[int]]) -> str:
    return json.dumps({"useful_information": [{"info": info, "support_passages": found} for info, found in statements]})


async def test_jointly_one_call_reads_the_best_passages_of_all_queries() -> None:
    seen: list[str] = []

    def answer(_: str, messages: Any) -> str:
        seen.append(messages[-1].text)
        return reply(("Lima is in Peru.", [1]))

    first, second = knowledge("q1", "a", "b"), knowledge("q2", "b")
    for excerpt, score, spans in zip(first["excerpts"], (1.0, 2.0), ([[0, 10]], [[0, 4]]), strict=True):
        excerpt.update(score=score, spans=spans)
    second["excerpts"][0].update(score=3.0, spans=[[0, 16]])
    settings = MigresContext(model=ScriptedChatModel(replies=answer), context_passages=2)
    state: Any = {**extracting(first, second), "question": "the whole"}
    update = await extract(state, node_runtime(settings))
    [prompt] = seen
    assert prompt.index("Lima is in Peru.") < prompt.index("Cats purr.")
    assert all(f">\n{each}\n<" in prompt or f">{each}<" in prompt for each in ("the whole", "q1", "q2"))
    assert update["shown"] == {"a": [[0, 10]], "b": [[0, 16]]}
    assert [each["passage_ids"] for each in update["drafts"]] == [["b"]]
    settings = settings.model_copy(update={"context_passages": 1})
    await extract(state, node_runtime(settings))
    assert "Cats purr." not in seen[-1]


async def test_a_query_is_shown_with_the_question_that_it_is_asked_for() -> None:
    seen: list[str] = []

    def answer(_: str, messages: Any) -> str:
        seen.append(messages[-1].text)
        return reply()

    settings = MigresContext(model=ScriptedChatModel(replies=answer), extraction="per_query")
    state: Any = {**extracting(knowledge("q1", "a"), knowledge("the whole", "b")), "question": "the whole"}
    await extract(state, node_runtime(settings))
    assert [
        "<original_question>\nthe whole\n" in prompt for prompt in sorted(seen, key=lambda each: "q1" not in each)
    ] == [
        True,
        False,
    ]
