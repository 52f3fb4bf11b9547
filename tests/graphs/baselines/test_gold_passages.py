"""The reader with gold passages: how a caller gives them, and what is refused."""

import json
from typing import Any, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from hopgraph.graphs.baselines import gold_passages
from hopgraph.state import AnswerOutput, SettingsError
from hopgraph.tools.apps.cli.settings_options import settings_for as settings_of_the_command_line
from support.baselines_script import GOLD, QUESTION, go, replies, titles
from support.walks import Script


def ask_gold(given: Any, script: Script | None = None, **more: Any) -> AnswerOutput:
    context = gold_passages.Context(model=(script or Script(replies())).model(), **more)
    return gold_passages.graph.invoke(cast("Any", {"question": QUESTION, **given}), context=context)


def test_the_setting_stands_in_where_only_settings_can_be_given() -> None:
    context = settings_of_the_command_line(gold_passages.Context, assignments=[f"gold_passages={json.dumps(GOLD)}"])
    script = Script(replies())
    ask_gold({}, script, gold_passages=context.gold_passages)
    assert titles(script.prompts[0]) == ["Night Harbour", "Ada Brink"]
    ask_gold({"gold_passages": GOLD[:1]}, script, gold_passages=context.gold_passages)
    assert titles(script.prompts[1]) == ["Night Harbour"]


def test_another_methods_passages_can_be_given() -> None:
    passages = go("vanilla")[0].result["passages"]
    script = Script(replies())
    result = ask_gold({"gold_passages": passages}, script)
    assert [each["passage_id"] for each in result["citations"]] == ["person"]
    assert titles(script.prompts[0]) == ["Ada Brink", "Harbour", "Night Harbour"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "no gold passages are given"),
        ({"gold_passages": []}, "no gold passages are given"),
        ({"gold_passages": "Ada Brink"}, r"gold_passages: .*list, got 'Ada Brink'"),
        ({"gold_passages": [{"title": "x"}]}, r"gold_passages 1 text: Field required"),
        ({"gold_passages": [*GOLD, {"text": 3}]}, r"gold_passages 3 text: .*string, got 3"),
        ({"gold_passages": [*GOLD, {"title": "x", "text": " \u200b"}]}, "gold_passages 3 has no text"),
        ({"gold_passages": [*GOLD, GOLD[1]]}, "two have the id 'person'"),
        ({"gold_passages": [GOLD[0], {"text": "y", "id": "given:1"}]}, "two have the id 'given:1'"),
    ],
)
def test_passages_that_cannot_be_used_are_refused_before_anything_is_spent(given: Any, message: str) -> None:
    script = Script({})
    with pytest.raises(SettingsError, match=message):
        ask_gold(given, script)
    assert script.steps == []


def test_the_next_question_of_a_thread_is_not_answered_from_the_last_ones_passages() -> None:
    graph = gold_passages.build().compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}
    given: Any = {"question": QUESTION, "gold_passages": GOLD}
    context = gold_passages.Context(model=Script(replies()).model())
    assert graph.invoke(given, thread, context=context)["answer"] == "Tallinn"
    with pytest.raises(SettingsError, match="no gold passages are given"):
        graph.invoke({"question": "Who directed it?"}, thread, context=context)


def test_the_input_form_shows_both() -> None:
    schema = gold_passages.graph.get_input_jsonschema()
    assert set(schema["properties"]) == {"question", "gold_passages"}
    assert schema["required"] == ["question"]
