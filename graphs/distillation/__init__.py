"""Graphs that make training data: from a question with its annotation to examples for a role's student."""

from typing import Any

from langgraph.graph import END, START

from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.method_graph import MethodGraph, Node
from hopgraph.nodes.distillation.record import record
from hopgraph.nodes.prepare import prepare_for
from hopgraph.state.distillation import DistillationContext, DistillationState


def distillation_chain(context: type[DistillationContext], **steps: Node) -> CompiledMethod:
    """Compile the graph whose steps, by their nodes' names, follow one another from `prepare` to `record`."""
    builder = MethodGraph(DistillationState, context)
    nodes: dict[str, Any] = {"prepare": prepare_for(DistillationState, given=("source",)), **steps, "record": record}
    for name, node in nodes.items():
        builder.add_node(name, node)
    return builder.add_path(START, *nodes, END).compile(name=f"data for {context.role}")
