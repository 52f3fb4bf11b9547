"""Names of other packages that nothing documents are still there; a failure names the one that an upgrade took away."""

from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import push_message
from typing_extensions import TypedDict

from hopgraph.tools.io.framework_internals import assistant_of, keep_server_files_in, message_handlers


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langgraph_api", reason="the development server is not installed")
    for variable in ("DATABASE_URI", "REDIS_URI"):  # which it reads as it is imported
        monkeypatch.setenv(variable, ":memory:")


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [
        ("langgraph_api.graph", "NAMESPACE_GRAPH", UUID),
        ("langgraph_runtime_inmem.database", "OPS_FILENAME", str),
        ("langgraph_runtime_inmem.database", "GLOBAL_STORE.filename", str),
        ("langgraph_runtime_inmem.database", "GLOBAL_RETRY_COUNTER._counters.filename", str),
    ],
)
def test_it_is_there(module: str, name: str, kind: type[Any]) -> None:
    assert isinstance(reduce(getattr, name.split("."), import_module(module)), kind)


@pytest.mark.usefixtures("server")
def test_the_server_is_told_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database: Any = import_module("langgraph_runtime_inmem.database")
    monkeypatch.setattr(database, "OPS_FILENAME", database.OPS_FILENAME)
    for counter in (database.GLOBAL_STORE, database.GLOBAL_RETRY_COUNTER._counters):
        monkeypatch.setattr(counter, "filename", counter.filename)
    keep_server_files_in(tmp_path)
    assert Path(database.GLOBAL_STORE.filename).parent == tmp_path
    assert Path(database.GLOBAL_RETRY_COUNTER._counters.filename).parent == tmp_path


@pytest.mark.usefixtures("server")
def test_a_graph_has_one_assistant() -> None:
    assert assistant_of("migres") == assistant_of("migres") != assistant_of("chat")


class State(TypedDict):
    """Nothing but a key."""

    text: str


async def test_the_handlers_of_the_messages_stream() -> None:
    seen = list[Any]()

    async def node(state: State) -> Any:
        handlers = message_handlers(get_config())
        push_message(AIMessage("hello", id="1"), state_key=None)
        seen.append([sorted(each.seen) for each in handlers])
        return {}

    builder: Any = StateGraph(State).add_node("node", node).add_edge(START, "node").add_edge("node", END)
    graph = builder.compile()
    for mode in ("messages", "updates"):
        _ = [each async for each in graph.astream({"text": ""}, stream_mode=mode)]
    assert seen == [[["1"]], []], "StreamMessagesHandler of langgraph.pregel._messages, or its `seen`"
