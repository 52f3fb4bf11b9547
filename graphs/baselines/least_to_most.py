"""Least-to-most: decompose the question, then answer from the simplest part to the question itself.

The paper's claim: a problem that is harder than any worked example can be solved by reducing it to simpler
ones first and solving these in order, each with the previous answers. RA-ISF's tables run it without
retrieval, which is the default here.

Paper: "Least-to-Most Prompting Enables Complex Reasoning in Large Language Models" (Zhou et al., 2023, arXiv
2205.10625); the table: RA-ISF, section 4.4 and Tables 1 and 2.

Where this differs from the paper:
* zero-shot unless `demonstrations` is set;
* an answer is short, not a rationale;
* with retrieval (`retrieval=true`; the paper has none) each question looks up its own passages, with the
  previous answers in the query.

N sub-questions cost N + 2 calls.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.parts import make_next_sub_question_node, make_sub_questions_node
from hopgraph.nodes.read_hop import accept_last_answer, make_best_answer_node, make_read_hop_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.baselines import LeastToMostContext, PartsState

Context = LeastToMostContext


def route_next_part(
    state: PartsState, runtime: Runtime[LeastToMostContext]
) -> Literal["look up", "from knowledge", "answered", "budget"]:
    """Answer the next part, with passages or without, until the last one, the question itself, is answered."""
    if state["queries"]:
        return "look up" if runtime.context.retrieval else "from knowledge"
    return "budget" if state["stop_reason"] == "budget" else "answered"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(PartsState, Context, **changes)
    builder.add_node("decompose", make_sub_questions_node(question_last=True), reserve_calls=1)
    builder.add_node("next_part", make_next_sub_question_node(answers_in_query=True))
    builder.add_node("retrieve", retrieve)
    builder.add_node("answer_part", make_read_hop_node(key="candidates", own_knowledge=True))
    builder.add_node("accept", accept_last_answer)
    builder.add_node("best_answer", make_best_answer_node())

    builder.chain("prepare", "decompose", "next_part")
    builder.add_conditional_edges(
        "next_part",
        route_next_part,
        {"look up": "retrieve", "from knowledge": "answer_part", "answered": "accept", "budget": "best_answer"},
    )
    builder.chain("retrieve", "answer_part", "next_part")
    return builder.finish_after("accept", "best_answer")


graph = build().compile(name="Least-to-most")
