"""Data for RA-ISF's relevance module: a question and a passage, to relevant or irrelevant.

Paper: RA-ISF, section 3.2 and Appendix A.2: the top k passages of a question are taken one by one, and a large model
says of each whether it is relevant; that label is what the module learns to write. 1,000 prompts of each data set
(section 4.5).

*Ours*: the teacher `gold`, the data set's annotation, in place of a model; gold passages that were not retrieved are
added (`own_passages`), so that there are examples of relevant ones; the reply in the form of the role.
"""

from typing import Literal

from langgraph.graph import END, START

from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.distillation.label_passages import add_own_passages, label_by_gold, label_by_teacher
from hopgraph.nodes.distillation.record import record
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.distillation import DistillationInput, DistillationState, RelevanceDataContext

Context = RelevanceDataContext


def who_labels(_state: DistillationState, settings: RelevanceDataContext) -> Literal["gold", "model"]:
    """Choose between the annotation and a teacher."""
    return settings.teacher


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(DistillationState, Context, input_schema=DistillationInput)
    builder.add_node("prepare", prepare_for(DistillationState, given=("source",)))
    builder.add_node("retrieve", retrieve)
    builder.add_node("add_own_passages", add_own_passages)
    builder.add_node("label_by_gold", label_by_gold)
    builder.add_node("label_by_teacher", label_by_teacher)
    builder.add_node("record", record)

    builder.add_path(START, "prepare", "retrieve", "add_own_passages")
    builder.add_conditional_edges(
        "add_own_passages", who_labels, {"gold": "label_by_gold", "model": "label_by_teacher"}
    )
    builder.add_path("label_by_gold", "record", END)
    builder.add_edge("label_by_teacher", "record")
    return builder


graph = build().compile(name="RA-ISF relevance data")
