"""A step of any method is replaced, or put between two others, and all the rest goes along."""

from collections.abc import Iterator
from functools import wraps
from importlib import import_module
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from hopgraph.graphs import METHODS, blendfilter, genground, migres, tree_of_reviews
from hopgraph.graphs.baselines import grg
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.graph_node import GraphNode
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.decide import decide
from hopgraph.nodes.retrieve import make_retrieve_node
from hopgraph.state import Context, MethodState, SettingsError
from hopgraph.state.context import method_setting
from hopgraph.state.migres import MigresState
from support.every_method import NAMES, baselines_slow

QUESTION: Any = {"question": "In which city was the director of the film Pan's Labyrinth born?"}
GOLD = [{"title": "Guillermo del Toro", "text": "Guillermo del Toro was born in Guadalajara."}]


@pytest.fixture(autouse=True)
def gold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the method that reads given passages one."""
    monkeypatch.setenv("HOPGRAPH_GOLD_PASSAGES", f'[{{"title": "{GOLD[0]["title"]}", "text": "{GOLD[0]["text"]}"}}]')


def steps_of(builder: MethodGraph, path: str = "") -> Iterator[tuple[str, GraphNode]]:
    """List the nodes that are functions, with those of subgraphs; reviews come with their nodes."""
    for name, spec in builder.nodes.items():
        node: Any = spec.runnable
        if isinstance(node, CompiledMethod):
            yield from steps_of(node.builder, f"{path}{name}.")  # pyright: ignore[reportArgumentType]
        elif isinstance(node, GraphNode) and not name.startswith("review_"):
            yield f"{path}{name}", node


def watched(name: str, node: GraphNode, ran: list[str]) -> Any:
    """Make a node of others of one of ours, which does the same and says that it ran."""

    @wraps(node.function.function)
    async def step(*given: Any, **named: Any) -> Any:
        ran.append(name)
        return await node.function.function(*given, **named)

    step.__module__ = __name__
    vars(step).pop("human_review", None)
    return step


@pytest.mark.parametrize("name", NAMES)
async def test_every_step_of_every_method_can_be_replaced(name: str) -> None:
    build: Any = import_module(METHODS[name].place.place).build
    ran = list[str]()
    steps = dict(steps_of(build()))
    builder = build(nodes={step: watched(step, node, ran) for step, node in steps.items()})
    variant = builder.compile(name=METHODS[name].graph.get_name())
    assert variant.get_graph(xray=True).draw_mermaid() == METHODS[name].graph.get_graph(xray=True).draw_mermaid()
    replaced = dict(steps_of(builder))
    assert {step: node.reserve_calls for step, node in replaced.items()} == {
        step: node.reserve_calls for step, node in steps.items()
    }
    found = await variant.ainvoke(QUESTION, context={"max_llm_calls": 4})
    assert found == await METHODS[name].graph.ainvoke(QUESTION, context={"max_llm_calls": 4})
    assert {"prepare", "finish"} <= set(ran)


async def unsure(state: MigresState, runtime: Runtime[migres.Context]) -> Any:
    """Decide as MIGRES does, but not in the first iteration."""
    update = await decide(state, runtime)
    first = state["iteration"] == 1
    return {**update, "answer": "", "stop_reason": None, "missing": state["question"]} if first else update


def test_a_replaced_step_is_reviewed_as_before() -> None:
    graph = migres.build(nodes={"decide": unsure}).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    paused: Any = graph.invoke(QUESTION, config, context=migres.Context(review_evidence=True))
    assert paused["__interrupt__"]
    assert graph.get_state(config).next == ("review_statements",)
    again: Any = graph.invoke(Command(resume=True), config, context=migres.Context(review_evidence=True))
    assert again["__interrupt__"]  # of the second iteration
    assert graph.invoke(Command(resume=True), config, context=migres.Context(review_evidence=True))["answer"]


class Patient(migres.Context):
    """MIGRES's settings, and one more."""

    method = "patient"
    max_outage: int = method_setting(2, "statements that an answer takes", ge=1)


class Counting(MigresState):
    """MIGRES's state, and one key more."""

    guarded: list[str]


async def test_settings_and_state_go_along() -> None:
    seen = list[Any]()

    def guard(state: Counting, runtime: Runtime[Patient]) -> Any:
        seen.append((runtime.context.max_outage, [*state["guarded"]]))
        return {"guarded": [*state["guarded"], "once"]}

    builder = migres.build(Context=Patient, State=Counting)
    graph = builder.insert_between("extract", "nli_verify", guard).compile()
    for _ in range(2):
        await graph.ainvoke(QUESTION, context=Patient(max_outage=3))
    assert seen[0] == (3, [])
    assert seen.count((3, [])) == 2  # `prepare` empties it


def drawn(builder: MethodGraph) -> set[tuple[str, str, Any]]:
    return {(each.source, each.target, each.data) for each in builder.compile().get_graph().edges}


def nothing(state: MethodState) -> Any:
    return {}


def test_a_step_on_a_routers_way() -> None:
    before = drawn(genground.build())
    after = drawn(genground.build().insert_between("ground", "keep", nothing))
    assert after - before == {("ground", "nothing", "empty, none left"), ("nothing", "keep", None)}
    assert before - after == {("ground", "keep", "empty, none left")}


def test_a_step_before_one_that_is_reviewed() -> None:
    after = drawn(migres.build().insert_between("generate_queries", "retrieve", nothing))
    assert ("generate_queries", "nothing", "new queries") in after
    assert {each for each in after if each[0] == "nothing"} == {
        ("nothing", "retrieve", "no review"),
        ("nothing", "review_queries", "review"),
    }


