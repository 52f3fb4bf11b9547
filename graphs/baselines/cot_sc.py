"""CoT-SC: several chains of thought, and the answer that most of them come to.

The paper's claim: different ways of thinking that lead to one answer make it more likely to be right, so
sampling many chains of thought and taking the most frequent answer beats the single likeliest chain.

Paper: "Self-Consistency Improves Chain of Thought Reasoning in Language Models" (Wang et al., 2023), as
GenGround compares with it (section 5.2 and Table 2). *Ours*: five samples by default; answers that differ in
case, punctuation and articles only are equal, and of a tie the first one is taken.
One call per sample, all at the same time. Nothing is cited: there are no passages.
"""

from langgraph.graph import END, START

from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.sample_answers import sample_answers_with
from hopgraph.nodes.vote import vote
from hopgraph.state.baselines import CotScContext, SamplesState
from hopgraph.state.schemas import AnswerOutput, QuestionInput

Context = CotScContext
"""The settings of CoT-SC."""


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(SamplesState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(SamplesState))
    builder.add_node("sample", sample_answers_with(own_knowledge=True))
    builder.add_node("vote", vote)
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "sample", "vote", "finish", END)
    return builder


graph = build().compile(name="CoT-SC")
