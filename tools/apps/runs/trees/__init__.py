"""What a run did, as one tree: made from its step events alone, for whoever shows a run.

`tree_of(question, events)` is the way in. The terminal, `hopgraph draw --run`, a chat page or a notebook draw
what it gives; none of them has to know a method.
"""

from hopgraph.tools.apps.runs.trees.build import TREE_EVENTS, tree_of
from hopgraph.tools.apps.runs.trees.folded import folded
from hopgraph.tools.apps.runs.trees.records import Kind, Quote, RunNode, RunTree, Status, children_of
from hopgraph.tools.apps.runs.trees.view import EVIDENCE, SIGNS, ShownNode, depth_below, grows, view_of

__all__ = [
    "EVIDENCE",
    "SIGNS",
    "TREE_EVENTS",
    "Kind",
    "Quote",
    "RunNode",
    "RunTree",
    "ShownNode",
    "Status",
    "children_of",
    "depth_below",
    "folded",
    "grows",
    "tree_of",
    "view_of",
]
