"""State and settings of the agent that calls tools."""

from typing import Annotated, ClassVar

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

from hopgraph.state.context import Context, StepNodes, method_setting
from hopgraph.state.schemas import MethodState


class AgentRunState(MethodState):
    """The shared keys and the conversation of the model with its tools."""

    messages: Annotated[list[AnyMessage], add_messages]
    """The calls of tools, and what these gave; the question and the instructions are in no message."""


class AgentContext(Context):
    """The settings of the agent."""

    method = "agent"
    steps = ("use_tools", "act")
    step_nodes: ClassVar[StepNodes] = {"use_tools": ("agent",), "act": ("agent",)}

    max_turns: int = method_setting(
        8, "maximum model replies, each with one or more tool calls; the last one must answer", ge=1, le=50
    )
