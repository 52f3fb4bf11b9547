"""What a model knows itself, where no passage was kept."""

import re
from typing import Any

from hopgraph.nodes.recall_knowledge import recall_knowledge
from hopgraph.state.migres import MigresContext
from support.node_inputs import knowledge, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


def recalling(*entries: Any) -> Any:
    return {"knowledge": list(entries), "question": "the whole", "iteration": 2, **spent()}


async def test_jointly_it_is_asked_once_for_the_first_query_and_sees_the_question() -> None:
    seen: list[str] = []

    def reply(_: str, messages: Any) -> str:
        seen.append(messages[-1].text)
        return '{"knowledge": "Lima is in Peru."}'

    settings = MigresContext(model=ScriptedChatModel(replies=reply))
    update = await recall_knowledge(recalling(knowledge("q1"), knowledge("q2")), node_runtime(settings))
    [prompt] = seen
    assert re.findall(r"^<(\w+)>\n(.*)$", prompt, re.MULTILINE) == [
        ("question", "q1"),
        ("original_question", "the whole"),
    ]
    assert [len(entry["excerpts"]) for entry in update["knowledge"]] == [1, 0]
