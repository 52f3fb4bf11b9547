"""The development server loads every graph of langgraph.json; all through the real server and langgraph-sdk."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.client import SyncLangGraphClient

ROOT = Path(__file__).resolve().parents[2]
QUESTION = {"question": "In which city was the director of the film Pan's Labyrinth born?"}
FANS_OUT = {"blendfilter": {"blend", "retrieve"}, "grg": {"prepare"}}
"""Nodes that go on to several others at once, by switches: their edges have no label, since nothing is chosen."""
GRAPHS = sorted(json.loads((ROOT / "langgraph.json").read_text())["graphs"])
METHOD_GRAPHS = [name for name in GRAPHS if name != "chat"]


def test_it_lists_the_graphs_of_its_file(client: SyncLangGraphClient) -> None:
    assert sorted(each["graph_id"] for each in client.assistants.search(limit=100)) == GRAPHS


@pytest.mark.parametrize("name", METHOD_GRAPHS)
def test_its_form_and_settings_are_shown(client: SyncLangGraphClient, name: str) -> None:
    assistant = client.assistants.search(graph_id=name)[0]["assistant_id"]
    schemas: Any = client.assistants.get_schemas(assistant)
    assert schemas["input_schema"]["required"] == ["question"]
    settings = schemas["context_schema"]["properties"]
    assert settings["model"]["description"]
    assert settings["passages_per_query"]["maximum"] == 1000
    assert settings["passages_per_query"]["minimum"] == 1
    assert settings["max_llm_calls"]["group"] == "Limits"


@pytest.mark.parametrize("name", METHOD_GRAPHS)
def test_its_nodes_and_labelled_edges_are_drawn(client: SyncLangGraphClient, name: str) -> None:
    assistant = client.assistants.search(graph_id=name)[0]["assistant_id"]
    drawn: Any = client.assistants.get_graph(assistant)
    nodes = {str(each["id"]) for each in drawn["nodes"]}
    assert {"__start__", "__end__", "prepare", "finish"} <= nodes
    choices = [edge for edge in drawn["edges"] if edge.get("conditional")]
    fans_out = {each["source"] for each in choices} - {each["source"] for each in choices if each.get("data")}
    assert all(each.get("data") for each in choices if each["source"] not in fans_out)
    assert fans_out == FANS_OUT.get(name, set())


@pytest.mark.parametrize("name", METHOD_GRAPHS)
def test_it_answers_with_steps_and_without_blocking(client: SyncLangGraphClient, log_file: Path, name: str) -> None:
    thread = client.threads.create()["thread_id"]
    events: list[str] = []
    for chunk in client.runs.stream(
        thread,
        name,
        input=QUESTION,
        stream_mode=["custom", "values"],
        stream_subgraphs=True,
        context={"max_llm_calls": 200},
    ):
        assert chunk.event != "error", chunk.data
        if chunk.event.startswith("custom"):
            events.append(chunk.data["event"])
    state: Any = client.threads.get_state(thread)
    assert state["values"]["stop_reason"] in {"answered", "unanswerable", "max_iterations"}
    assert name != "migres" or state["values"]["answer"] == "Guadalajara"
    assert {"asked", "answered"} <= set(events)
    assert "BlockingError" not in log_file.read_text(errors="replace")


def test_a_setting_out_of_bounds_is_refused(client: SyncLangGraphClient) -> None:
    thread = client.threads.create()["thread_id"]
    chunks = list(
        client.runs.stream(thread, "migres", input=QUESTION, context={"max_iterations": 99}, stream_mode="values")
    )
    errors = [str(chunk.data) for chunk in chunks if chunk.event == "error"]
    assert errors
    assert "max_iterations" in errors[0]


def _posted(thread: str, content: Any, client: SyncLangGraphClient) -> tuple[list[Any], list[str]]:
    """Post a message as agent-chat-ui does; gives the messages at the end and the names of the steps."""
    last: list[Any] = []
    steps: list[str] = []
    message = {"id": str(uuid.uuid4()), "type": "human", "content": content}
    chunks = client.runs.stream(
        thread,
        "chat",
        input={"messages": [message]},
        stream_mode=["values", "custom"],
        stream_subgraphs=True,
        stream_resumable=True,
    )
    for chunk in chunks:
        assert chunk.event != "error", chunk.data
        if chunk.event == "values":
            last = chunk.data["messages"]
        elif chunk.event.startswith("custom"):
            steps.append(chunk.data["event"])
    return last, steps


def test_the_chat_takes_what_agent_chat_ui_posts(client: SyncLangGraphClient, log_file: Path) -> None:
    thread = client.threads.create()["thread_id"]
    messages, steps = _posted(thread, [{"type": "text", "text": "Who painted Guernica?"}], client)
    assert [each["type"] for each in messages] == ["human", "ai"]
    assert messages[-1]["content"].startswith("Pablo Picasso [1]\n\n[1] Guernica")
    assert messages[-1]["additional_kwargs"]["citations"][0]["passage_id"] == "guernica"
    assert {"routed", "query", "retrieved", "answered", "replied"} <= set(steps)
    messages, steps = _posted(thread, "Where was he born?", client)
    assert messages[-1]["content"].startswith("Málaga [1]")
    assert len(messages) == 4
    assert "contextualised" in steps
    assert "BlockingError" not in log_file.read_text(errors="replace")


def test_the_chat_streams_one_message_and_no_inner_tokens(client: SyncLangGraphClient) -> None:
    thread = client.threads.create()["thread_id"]
    message = {"type": "human", "content": "Who painted Guernica?"}
    chunks = list(
        client.runs.stream(
            thread, "chat", input={"messages": [message]}, stream_mode="messages-tuple", stream_subgraphs=True
        )
    )
    said = [chunk.data[0] for chunk in chunks if chunk.event.startswith("messages")]
    assert [each["content"].split(" [1]")[0] for each in said if each["type"] == "ai"] == ["Pablo Picasso"]


def test_the_chat_shows_its_settings_and_its_methods(client: SyncLangGraphClient) -> None:
    assistant = client.assistants.search(graph_id="chat")[0]["assistant_id"]
    schemas: Any = client.assistants.get_schemas(assistant)
    assert list(schemas["input_schema"]["properties"]) == ["messages"]
    assert "migres" in schemas["context_schema"]["properties"]["use_method"]["enum"]
    drawn: Any = client.assistants.get_graph(assistant, xray=True)
    assert "look_up:migres:sentence_filter" in {str(each["id"]) for each in drawn["nodes"]}
    assert "look_up" in dict(client.assistants.get_subgraphs(assistant, recurse=True))


def test_the_chat_refuses_bad_settings_and_huge_messages(client: SyncLangGraphClient) -> None:
    """Names that the schema does not have never arrive: the server leaves them out and says so in its log."""
    thread = client.threads.create()["thread_id"]
    given: Any = {"messages": [{"type": "human", "content": "Who painted Guernica?"}]}
    chunks = list(client.runs.stream(thread, "chat", input=given, context={"use_method": "x"}, stream_mode="values"))
    assert any("use_method" in str(chunk.data) for chunk in chunks if chunk.event == "error")
    messages, _ = _posted(client.threads.create()["thread_id"], "x" * 10_000_000, client)
    assert "10,000,000 characters" in messages[-1]["content"]
    assert sum(len(each["content"]) for each in messages) < 1_000
