"""Direct: the question, answered from the model's own knowledge.

It shows what a model knows without any passage, and so what a retriever adds.

Paper: "Language Models are Few-Shot Learners" (Brown et al., 2020), as BlendFilter (appendix C) and Tree of
Reviews (section 4.3) compare with it; zero-shot here. One call. Nothing is cited: there are no passages.
"""

from langgraph.graph import END, START

from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.state.baselines import DirectContext
from hopgraph.state.schemas import AnswerOutput, MethodState, QuestionInput

Context = DirectContext
"""The settings of Direct."""


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(MethodState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(MethodState))
    builder.add_node("answer", answer_with(own_knowledge=True))
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "answer", "finish", END)
    return builder


graph = build().compile(name="Direct")
