"""SKR-knn: look up only what the model does not seem to know, by its nearest training questions.

The paper's claim: passages that are looked up needlessly mislead a model, and whether it knows an answer itself can be
told from similar questions that it has answered before.

Paper: "Self-Knowledge Guided Retrieval Augmentation for Large Language Models" (Wang et al., 2023, arXiv 2310.05002),
in its variant of nearest neighbours, as RA-ISF compares with it (Table 1). Training questions are answered with and
without passages, and labelled by whether retrieval helps, harms or makes no difference; `hopgraph build skr_knn` writes
them (`labels`). The k nearest that it helps or harms vote. Where it helps at least as many of all as it harms, passages
are looked up only if more neighbours say that it helps, by a margin: the difference of all labels as a share of all
labelled questions, times k, rounded down. Where it harms more, they are looked up unless more say that it harms, by
that margin. The model answers by a chain of thought over passages (`one_step_cot`) or without any (`cot`).

The rule, its margin and k = 5 to 10 are those of the authors' published code. *Ours*: an answer is right by exact
match; `embedding=lexical`, the default, compares shared words (the code: SimCSE), so that nothing has to be installed:
name a model, e.g. st:NAME, to compare meaning. One call.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.nodes.self_knowledge import vote_of_neighbours
from hopgraph.state.baselines import SelfRagState, SkrKnnContext

Context = SkrKnnContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph, or a variant of it: its nodes and edges, not yet compiled."""
    builder = AnswerGraph(SelfRagState, Context, **changes)
    builder.add_node("vote_of_neighbours", vote_of_neighbours)
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("reason", make_answer_node("answer_step_by_step"))
    builder.add_node("reason_alone", make_answer_node("answer_step_by_step", own_knowledge=True))

    builder.chain("prepare", "vote_of_neighbours")
    builder.add_branch("vote_of_neighbours", "needs_retrieval", {"passages": "retrieve"}, {"memory": "reason_alone"})
    builder.chain("retrieve", "take_top", "reason")
    return builder.finish_after("reason_alone", "reason")


graph = build().compile(name="SKR-knn")
