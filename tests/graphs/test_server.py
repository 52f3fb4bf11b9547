"""The development server loads every graph of langgraph.json, and shows and runs it; all through langgraph-sdk."""

from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from hopgraph.graphs import METHODS, chat
from hopgraph.state import Context
from support.servers.remote_graphs import GRAPHS, QUESTION, Check, EveryGraph, RemoteThread, asking

pytestmark = pytest.mark.slow
FANS_OUT = {"blendfilter": {"retrieve"}, "grg": {"prepare", "next_part"}}
"""Nodes that go on to several others at once, by switches: their edges have no label, since nothing is chosen."""
SUBGRAPHS = {
    "agent": {"use_tools": {"model", "tools"}},
    "ra_isf": {"solve": {"self_knowledge", "retrieve", "judge_relevance"}},
    "chat": {"look_up": {"migres:sentence_filter", "ra_isf:solve:retrieve", "one_step:answer"}},
}
"""Nodes that are graphs, and some of what is inside."""


def context_of(name: str) -> type[Context]:
    return chat.Context if name == "chat" else METHODS[name].Context


async def assistant_of(remote: LangGraphClient, name: str) -> str:
    return (await remote.assistants.search(graph_id=name))[0]["assistant_id"]


async def form_and_settings(remote: LangGraphClient, name: str) -> None:
    """The form asks for a question only; each setting has its description, group, bounds and choices."""
    schemas: Any = await remote.assistants.get_schemas(await assistant_of(remote, name))
    asked_for = "messages" if name == "chat" else "question"
    given = {"gold_passages"} if name == "gold_passages" else set[str]()
    assert schemas["input_schema"]["properties"].keys() == {asked_for} | given
    assert name == "chat" or schemas["input_schema"]["required"] == [asked_for]
    assert {"answer", "citations"} <= schemas["output_schema"]["properties"].keys() or name == "chat"
    settings = schemas["context_schema"]["properties"]
    assert settings.keys() == context_of(name).model_fields.keys()
    assert not schemas["context_schema"].get("required")
    assert all(each["description"] and each["group"] for each in settings.values())
    assert (settings["top_k"]["minimum"], settings["top_k"]["maximum"]) == (1, 1000)
    assert settings["answer_type"]["enum"] == ["short", "yes_no", "sentence", "full", "auto"]
    assert settings["max_llm_calls"]["group"] == "Limits"
    assert name != "chat" or "migres" in settings["use_method"]["enum"]


async def drawn(remote: LangGraphClient, name: str) -> None:
    """All nodes and labeled edges are there; xray shows what is inside of subgraphs, and changes nothing else."""
    assistant = await assistant_of(remote, name)
    shown: Any = await remote.assistants.get_graph(assistant)
    nodes = {str(each["id"]) for each in shown["nodes"]}
    assert {"__start__", "__end__", "prepare", "reply" if name == "chat" else "finish"} <= nodes
    choices = [edge for edge in shown["edges"] if edge.get("conditional")]
    fans_out = {each["source"] for each in choices} - {each["source"] for each in choices if each.get("data")}
    assert all(each.get("data") for each in choices if each["source"] not in fans_out)
    assert fans_out == FANS_OUT.get(name, set())
    inside = SUBGRAPHS.get(name, {})
    whole: Any = await remote.assistants.get_graph(assistant, xray=True)
    found = {str(each["id"]) for each in whole["nodes"]}
    assert {each for each in found if ":" not in each} == nodes - inside.keys()
    assert {f"{outer}:{node}" for outer, within in inside.items() for node in within} <= found
    assert bool(inside) == any(":" in each for each in found)
    below = dict(await remote.assistants.get_subgraphs(assistant, recurse=True))
    assert {each.split("|")[0] for each in below} == inside.keys()


async def answered_with_steps(remote: LangGraphClient, name: str) -> None:
    thread = await RemoteThread.begin(remote, name)
    events, last = list[str](), dict[str, Any]()
    async for chunk in remote.runs.stream(
        thread.id,
        name,
        input=asking(name),
        stream_mode=["custom", "values"],
        stream_subgraphs=True,
        context=thread.context,
    ):
        assert chunk.event != "error", chunk.data
        if chunk.event.startswith("custom"):
            events.append(chunk.data["event"])
        elif chunk.event == "values":
            last = chunk.data
    values = await thread.values()
    assert values["stop_reason"] in {"answered", "unanswerable", "max_iterations"}
    assert name not in {"migres", "chat"} or values["answer"] == "Guadalajara"
    assert {"asked", "answered"} <= set(events)
    assert last.get("answer", values["answer"]) == values["answer"]


CHECKS = [form_and_settings, drawn, answered_with_steps]


def test_it_lists_the_graphs_of_its_file(client: SyncLangGraphClient) -> None:
    assert sorted(each["graph_id"] for each in client.assistants.search(limit=100)) == GRAPHS
    assert set(GRAPHS) == {"chat", *(module.Context.method for module in METHODS.values())}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda each: each.__name__)
def test_every_graph(every_graph: EveryGraph, check: Check, name: str) -> None:
    every_graph.holds(check, name)


def test_a_setting_out_of_bounds_is_refused(client: SyncLangGraphClient) -> None:
    thread = client.threads.create()["thread_id"]
    chunks = list(
        client.runs.stream(
            thread, "migres", input=asking("migres"), context={"max_iterations": 99}, stream_mode="values"
        )
    )
    errors = [str(chunk.data) for chunk in chunks if chunk.event == "error"]
    assert errors
    assert "max_iterations" in errors[0]


def test_nothing_blocked_the_event_loop(log_file: Path, client: SyncLangGraphClient) -> None:
    """Of all that ran on the server before."""
    client.runs.wait(None, "migres", input={"question": QUESTION}, raise_error=True)
    assert "BlockingError" not in log_file.read_text(errors="replace")
