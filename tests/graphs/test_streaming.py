"""What LangGraph's streams show of a method: its steps among the events of version 3, its answer among the messages."""

from collections.abc import AsyncIterable
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.stream import CustomTransformer, UpdatesTransformer
from typing_extensions import TypedDict

from hopgraph.graphs import ALIASES, METHODS, chat, migres, ra_isf
from support.every_method import baselines_slow
from support.honest import input_for

NAMES = sorted(METHODS.keys() - ALIASES.keys() - {"skr_knn"})
pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")


def streamed(graph: Any, given: Any, context: Any) -> list[str]:
    """Return the texts on the `messages` stream, which each come from one message."""
    chunks = list(graph.stream(given, context=context, stream_mode="messages"))
    assert len({chunk.id for chunk, _ in chunks}) == min(1, len(chunks))
    return [chunk.text for chunk, _ in chunks]


@pytest.mark.parametrize("name", baselines_slow(among=NAMES))
def test_the_messages_of_a_method_are_its_answer(name: str) -> None:
    module: Any = METHODS[name]
    given = input_for(name)
    result = module.graph.invoke(given)
    shown = streamed(module.graph, given, module.Context())
    marks = "".join(f"[{number}]" for number in range(1, len(result["citations"]) + 1))
    assert shown == ([f"{result['answer']} {marks}".rstrip()] if result["answer"] else [])


def test_a_sentence_is_streamed_once() -> None:
    shown = "".join(streamed(migres.graph, input_for("migres"), migres.Context(answer_type="sentence")))
    assert shown.count("Guadalajara") == 1


class Host(TypedDict):
    question: str
    answer: str


def test_a_host_that_runs_a_method_streams_its_own_messages_alone() -> None:
    builder: Any = StateGraph(Host)
    builder.add_node("look_up", migres.graph).add_edge(START, "look_up").add_edge("look_up", END)
    assert list(builder.compile().stream(input_for("migres"), stream_mode="messages")) == []


def test_a_chat_streams_one_reply() -> None:
    given = {"messages": [("user", input_for("migres")["question"])]}
    said = streamed(chat.graph, given, chat.Context(use_method="migres"))
    assert "".join(said).count("Guadalajara [1][2]") == 1


@pytest.mark.parametrize("transformers", [None, [CustomTransformer], [UpdatesTransformer]])
def test_the_steps_are_among_the_events_of_version_3(transformers: Any) -> None:
    graph: Any = migres.build().compile(transformers=transformers)
    run = graph.stream_events(input_for("migres"), version="v3")
    kinds = [step["event"] for step in run.custom]
    assert kinds[0] == "query"
    assert kinds[-1] == "answered"
    assert {"retrieved", "extracted", "decided"} <= set(kinds)


async def test_so_are_those_of_a_subgraph_under_its_namespace() -> None:
    run: AsyncIterable[Any] = await ra_isf.graph.astream_events(input_for("ra_isf"), version="v3")
    params = [event["params"] async for event in run if event["method"] == "custom"]
    found = [(each["namespace"], each["data"]) for each in params]
    assert {namespace[0].partition(":")[0] for namespace, _ in found if namespace} == {"solve"}
    assert {"tree_started", "answered"} <= {step["event"] for _, step in found}
    assert any(step["event"] == "asked" for namespace, step in found if namespace)
