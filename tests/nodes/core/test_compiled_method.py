"""What a LangGraph developer meets at a compiled method's boundary."""

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from hopgraph.graphs import METHODS, chat, migres, tree_of_reviews
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.state import AnswerOutput, MethodState, QuestionInput, SettingsError
from support.chain_runs import Runs
from support.servers.scripted_agent import ScriptedAgentModel

QUESTION: QuestionInput = {"question": "In which city was the director of the film Pan's Labyrinth born?"}
ANSWER = "Guadalajara"


def graph_of(steps: int) -> Any:
    """A graph that takes so many steps, built as a method is."""
    builder = MethodGraph(MethodState, migres.Context, input_schema=QuestionInput, output_schema=AnswerOutput)

    async def step(state: MethodState, runtime: Any) -> dict[str, Any]:
        return {"answer": "reached the end"}

    names = [f"step_{number}" for number in range(steps)]
    for name in names:
        builder.add_node(name, step)
    return builder.chain(START, *names).compile()


LONG = graph_of(30)
SHORT = graph_of(10)


async def test_the_context_of_a_host_is_taken_without_the_host() -> None:
    found = await migres.graph.ainvoke(QUESTION, context={"tone": "friendly", "hopgraph": {"max_iterations": 1}})
    assert found["stop_reason"] == "max_iterations"


def chained(graph: Any) -> Any:
    return RunnableLambda(lambda given: given) | graph


@pytest.mark.parametrize(
    ("call", "limit"),
    [
        (lambda: LONG.with_config(recursion_limit=3).invoke(QUESTION), 3),
        (lambda: LONG.with_config(recursion_limit=3).batch([QUESTION]), 3),
        (lambda: list(LONG.with_config(recursion_limit=3).batch_as_completed([QUESTION])), 3),
        (lambda: chained(LONG.with_config(recursion_limit=3)).invoke(QUESTION), 3),
        (lambda: LONG.invoke(QUESTION, {"recursion_limit": 3}), 3),
        (lambda: LONG.batch([QUESTION], {"recursion_limit": 3}), 3),
        (lambda: chained(LONG).invoke(QUESTION, {"recursion_limit": 3}), 3),
        (lambda: LONG.with_config(recursion_limit=3).invoke(QUESTION, {"recursion_limit": 5}), 5),
        (lambda: LONG.with_config(recursion_limit=3).batch([QUESTION], [{"recursion_limit": 5}]), 5),
        (lambda: LONG.invoke(QUESTION, {"recursion_limit": 25}), 25),
        (lambda: LONG.with_config(recursion_limit=25).invoke(QUESTION), 25),
        (lambda: LONG.batch([QUESTION], {"recursion_limit": 25}), 25),
        (lambda: list(LONG.batch_as_completed([QUESTION], [{"recursion_limit": 25}])), 25),
        (lambda: chained(LONG.with_config(recursion_limit=25)).invoke(QUESTION), 25),
        (lambda: LONG.with_config(recursion_limit=50).invoke(QUESTION, {"recursion_limit": 25}), 25),
        (lambda: in_a_host(LONG.with_config(recursion_limit=3)).invoke(QUESTION), 3),
        (lambda: in_a_host(LONG).invoke(QUESTION, {"recursion_limit": 7}), 7),
    ],
)
def test_a_limit_of_steps_that_was_chosen_holds(call: Any, limit: int) -> None:
    with pytest.raises(GraphRecursionError, match=f"limit of {limit} reached"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: LONG.invoke(QUESTION),
        lambda: LONG.batch([QUESTION])[0],
        lambda: chained(LONG).invoke(QUESTION),
        lambda: chained(LONG).batch([QUESTION])[0],
        lambda: in_a_host(LONG).batch([QUESTION])[0],
        lambda: SHORT.with_config(recursion_limit=3).invoke(QUESTION, {"recursion_limit": 25}),
        lambda: SHORT.with_config(recursion_limit=3).batch([QUESTION], {"recursion_limit": 25})[0],
    ],
)
def test_a_limit_that_nobody_chose_cuts_nothing_off(call: Any) -> None:
    assert call()["answer"] == "reached the end"


