"""SKR-knn: retrieve only when the model seems not to know, judging by its nearest training questions.

The paper's claim: unneeded passages mislead a model, and whether it knows an answer can be
predicted from similar questions that it has answered before.

Paper: "Self-Knowledge Guided Retrieval Augmentation for Large Language Models" (Wang et al., 2023, arXiv 2310.05002),
in its nearest-neighbor variant, as RA-ISF compares with it (Table 1). Training questions are answered with and
without passages, and labeled by whether retrieval helps, harms or makes no difference; `hopgraph build skr_knn` writes
these labels (`labels`). The k nearest questions that it helps or harms vote. If overall it helps at least as many as it
harms, retrieval happens only if more neighbors say that it helps, by a margin: the difference of all labels, over all
labeled questions, times k, rounded down. If it harms more, retrieval happens unless more say that it harms, by
that margin. The model answers with a chain of thought over passages (`one_step_cot`) or without any (`cot`).

The rule, its margin and k = 5 to 10 are those of the authors' published code. *Ours*: answers are compared by exact
match; `embedding=lexical`, the default, compares shared words (the code: SimCSE), so that nothing must be installed;
name a model, e.g. st:NAME, to compare meaning. One call.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.nodes.self_knowledge import vote_of_neighbors
from hopgraph.state.baselines import SelfRagState, SkrKnnContext

Context = SkrKnnContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(SelfRagState, Context, **changes)
    builder.add_node("vote_of_neighbors", vote_of_neighbors)
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("reason", make_answer_node("answer_step_by_step"))
    builder.add_node("reason_alone", make_answer_node("answer_step_by_step", own_knowledge=True))

    builder.chain("prepare", "vote_of_neighbors")
    builder.add_branch("vote_of_neighbors", "needs_retrieval", {"passages": "retrieve"}, {"memory": "reason_alone"})
    builder.chain("retrieve", "take_top", "reason")
    return builder.finish_after("reason_alone", "reason")


graph = build().compile(name="SKR-knn")
