"""Agent: a model that calls tools, the common baseline since 2025.

The model calls `search`, in parallel if it likes, `read` for more of a document, and `answer`, which ends
the run; LangChain's `create_agent` runs the loop. A wrong tool or argument is returned to the model as an error, and so
is an answer without citations, once. Calls count against the budget as everywhere, and the last one can only answer.

Not from a single paper; ReAct ("ReAct: Synergizing Reasoning and Acting in Language Models", Yao et al., 2023) with the
tool calls of today's models. A model that does not support tools is asked for ReAct's actions instead.
"""

from typing import Unpack

from hopgraph.nodes.agent import tool_agent
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.state import MethodState
from hopgraph.state.baselines import AgentContext

Context = AgentContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(MethodState, Context, **changes)
    builder.add_node("use_tools", tool_agent())

    builder.chain("prepare", "use_tools")
    return builder.finish_after("use_tools")


graph = build().compile(name="Agent")
