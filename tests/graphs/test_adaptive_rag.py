"""Adaptive-RAG: each class of question runs its own method, and what it costs is counted."""

import json
from typing import Any

import pytest

from hopgraph.graphs import adaptive_rag
from hopgraph.state import SettingsError
from hopgraph.state.events import Routed, parse_event
from support.honest import honest
from support.servers.scripted_model import ScriptedChatModel

QUESTION: Any = {"question": "In which city was the director of the film Pan's Labyrinth born?"}


def run(said: str, **settings: Any) -> tuple[dict[str, Any], list[Routed], list[str]]:
    """Run with this reply of the classifier; gives the result, how it was routed, and the roles that were asked."""
    roles = list[str]()

    def reply(role: str, messages: Any) -> Any:
        roles.append(role)
        return said if role == "adaptive_rag/judge_complexity" else honest(role, messages)

    context = adaptive_rag.Context(model=ScriptedChatModel(replies=reply), links=False, **settings)
    routed, state = list[Routed](), dict[str, Any]()
    for mode, chunk in adaptive_rag.graph.stream(QUESTION, context=context, stream_mode=["custom", "values"]):
        if mode == "custom" and isinstance(event := parse_event(chunk), Routed):
            routed.append(event)
        elif mode == "values":
            state = chunk
    return state, routed, [role for role in roles if not role.startswith("adaptive_rag/")]


@pytest.mark.parametrize(
    ("searches", "method", "retrievals"), [("none", "direct", 0), ("one", "one_step", 1), (" Several ", "ircot", 3)]
)
def test_each_class_of_question_runs_its_method(searches: str, method: str, retrievals: int) -> None:
    state, [routed], roles = run(json.dumps({"searches": searches}))
    assert routed.method == method
    assert {role.partition("/")[0] for role in roles} == {method}
    assert state["usage"]["llm_calls"] == 1 + len(roles)
    assert state["usage"]["retrievals"] == retrievals
    assert state["usage"]["iterations"] == max(retrievals, 1)
    assert (bool(state["answer"]), state["searched"]) == (method != "direct", {})


def test_a_classifier_that_cannot_be_read_counts_as_several_searches() -> None:
    _, [routed], _ = run("It depends.", parse_retries=0)
    assert routed.method == "ircot"


def test_the_methods_are_a_setting() -> None:
    state, [routed], roles = run('{"searches": "several"}', stages="direct,one_step,migres?max_iterations=2")
    assert routed.method == "migres"
    assert state["answer"] == "Guadalajara"
    assert any(role.startswith("migres/") for role in roles)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ("direct,one_step", "stages"),
        ("direct,one_step,cascade", "'cascade' cannot be a stage"),
        ("direct,one_step,migres?model=x", "'model' applies to all stages"),
    ],
)
def test_stages_that_cannot_be_are_refused(stages: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        run('{"searches": "one"}', stages=stages)


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_the_budget_holds_for_the_classifier_and_its_method(limit: int) -> None:
    state, _, roles = run('{"searches": "several"}', max_llm_calls=limit)
    assert state["usage"]["llm_calls"] <= limit
    assert roles
