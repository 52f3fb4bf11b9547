"""Graphs that make training data: the input is a question of a data set, the result examples for a role's student."""

from hopgraph.graphs.distillation import relevance_examples
from hopgraph.nodes.core.method_graph import CompiledMethod

DISTILLATION_GRAPHS: dict[str, CompiledMethod] = {module.Context.role: module.graph for module in (relevance_examples,)}
"""By the student's role."""
