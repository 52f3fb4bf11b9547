"""Adaptive-RAG: classify the question first, then answer it without search, with one search, or with several.

The paper's claim: questions differ in complexity. A classifier that sends each one to the cheapest strategy that can
answer it is nearly as accurate as always using the most expensive one, at a fraction of its cost.

Paper: "Adaptive-RAG: Learning to Adapt Retrieval-Augmented Large Language Models through Question Complexity" (Jeong et
al., 2024, arXiv 2403.14403), section 3.2: classes A, B and C are the model alone, one retrieval, and IRCoT. The paper
trains T5-large on which strategy answered which question; *ours* asks the model itself, in one call, without training.

The three methods are a setting, `stages`: any that only need a question, each with its method's settings.
"""

from typing import Unpack

from hopgraph.graphs.registry import METHODS
from hopgraph.nodes.cascade import make_classify_node, make_run_stage_node
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.state.cascade import AdaptiveRagContext, StagesState

Context = AdaptiveRagContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(StagesState, Context, **changes)
    builder.add_node("classify", make_classify_node(METHODS), reserve_calls=1)
    builder.add_node("run_stage", make_run_stage_node(METHODS, alone=True))

    builder.chain("prepare", "classify", "run_stage")
    return builder.finish_after("run_stage")


graph = build().compile(name="Adaptive-RAG")
