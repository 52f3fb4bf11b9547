"""Names of other packages that nothing documents are still there; a failure names the one that an upgrade took away."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import push_message
from typing_extensions import TypedDict

from hopgraph.tools.io.framework_internals import message_handlers


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
