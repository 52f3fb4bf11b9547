"""Least-to-most: break the question down, then answer from the simplest part to the question itself.

The paper's claim: a problem that is harder than any worked example can be solved by reducing it to simpler
ones first and solving these in order, each with the answers before it. RA-ISF's tables run it without
retrieval, which is the default here.

Paper: "Least-to-Most Prompting Enables Complex Reasoning in Large Language Models" (Zhou et al., 2023, arXiv
2205.10625); the table: RA-ISF, section 4.4 and Tables 1 and 2.

Where this differs from the paper:
* zero-shot unless `demonstrations` is set;
* an answer is short, not a rationale;
* with retrieval (`retrieval=true`; the paper has none) each question looks up its own passages, with the
  answers before it in the query.

N sub-questions cost N + 2 calls.
"""

from typing import Unpack

from hopgraph.nodes.answer_in_turn import answer_in_turn
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.next_part import next_part, route_next_part
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.split import plant, split_with
from hopgraph.state.baselines import LeastToMostContext
from hopgraph.state.question_tree import DecomposingState

Context = LeastToMostContext


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph, or a variant of it: its nodes and edges, not yet compiled."""
    builder = AnswerGraph(DecomposingState, Context, **changes)
    builder.add_node("plant", plant)
    builder.add_node("next_part", next_part)
    builder.add_node("decompose", split_with(needs_parts=False), reserve_calls=1)
    builder.add_node("retrieve", retrieve)
    builder.add_node("answer_part", answer_in_turn)

    builder.add_path("prepare", "plant", "next_part")
    builder.add_conditional_edges(
        "next_part",
        route_next_part,
        {"whole": "decompose", "look up": "retrieve", "from knowledge": "answer_part", "settled": "finish"},
    )
    builder.add_edge("decompose", "next_part")
    builder.add_path("retrieve", "answer_part", "next_part")
    return builder.end()


graph = build().compile(name="Least-to-most")
