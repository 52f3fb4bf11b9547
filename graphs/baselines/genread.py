"""GenRead: generate rather than retrieve.

The claim: a model's own knowledge comes out better when it first writes a passage and then reads the answer
off it, than when it answers at once; no retriever is needed.

Paper: Yu et al. 2022, as GenGround compares with it (Table 1 and section 5). `decomposition` is its variant
for multi-hop questions: each sub-question gets a passage and an answer of its own, all at the same time, and
the question is answered from theirs. What is read is cited as the model's own knowledge, never as a passage.
"""

from typing import Literal

from langgraph.graph import END, START

from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.answer_side_by_side import answer_side_by_side
from hopgraph.nodes.best_answer import best_answer_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.sub_questions import sub_questions
from hopgraph.nodes.write_passages import write_passages
from hopgraph.state.baselines import GenReadContext
from hopgraph.state.hops import HopsState
from hopgraph.state.schemas import AnswerOutput, QuestionInput

Context = GenReadContext


def where_to_begin(_state: HopsState, settings: GenReadContext) -> Literal["whole question", "in parts"]:
    """Whether the question is to be broken down first."""
    return "in parts" if settings.decomposition else "whole question"


def what_was_asked(state: HopsState) -> Literal["whole question", "in parts"]:
    """Whether there are sub-questions to answer."""
    whole = [query["text"] for query in state["queries"]] == [state["question"]]
    return "whole question" if whole else "in parts"


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(HopsState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(HopsState))
    builder.add_node("decompose", sub_questions, reserve_calls=2)
    builder.add_node("generate", write_passages)
    builder.add_node("read", answer_with())
    builder.add_node("read_parts", answer_side_by_side, reserve_calls=1)
    builder.add_node("compose", best_answer_with())
    builder.add_node("finish", finish)

    builder.add_edge(START, "prepare")
    builder.add_conditional_edges("prepare", where_to_begin, {"whole question": "generate", "in parts": "decompose"})
    builder.add_edge("decompose", "generate")
    builder.add_conditional_edges("generate", what_was_asked, {"whole question": "read", "in parts": "read_parts"})
    builder.add_edge("read_parts", "compose")
    builder.add_edge("read", "finish")
    builder.add_path("compose", "finish", END)
    return builder


graph = build().compile(name="GenRead")