async def test_a_step_on_one_of_the_edges_that_a_node_waits_for() -> None:
    builder: Any = MethodGraph(MethodState, Context)
    ran = list[str]()
    for name in ("left", "right", "both"):
        builder.add_node(name, lambda state, name=name: ran.append(name))
    builder.add_edge(START, "left").add_edge(START, "right").add_edge(["left", "right"], "both")
    builder.insert_between("left", "both", lambda state: ran.append("guard"), "guard")
    await builder.compile().ainvoke(QUESTION)
    assert sorted(ran[:2]) == ["left", "right"]
    assert ran[2:] == ["guard", "both"]


@pytest.mark.parametrize("name", baselines_slow())
def test_a_step_on_any_edge_changes_nothing_else(name: str) -> None:
    expected, shown = METHODS[name].graph.invoke(QUESTION)["answer"], METHODS[name].graph.get_graph()
    ways = [(each.source, each.target) for each in shown.edges if "review_" not in each.source + each.target]
    for source, target in ways:
        builder = import_module(METHODS[name].place.place).build()
        try:
            builder.insert_between(source, target, nothing)
        except SettingsError as error:
            assert "a Send leads from" in str(error)  # noqa: PT017
        assert builder.compile().invoke(QUESTION)["answer"] == expected, (source, target)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda: migres.build(nodes={"decid": nothing}), r"no node 'decid'; did you mean 'decide'\?"),
        (lambda: migres.build(nodes={"decide": None}), "node decide: there is no function"),
        (lambda: migres.build(nodes={"decide.inner": nothing}), "no subgraph 'decide'"),
        (lambda: migres.build().insert_between("retrieve", "decide", nothing), "no edge from 'retrieve' to 'decide'"),
        (lambda: migres.build().insert_between("retriev", "decide", nothing), "no edge from 'retriev' to 'decide'"),
        (lambda: migres.build(Context=tree_of_reviews.Context), "not a subclass of MigresContext"),
        (lambda: migres.build(State=MethodState), "State=MethodState lacks 'confidence'; subclass MigresState"),
        (lambda: migres.build(nodes={"decide": lambda state, model: {}}), "node decide: .*'model'"),
    ],
)
def test_what_cannot_be_changed_is_one_line(change: Any, named: str) -> None:
    with pytest.raises(SettingsError, match=named) as refused:
        change()
    assert "\n" not in str(refused.value)


def test_a_send_cannot_be_stopped() -> None:
    def fan_out(state: MethodState) -> list[Send]:
        return [Send("branch", state)]

    builder: Any = MethodGraph(MethodState, Context)
    builder.add_node("begin", nothing).add_node("branch", nothing).chain(START, "begin").add_edge("branch", END)
    builder.add_conditional_edges("begin", fan_out, ["branch"])
    with pytest.raises(SettingsError, match="a Send leads from 'begin' to 'branch'"):
        builder.insert_between("begin", "branch", nothing, "guard")


def test_a_subgraphs_step_is_changed_in_the_variant_alone() -> None:
    inner: Any = MethodGraph(MethodState, Context)
    inner.add_node("first", nothing).add_node("second", nothing).chain(START, "first", "second", END)
    shared = inner.compile(name="inner")

    def outer() -> Any:
        builder: Any = MethodGraph(MethodState, Context)
        return builder.add_node("part", shared, defer=True).chain(START, "part", END)

    ran = list[str]()
    changed = outer().replace_node("part.second", lambda state: ran.append("mine"))
    changed.insert_between("part.first", "part.second", lambda state: ran.append("guard"), "guard")
    changed.compile().invoke(QUESTION)
    assert ran == ["guard", "mine"]
    outer().compile().invoke(QUESTION)
    assert len(ran) == 2
    assert changed.nodes["part"].defer
    assert changed.nodes["part"].runnable.get_name() == "inner"
    with pytest.raises(SettingsError, match="no node 'third'"):
        changed.replace_node("part.third", nothing)


def test_a_step_of_a_built_in_subgraph() -> None:
    subgraphs = {name for name, _ in steps_of(blendfilter.build()) if "." in name}
    for each in subgraphs:
        builder = blendfilter.build().replace_node(each, nothing)
        assert dict(steps_of(builder))[each].function.function is nothing


def test_options_of_a_replaced_node_stay_unless_they_are_given() -> None:
    builder = grg.build(nodes={"mix": nothing})
    assert builder.nodes["mix"].defer
    assert not builder.replace_node("mix", nothing, defer=False).nodes["mix"].defer
    other: Any = migres.build().replace_node("retrieve", make_retrieve_node(lambda *_: 1)).nodes
    assert [name for name in other if name.startswith("review_queries")] == ["review_queries"]


def test_an_error_handler_is_replaced_with_its_node() -> None:
    async def fail(state: MethodState) -> None:
        raise OSError("down")

    def answer(text: str) -> Any:
        return lambda state: Command(goto="finish", update={"answer": text})

    builder = migres.build().replace_node("decide", fail, error_handler=answer("one"))
    builder.replace_node("decide", fail).replace_node("decide", fail, error_handler=answer("two"))
    assert builder.compile().invoke(QUESTION)["answer"] == "two"
    with pytest.raises(OSError, match="down"):
        builder.replace_node("decide", fail, error_handler=None).compile().invoke(QUESTION)


def test_a_change_to_a_registered_methods_graph_stays_in_it() -> None:
    changed = METHODS["migres"].build().replace_node("decide", nothing)
    assert METHODS["migres"].build().nodes["decide"] is not changed.nodes["decide"]


@pytest.mark.parametrize("name", NAMES)
def test_every_node_may_have_a_timeout(name: str) -> None:
    assert import_module(METHODS[name].place.place).build().set_node_defaults(timeout=60).compile()
