"""OneR-Direct: one retrieval, then the answer.

It shows what retrieval with the question alone brings, which is where every method with several hops starts.

Paper: OneR of "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step
Questions" (Trivedi et al., 2023), as Tree of Reviews compares with it (section 4.3 and Table 2); the same
shape as RAG in RA-ISF (section 4.4). The top five passages as the retriever ranks them, no reranker;
zero-shot. One call.
"""

from langgraph.graph import END, START

from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.take_top import take_top
from hopgraph.state.baselines import OneStepContext
from hopgraph.state.schemas import AnswerOutput, MethodState, QuestionInput

Context = OneStepContext
"""The settings of OneR-Direct."""


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(MethodState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(MethodState))
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("answer", answer_with())
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "retrieve", "take_top", "answer", "finish", END)
    return builder


graph = build().compile(name="OneR-Direct")
