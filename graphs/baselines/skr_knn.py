"""SKR-knn: look up only what the model does not seem to know, by its nearest training questions.

The paper's claim: passages that are looked up needlessly mislead a model, and whether it knows an answer itself can be
told from similar questions that it has answered before.

Paper: "Self-Knowledge Guided Retrieval Augmentation for Large Language Models" (Wang et al., 2023, arXiv 2310.05002),
in its variant of nearest neighbours, as RA-ISF compares with it (Table 1). Training questions are answered with and
without passages; those that are right in one way alone are labelled, and `hopgraph build skr_knn` writes them
(`labels`). Of the k nearest to a question the share that retrieval harms is set against their share of all labels: at
least as large, and the model answers by a chain of thought of its own (`cot`), else by one over retrieved passages
(`one_step_cot`).

We know the paper by RA-ISF's account and from memory, and could not check details. *Ours*: k = 5; an answer is right
by exact match; without a neighbour that retrieval harms, passages are looked up; `embedding=lexical`, the default,
compares shared words, so that nothing has to be installed: name a model, as st:NAME, to compare meaning. One call.
"""

from typing import Unpack

from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.take_top import take_top
from hopgraph.nodes.weigh_neighbours import weigh_neighbours
from hopgraph.state.baselines import SelfRagState, SkrKnnContext

Context = SkrKnnContext


def build(**changes: Unpack[Changes]) -> AnswerGraph:
    """Build the graph, or a variant of it: its nodes and edges, not yet compiled."""
    builder = AnswerGraph(SelfRagState, Context, **changes)
    builder.add_node("weigh_neighbours", weigh_neighbours)
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("reason", answer_with("answer_step_by_step"))
    builder.add_node("reason_alone", answer_with("answer_step_by_step", own_knowledge=True))

    builder.add_path("prepare", "weigh_neighbours")
    builder.add_choice("weigh_neighbours", "needs_retrieval", {"passages": "retrieve"}, {"memory": "reason_alone"})
    builder.add_path("retrieve", "take_top", "reason")
    return builder.end("reason_alone", "reason")


graph = build().compile(name="SKR-knn")
