"""VANILLA: retrieve, rerank, then answer from the best passages.

It shows what a reader makes of the k passages that a reranker finds best, as they are.

Paper: "Enabling Large Language Models to Generate Text with Citations" (ALCE; Gao et al., 2023), as MIGRES
compares with it (section 4.2 and Table 3): 50 passages, reranked, k = 5, zero-shot. A short answer in place
of ALCE's long one. No passage is dropped for its score, unless `threshold` is set. One call.
"""

from langgraph.graph import END, START

from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.rerank import rerank, take_best
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.baselines import VanillaContext
from hopgraph.state.schemas import AnswerOutput, MethodState, QuestionInput

Context = VanillaContext
"""The settings of VANILLA."""


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(MethodState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(MethodState))
    builder.add_node("retrieve", retrieve)
    builder.add_node("rerank", rerank)
    builder.add_node("take_best", take_best)
    builder.add_node("answer", answer_with())
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "retrieve", "rerank", "take_best", "answer", "finish", END)
    return builder


graph = build().compile(name="VANILLA")
