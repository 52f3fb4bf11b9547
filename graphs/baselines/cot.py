"""CoT: a chain of thought from the model's own knowledge.

The paper's claim: a large model that writes intermediate steps before its answer solves what it fails to
answer at once. Beside Direct it shows what reasoning adds without any passage.

Paper: "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models" (Wei et al., 2022), as
BlendFilter (appendix C), GenGround (section 5.2) and Tree of Reviews (section 4.3) compare with it; zero-shot
here, as MIGRES's baselines are. One call. Nothing is cited: there are no passages.
"""

from langgraph.graph import END, START

from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.state.baselines import CotContext
from hopgraph.state.schemas import AnswerOutput, MethodState, QuestionInput

Context = CotContext
"""The settings of CoT."""


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(MethodState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(MethodState))
    builder.add_node("reason", answer_with("answer_step_by_step", own_knowledge=True))
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "reason", "finish", END)
    return builder


graph = build().compile(name="CoT")
