"""GRG: generate and retrieve, then generate.

The claim: retrieved passages and a passage that the model writes from its own knowledge fill each
other's gaps, so a reader that sees both answers better than with either alone.

Paper: "Generator-Retriever-Generator Approach for Open-Domain Question Answering" (Abdallah and Jatowt, 2023, arXiv
2307.11278), as GenGround compares with it (Table 2 and section 5.2). `decomposition` is its variant for multi-hop
questions: sub-questions are asked one after another, each with the previous answers and with its own passages
(GenGround, Table 7); the question is answered from their answers. The written passage is cited as the model's own
knowledge.
*Ours*: one written passage per query, and the reader that every baseline has, not a trained one.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.parts import make_sub_questions_node, next_sub_question
from hopgraph.nodes.read_hop import make_best_answer_node, make_read_hop_node
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.recall_knowledge import write_passage
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import append_written_passage
from hopgraph.state.baselines import GrgContext, PartsState

Context = GrgContext


def route_first_part(
    _state: PartsState, runtime: Runtime[GrgContext]
) -> list[Literal["decompose", "generate", "retrieve"]]:
    """Decompose the question first, or generate and retrieve right away."""
    return ["decompose"] if runtime.context.decomposition else ["generate", "retrieve"]


def route_generation(state: PartsState) -> list[Literal["generate", "retrieve", "compose"]]:
    """Generate and retrieve in parallel for the next part; compose when all are answered."""
    return ["generate", "retrieve"] if state["queries"] else ["compose"]


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(PartsState, Context, **changes)
    builder.add_node("decompose", make_sub_questions_node(), reserve_calls=2)
    builder.add_node("next_part", next_sub_question)
    builder.add_node("generate", write_passage)
    builder.add_node("retrieve", retrieve)
    builder.add_node("mix", append_written_passage, defer=True)  # a review of the queries takes longer than `generate`
    builder.add_node("read", make_answer_node())
    builder.add_node("read_part", make_read_hop_node(), reserve_calls=1)
    builder.add_node("compose", make_best_answer_node())

    builder.add_conditional_edges("prepare", route_first_part, ["decompose", "generate", "retrieve"])
    builder.add_edge("decompose", "next_part")
    builder.add_conditional_edges("next_part", route_generation, ["generate", "retrieve", "compose"])
    builder.add_edge("generate", "mix")
    builder.add_edge("retrieve", "mix")
    builder.add_branch("mix", "hops", {"in parts": "read_part"}, {"whole question": "read"})
    builder.add_edge("read_part", "next_part")
    return builder.finish_after("read", "compose")


graph = build().compile(name="GRG")
