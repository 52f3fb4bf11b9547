"""Gold passages: the reader, given the passages that a data set marks as the right ones.

It is the upper bound of what better retrieval can bring: the reader of OneR-Direct with nothing to find and
nothing that distracts.

No paper's method; MIGRES's preliminary experiments (section 2) give a model the gold facts in the same way.
The caller gives the passages: beside the question as `gold_passages`, a list of {"title", "text"} and
optionally "id", or by the setting of this name. Without any the question is refused. One call.
"""

from langgraph.graph import END, START

from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.take_given import take_given
from hopgraph.state.baselines import GoldInput, GoldPassagesContext, GoldState
from hopgraph.state.schemas import AnswerOutput

Context = GoldPassagesContext


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(GoldState, Context, input_schema=GoldInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(GoldState, given={"gold_passages"}))
    builder.add_node("take_given", take_given)
    builder.add_node("answer", answer_with())
    builder.add_node("finish", finish)

    builder.add_path(START, "prepare", "take_given", "answer", "finish", END)
    return builder


graph = build().compile(name="Gold passages")
