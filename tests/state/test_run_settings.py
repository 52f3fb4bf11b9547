"""Settings are resolved once for a run, and anew for the next one."""

import gc
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from hopgraph.graphs import migres
from hopgraph.graphs.baselines import one_step
from hopgraph.state import SettingsError
from hopgraph.state import run_settings as of_runs
from hopgraph.state.migres import MigresContext
from hopgraph.state.run_settings import begin_run, once_per_run, settings_of_run
from support.servers.scripted_model import ScriptedChatModel

QUESTION: Any = {"question": "In which city was the director of the film Pan's Labyrinth born?"}


def test_each_run_has_settings_of_its_own() -> None:
    given = MigresContext(max_llm_calls=3)
    one, two = begin_run(given, MigresContext), begin_run(given, MigresContext)
    assert one == two == given
    assert one is not two
    made = list[int]()
    for settings in (one, one, two, given, given):
        once_per_run(settings, "name", lambda: made.append(1))
    assert len(made) == 4  # those that are no run's are not kept
    assert settings_of_run(one, MigresContext) is one


def test_another_method_of_the_run_gets_what_both_have() -> None:
    run = begin_run(MigresContext(max_llm_calls=3, max_iterations=2), MigresContext)
    other = settings_of_run(run, one_step.Context)
    assert isinstance(other, one_step.Context)
    assert other.max_llm_calls == 3
    assert settings_of_run(run, one_step.Context) is other


def test_nothing_is_kept_of_a_run_that_ended() -> None:
    known: dict[int, Any] = getattr(of_runs, "_derived")  # noqa: B009
    gc.collect()
    before = len(known)
    for _ in range(5):
        migres.graph.invoke(QUESTION, context=MigresContext(max_iterations=1))
    gc.collect()
    assert len(known) <= before + 1


def test_the_environment_is_read_as_a_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[int]()

    def reply(role: str, _messages: Any) -> str:
        monkeypatch.setenv("HOPGRAPH_MAX_ITERATIONS", "1")  # in the middle of the run
        seen.append(1)
        return "{}"

    monkeypatch.setenv("HOPGRAPH_MAX_ITERATIONS", "2")
    result = migres.graph.invoke(QUESTION, context=MigresContext(model=ScriptedChatModel(replies=reply), memory=False))
    assert seen
    assert result["stop_reason"] != "answered"


def test_a_run_that_goes_on_reads_the_environment_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = migres.build().compile(checkpointer=InMemorySaver(), interrupt_before=["decide"])
    config: Any = {"configurable": {"thread_id": "one"}}
    settings = MigresContext(memory=False)
    graph.invoke(QUESTION, config, context=settings)
    monkeypatch.setenv("HOPGRAPH_MAX_ITERATIONS", "1")
    with pytest.raises(SettingsError, match="this run started with max_iterations = 5 and was resumed with 1"):
        graph.invoke(None, config, context=settings)


def test_a_host_graphs_context_is_inherited() -> None:
    class State(TypedDict, total=False):
        question: str
        answer: str
        stop_reason: str

    builder = StateGraph(State, context_schema=MigresContext)
    builder.add_node("look_up", migres.graph)
    builder.add_edge(START, "look_up")
    result = builder.compile().invoke(QUESTION, context=MigresContext(max_llm_calls=1))
    assert result["stop_reason"] == "budget"
