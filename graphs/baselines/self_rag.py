"""Self-RAG: the model decides whether to retrieve, answers from each passage and critiques each answer.

The paper's claim: a model that is trained to write reflection tokens retrieves only when that helps, and indicates
which passage is relevant, which answer is supported by it and which is useful, so that the best can be chosen.

Paper: "Self-RAG: Learning to Retrieve, Generate, and Critique through Self-Reflection" (Asai et al., 2023, arXiv
2310.11511), as RA-ISF compares with it (section 4.2 and Table 1). Passages are looked up if the share of Retrieval
among the retrieval tokens exceeds a threshold; an answer is written from each, in parallel, and scored by likelihood +
relevance + support + ½ utility, the last three by the probabilities of their groups' tokens. With `reflection=tokens`
these come from Self-RAG's own weights, through a completions endpoint. `records`, the default and *ours*, asks any
model for the judgements as records: without the trained weights it is not the paper's Self-RAG, and has no likelihood.

Threshold, weights and formats are those of the authors' published code. Where this differs:
* one segment, the short answer, and so no beam search over segments; no passage is dropped beforehand;
* a token that is not among the top 20 at its position, as many as servers list, counts as impossible;
* text of passages and questions that looks like a token or a tag is altered, so that it is neither.

k passages cost k + 1 calls in two turns; an answer from memory costs two.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.reflect import critique, decide_retrieval
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.state.baselines import SelfRagContext, SelfRagState

Context = SelfRagContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(SelfRagState, Context, **changes)
    builder.add_node("decide", decide_retrieval, reserve_calls=1)
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("critique", critique)

    builder.chain("prepare", "decide")
    builder.add_branch("decide", "needs_retrieval", {"passages": "retrieve"}, {"memory": "critique"})
    builder.chain("retrieve", "take_top", "critique")
    return builder.finish_after("critique")


graph = build().compile(name="Self-RAG")
