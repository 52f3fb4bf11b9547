"""Statements with citations, and the passages that no reply cites."""

import json
from typing import Any

import pytest

from hopgraph.nodes.extract import extract
from hopgraph.state.migres import MigresContext
from support.node_inputs import knowledge, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel


def extracting(*entries: Any) -> Any:
    passages = [passage("a", "Cats purr. Dogs bark."), passage("b", "Lima is in Peru.")]
    return {"knowledge": list(entries), "passages": passages, "iteration": 2, "shown": {}, "question": "q", **spent()}


def reply(*statements: tuple[str, list[int]]) -> str:
    return json.dumps({"useful_information": [{"info": info, "support_passages": found} for info, found in statements]})


async def test_statements_cite_the_passages_that_were_shown() -> None:
    events: list[Any] = []
    said = reply(("Dogs bark.", [3, 1, 1]), ("Unsupported.", [9]), (" ", [1]))
    settings = MigresContext(model=ScriptedChatModel(replies=[said]), extraction="per_query")
    update = await extract(extracting(knowledge("q1"), knowledge("q2", "a", "b")), node_runtime(settings, events))
    assert [(each["id"], each["passage_ids"], each["quote"]) for each in update["drafts"]] == [
        ("2.2.1", ["a"], "Dogs bark.")
    ]
    assert update["shown"] == {"a": [[0, 4]], "b": [[0, 4]]}
    assert update["excluded"] == []
    assert [event["data"]["dropped"] for event in events if event["event"] == "extracted"] == [2]


@pytest.mark.parametrize(("memory", "said"), [(False, reply()), (True, "what?")])
async def test_nothing_is_excluded_without_memory_or_a_usable_reply(memory: bool, said: str) -> None:
    settings = MigresContext(model=ScriptedChatModel(replies=[said]), memory=memory, parse_retries=0)
    update = await extract(extracting(knowledge("q", "a")), node_runtime(settings))
    assert (update["drafts"], update["shown"], update["excluded"]) == ([], {}, [])


async def test_no_passages_take_no_call() -> None:
    settings = MigresContext(model=ScriptedChatModel(replies=[]))
    update = await extract(extracting(knowledge("q")), node_runtime(settings))
    assert update == {"knowledge": [knowledge("q")], "drafts": [], "shown": {}, "excluded": [], "calls": {}}


@pytest.mark.parametrize(
    ("before", "spans", "excluded"),
    [
        ([], [[0, 21]], []),  # one query alone
        ([[0, 21]], [[0, 21]], ["a"]),
        ([[0, 10]], [[0, 10]], []),  # "Dogs bark." was never shown
        ([[0, 10], [0, 10], [11, 21]], [[11, 21]], ["a"]),
    ],
)
async def test_a_passage_is_set_aside_once_each_sentence_was_shown_twice(
    before: list[Any], spans: list[Any], excluded: list[str]
) -> None:
    entry = knowledge("q", "a")
    entry["excerpts"][0]["spans"] = spans
    settings = MigresContext(model=ScriptedChatModel(replies=[reply()]))
    state: Any = {**extracting(entry), "shown": {"a": before} if before else {}}
    update = await extract(state, node_runtime(settings))
    assert (update["shown"], update["excluded"]) == ({"a": [*before, *spans]}, excluded)


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
