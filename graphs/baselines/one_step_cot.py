"""OneR-CoT: one retrieval, then a chain of thought.

Beside OneR-Direct it shows what reasoning over the same passages adds.

Paper: OneR of "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step
Questions" (Trivedi et al., 2023), as Tree of Reviews compares with it (section 4.3 and Table 2), and
BlendFilter with CoT with retrieval (appendix C). The top five passages as the retriever ranks them, no
reranker; zero-shot. One call.
"""

from langgraph.graph import END, START

from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.take_top import take_top
from hopgraph.state.baselines import OneStepCotContext
from hopgraph.state.schemas import AnswerOutput, MethodState, QuestionInput

Context = OneStepCotContext
"""The settings of OneR-CoT."""


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(MethodState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(MethodState))
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("reason", answer_with("answer_step_by_step"))
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "retrieve", "take_top", "reason", "finish", END)
    return builder


graph = build().compile(name="OneR-CoT")
