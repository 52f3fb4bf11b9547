"""The baselines that the papers compare with, as small graphs on the same nodes."""

from typing import Any

from langgraph.graph import END, START

from hopgraph.nodes.core.method_graph import MethodGraph, Node
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.state import AnswerOutput, Context, QuestionInput


def chain(state: type[Any], context: type[Context], **steps: Node) -> MethodGraph:
    """Build the graph of a method whose steps, by their nodes' names, follow one another from `prepare` to `finish`."""
    builder = MethodGraph(state, context, input_schema=QuestionInput, output_schema=AnswerOutput)
    nodes: dict[str, Any] = {"prepare": prepare_for(state), **steps, "finish": finish}
    for name, node in nodes.items():
        builder.add_node(name, node)
    return builder.add_path(START, *nodes, END)
