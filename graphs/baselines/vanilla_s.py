"""VANILLA-s: retrieve, keep the relevant sentences, then answer from them.

MIGRES's claim for it: dropping irrelevant passages and sentences before the reader sees them improves the
answers on every data set and costs fewer tokens.

Paper: MIGRES (section 4.2 and Table 3), on VANILLA of "Enabling Large Language Models to Generate Text with
Citations" (ALCE; Gao et al., 2023). The sentence filter is that of MIGRES, δ included; zero-shot. One call,
also where nothing was kept.
"""

from langgraph.graph import END, START

from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.sentence_filter import sentence_filter
from hopgraph.state.baselines import VanillaSContext
from hopgraph.state.schemas import AnswerOutput, MethodState, QuestionInput

Context = VanillaSContext
"""The settings of VANILLA-s."""


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(MethodState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(MethodState))
    builder.add_node("retrieve", retrieve)
    builder.add_node("sentence_filter", sentence_filter)
    builder.add_node("answer", answer_with())
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "retrieve", "sentence_filter", "answer", "finish", END)
    return builder


graph = build().compile(name="VANILLA-s")
