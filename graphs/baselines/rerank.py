"""RERANK: sample four answers over the best passages, and take the one that is cited best.

The paper's claim: answers whose citations hold are better answers, so of several samples the one with the
highest citation recall is worth its three extra calls.

Paper: "Enabling Large Language Models to Generate Text with Citations" (ALCE; Gao et al., 2023), as MIGRES
compares with it (section 4.2 and Table 3): 50 passages, reranked, k = 5, four samples, zero-shot.

Where this differs from the paper:
* a sample is a chain of thought with a short answer, and names its passages once, not after each statement:
  citation recall is the share of its sentences that all of these passages together entail;
* of a tie the first sample is taken, and one without an answer never.

One call per sample, all at the same time.
"""

from langgraph.graph import END, START

from hopgraph.nodes.best_cited import best_cited
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.rerank import rerank, take_best
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.sample_answers import sample_answers_with
from hopgraph.state.baselines import RerankContext, SamplesState
from hopgraph.state.schemas import AnswerOutput, QuestionInput

Context = RerankContext
"""The settings of RERANK."""


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(SamplesState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(SamplesState))
    builder.add_node("retrieve", retrieve)
    builder.add_node("rerank", rerank)
    builder.add_node("take_best", take_best)
    builder.add_node("sample", sample_answers_with())
    builder.add_node("best_cited", best_cited)
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "retrieve", "rerank", "take_best", "sample", "best_cited", "finish", END)
    return builder


graph = build().compile(name="RERANK")