async def test_a_limit_holds_in_async_code() -> None:
    for run in (
        LONG.with_config(recursion_limit=3).abatch([QUESTION]),
        LONG.abatch([QUESTION], {"recursion_limit": 25}),
        LONG.with_config(recursion_limit=3).ainvoke(QUESTION),
    ):
        with pytest.raises(GraphRecursionError):
            await run
    assert [result["answer"] async for _, result in LONG.abatch_as_completed([QUESTION])] == ["reached the end"]
    with pytest.raises(GraphRecursionError):
        _ = [result async for result in LONG.abatch_as_completed([QUESTION], {"recursion_limit": 25})]


def in_a_host(graph: Any, context_schema: Any = None) -> Any:
    host: Any = StateGraph(QuestionInput, context_schema=context_schema, output_schema=AnswerOutput)
    return host.add_node("look_up", graph).add_edge(START, "look_up").compile()


@dataclass
class HostContext:
    user: str = "ann"
    hopgraph: Any = dataclass_field(default_factory=dict[str, Any])


class HostDict(TypedDict):
    user: str
    hopgraph: dict[str, Any]


def hosted(context_schema: Any, context: Any) -> Any:
    return lambda: in_a_host(migres.graph, context_schema).invoke(QUESTION, context=context)


def through_an_agent(context: Any) -> Any:
    @tool
    def look_up(question: str) -> str:
        """Answer a question from the corpus."""
        return migres.graph.invoke({"question": question})["answer"]

    call = AIMessage("", tool_calls=[{"name": "look_up", "args": dict(QUESTION), "id": "1"}])
    model = ScriptedAgentModel(replies=[call, AIMessage("Done.")])
    agent: Any = create_agent(model, [look_up], context_schema=HostContext)
    return lambda: agent.invoke({"messages": [("user", QUESTION["question"])]}, context=context)


@pytest.mark.parametrize("name", ["agent", "blendfilter"])  # LangChain's graph inside; branches that share a budget
def test_a_host_with_a_context_of_its_own_gets_the_same_result(name: str) -> None:
    graph, settings = METHODS[name].graph, {"max_llm_calls": 5}
    found = in_a_host(graph, HostContext).invoke(QUESTION, context=HostContext(hopgraph=settings))
    expected = graph.invoke(QUESTION, context=settings)
    assert found["answer"] == ANSWER
    assert found["usage"] | {"seconds": 0} == expected["usage"] | {"seconds": 0}


MISSPELT = {"max_llm_call": 1}


@pytest.mark.parametrize(
    "call",
    [
        hosted(HostContext, HostContext(hopgraph=MISSPELT)),
        hosted(HostContext, {"hopgraph": MISSPELT}),
        hosted(HostDict, HostDict(user="ann", hopgraph=MISSPELT)),
        hosted(None, {"user": "ann", "hopgraph": MISSPELT}),
        lambda: migres.graph.invoke(QUESTION, context=cast("Any", HostContext(hopgraph=MISSPELT))),
        lambda: through_an_agent(HostContext(hopgraph=MISSPELT))(),
    ],
)
def test_a_misspelt_setting_in_a_hosts_context_is_refused(call: Any) -> None:
    with pytest.raises(SettingsError, match=r"^setting 'max_llm_call' is unknown for migres; .*'max_llm_calls'\?"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: migres.graph.with_config(cast("Any", {"context": {"max_iterations": 1}})).invoke(QUESTION),
        lambda: migres.graph.invoke(QUESTION, cast("Any", {"max_iterations": 1})),
        lambda: migres.graph.invoke(QUESTION, max_iterations=1),
        lambda: migres.graph.bind(max_iteration=1).invoke(QUESTION),
        lambda: migres.graph.invoke(QUESTION, {"configurable": {"max_iteration": 1}}),
        lambda: migres.graph.invoke(QUESTION, {"configurable": {"hopgraph": {"max_iterations": 1}}}),
        lambda: migres.graph.invoke(QUESTION, context=migres.Context().model_copy(update={"max_iteration": 1})),
        lambda: in_a_host(migres.graph).invoke(QUESTION, context={"max_iteration": 1}),
        lambda: migres.graph.invoke(QUESTION, context=migres.Context(models={"decide": "offline:extractive"})),
    ],
)
def test_a_setting_that_nothing_would_read_is_refused(call: Any) -> None:
    with pytest.raises(SettingsError, match=r"max_iteration|context=MigresContext|no role 'decide'"):
        call()


