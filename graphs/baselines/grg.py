"""GRG: generate and retrieve, then generate.

The claim: passages that are retrieved and a passage that the model writes from its own knowledge make up for
each other's gaps, so a reader that is shown both answers better than with either.

Paper: Abdallah and Jatowt 2023, as GenGround compares with it (Table 2 and section 5.2). `decomposition` is its
variant for multi-hop questions: sub-questions are asked one after another, each with the answers before it and with
passages of its own (GenGround, Table 7); the question is answered from their answers. The written passage is cited as
the model's own knowledge.
*Ours*: one written passage for each query, and the reader that every baseline has, not a trained one.
"""

from typing import Literal

from langgraph.graph import END, START

from hopgraph.graphs.baselines.genread import what_was_asked
from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.answer_part import answer_part_with
from hopgraph.nodes.best_answer import best_answer_with
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.mix_passages import mix_passages
from hopgraph.nodes.next_sub_question import next_sub_question
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.sub_questions import sub_questions
from hopgraph.nodes.write_passages import write_passage
from hopgraph.state.baselines import GrgContext, PartsState
from hopgraph.state.schemas import AnswerOutput, QuestionInput

Context = GrgContext


def where_to_begin(_state: PartsState, settings: GrgContext) -> list[Literal["decompose", "generate", "retrieve"]]:
    """Break the question down first, or generate and retrieve at once."""
    return ["decompose"] if settings.decomposition else ["generate", "retrieve"]


def where_next(state: PartsState) -> list[Literal["generate", "retrieve", "compose"]]:
    """Generate and retrieve at once for the next part; compose when all are answered."""
    return ["generate", "retrieve"] if state["queries"] else ["compose"]


def build() -> MethodGraph:
    """Build the graph: its nodes and edges, not yet compiled."""
    builder = MethodGraph(PartsState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(PartsState))
    builder.add_node("decompose", sub_questions, reserve_calls=2)
    builder.add_node("next_part", next_sub_question)
    builder.add_node("generate", write_passage)
    builder.add_node("retrieve", retrieve)
    builder.add_node("mix", mix_passages, defer=True)  # a review of the queries takes longer than `generate`
    builder.add_node("read", answer_with())
    builder.add_node("read_part", answer_part_with(), reserve_calls=1)
    builder.add_node("compose", best_answer_with())
    builder.add_node("finish", finish)

    builder.add_edge(START, "prepare")
    builder.add_conditional_edges("prepare", where_to_begin, ["decompose", "generate", "retrieve"])
    builder.add_edge("decompose", "next_part")
    builder.add_conditional_edges("next_part", where_next, ["generate", "retrieve", "compose"])
    builder.add_edge("generate", "mix")
    builder.add_edge("retrieve", "mix")
    builder.add_conditional_edges("mix", what_was_asked, {"whole question": "read", "in parts": "read_part"})
    builder.add_edge("read_part", "next_part")
    builder.add_edge("read", "finish")
    builder.add_path("compose", "finish", END)
    return builder


graph = build().compile(name="GRG")
