"""The baselines that the papers compare with, as small graphs of the same nodes."""

from collections.abc import Callable
from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.core.method_graph import Node
from hopgraph.state import MethodState
from hopgraph.state.context import ContextT


def chain(
    context: type[ContextT], state: type[MethodState] = MethodState, /, **steps: Node
) -> Callable[..., AnswerGraph[ContextT]]:
    """Return the `build` of a method whose steps, given by node name, run one after another, ending with `finish`."""

    def build(**changes: Unpack[Changes]) -> AnswerGraph[ContextT]:
        """Build the graph or a variant of it, not yet compiled."""
        builder = AnswerGraph[ContextT](state, context, **changes)
        for name, node in steps.items():
            builder.add_node(name, node)
        return builder.chain("prepare", *steps).finish_after([*steps][-1])

    return build