def test_a_context_that_repeats_the_config_is_accepted() -> None:
    """As ag-ui-langgraph passes it, and CopilotKit with it."""
    graph = migres.build().compile(checkpointer=InMemorySaver())
    copied = {"thread_id": "1", "max_llm_calls": 1}
    assert graph.invoke(QUESTION, {"configurable": copied}, context=copied)["usage"]["llm_calls"] == 1
    for wrong in ({"thread_id": "1", **MISSPELT}, {"tone": "friendly"}):
        with pytest.raises(SettingsError, match=r"is unknown|is a setting"):
            graph.invoke(QUESTION, {"configurable": {"thread_id": "1", **MISSPELT}}, context=wrong)


@pytest.mark.parametrize("given", ["Who?", 3, [("user", "Who?")]])
def test_an_input_of_another_kind_is_one_line(given: Any) -> None:
    for graph, key in ((migres.graph, "question"), (chat.graph, "messages")):
        with pytest.raises(SettingsError, match=f'^the input is a .*; pass {{"{key}": "…"}}$'):
            cast("Any", graph).invoke(given)


def test_what_is_no_dict_under_hopgraph_is_refused_and_a_setting_holds() -> None:
    with pytest.raises(SettingsError, match="'hopgraph': expected a dict, got str"):
        in_a_host(migres.graph, HostContext).invoke(QUESTION, context=HostContext(hopgraph="max_llm_calls=1"))
    limited = in_a_host(migres.graph, HostContext).invoke(QUESTION, context=HostContext(hopgraph={"max_llm_calls": 1}))
    assert limited["usage"]["llm_calls"] == 1


def test_a_run_forks_under_other_settings_where_that_is_asked_for() -> None:
    graph = migres.build().compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke(QUESTION, thread, context=migres.Context(max_iterations=2), interrupt_before=["extract"])
    fork = graph.get_state(thread).config
    with pytest.raises(SettingsError, match=r"max_iterations = 2 .* 7.*allow_changed_settings=True"):
        graph.invoke(None, fork, context=migres.Context(max_iterations=7))
    forked = graph.invoke(None, fork, context=migres.Context(max_iterations=7, allow_changed_settings=True))
    assert forked["answer"] == ANSWER
    assert graph.invoke(None, fork, context=migres.Context(max_iterations=2)) == forked


def test_a_fork_obeys_its_new_settings() -> None:
    """The question takes two iterations, and the run began with one."""
    graph = migres.build().compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    cut_off = graph.invoke(QUESTION, thread, context=migres.Context(max_iterations=1))
    assert cut_off["stop_reason"] == "max_iterations"
    before = next(each for each in graph.get_state_history(thread) if each.next == ("decide",))
    context = migres.Context(max_iterations=7, allow_changed_settings=True)
    assert graph.invoke(None, before.config, context=context)["stop_reason"] == "answered"


@pytest.mark.parametrize("module", [migres, tree_of_reviews, chat])
def test_without_a_name_of_its_own_a_graph_has_the_methods_in_traces(module: Any) -> None:
    runs = Runs()
    compiled = module.build().compile()
    given: Any = {"messages": [("user", "Hello!")]} if module is chat else QUESTION
    compiled.invoke(given, {"callbacks": [runs]})
    assert compiled.name == module.Context.method
    assert runs.begun[module.Context.method] == 1
    assert module.build().compile(name="Mine").name == "Mine"


@pytest.mark.parametrize("module", [migres, tree_of_reviews])
def test_the_first_update_is_small_and_leaves_nothing_of_an_earlier_run(module: Any) -> None:
    graph = module.build().compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    first, again = (next(graph.stream(QUESTION, thread, stream_mode="updates")) for _ in range(2))
    assert len(repr(first)) < 600
    assert first["prepare"]["settings"] == {}
    assert again["prepare"].keys() == first["prepare"].keys()
    context = module.Context(max_iterations=3) if module is migres else module.Context(max_depth=2)
    done = graph.invoke(QUESTION, thread, context=context)
    assert done["citations"]
    begun = next(graph.stream({"question": "Who painted Guernica?"}, thread, stream_mode="updates"))["prepare"]
    assert begun["passages"] == Overwrite([])
    state = graph.get_state(thread).values
    assert (state["passages"], state["evidence"], state["calls"]) == ([], [], {})
