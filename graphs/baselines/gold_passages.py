"""Gold passages: the reader with the passages that a data set marks as gold.

It is the upper bound for better retrieval: the reader of OneR-Direct with nothing to find and
no distractors.

No paper's method; MIGRES's preliminary experiments (section 2) give a model the gold facts in the same way.
The caller supplies the passages with the question, as `gold_passages`: a list of {"title", "text"} and
optionally "id", or through the setting of this name. Without any, the question is refused. One call.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.use_gold_passages import use_gold_passages
from hopgraph.state.baselines import GoldInput, GoldPassagesContext, GoldState

Context = GoldPassagesContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context, GoldInput]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph[Context, GoldInput](
        GoldState, Context, given={"gold_passages"}, input_schema=GoldInput, **changes
    )
    builder.add_node("use_gold_passages", use_gold_passages)
    builder.add_node("answer", make_answer_node())

    builder.chain("prepare", "use_gold_passages", "answer")
    return builder.finish_after("answer")


graph = build().compile(name="Gold passages")
