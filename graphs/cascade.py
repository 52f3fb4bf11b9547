"""Cascade: the cheapest method first, and the next one only if its answer is not accepted.

Not from a paper. Most questions need little: a reader answers them after one search, or says that it cannot, and such
a reader seldom answers wrongly. What it leaves open goes to the next method. A stage's answer is accepted if it
cites passages and, depending on the setting `verify`, the entailment checker or the model agrees with it. Later stages
repeat no search, and those that reason over statements, such as MIGRES, start with earlier ones; all share one budget.

The stages are a setting, `stages`: any methods that only need a question, each with its method's settings.
`hopgraph build cascade DATASET` chooses them on training questions. A stage is the method's graph as it is, with its
events; `stage_ended` reports after each stage whether its answer was accepted.
"""

from typing import Unpack

from hopgraph.graphs.registry import METHODS
from hopgraph.nodes.cascade import accept_stage, make_run_stage_node, route_stage
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.state.cascade import CascadeContext, CascadeState

Context = CascadeContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(CascadeState, Context, **changes)
    builder.add_node("run_stage", make_run_stage_node(METHODS))
    builder.add_node("accept", accept_stage)

    builder.chain("prepare", "run_stage", "accept")
    builder.add_conditional_edges("accept", route_stage, {"next stage": "run_stage", "accepted": "finish"})
    return builder.finish_after()


graph = build().compile(name="Cascade")
