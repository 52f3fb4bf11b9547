"""ITER-RETGEN: alternating retrieval and generation, each helped by the other.

The paper's claim: the text that a model generates from the passages of one turn describes what is relevant better than
the question does, so searching with both together finds better passages for the next turn, without any control
over how the model reasons.

Paper: "Enhancing Retrieval-Augmented Large Language Models with Iterative Retrieval-Generation Synergy" (Shao et al.,
2023, arXiv 2305.15294), as all five papers compare with it: MIGRES (Tables 3 and 4: two turns, five passages),
BlendFilter, GenGround (as RetGen, without saying how many turns it takes), RA-ISF and Tree of Reviews.

Where this differs from the paper:
* zero-shot unless `demonstrations` is set;
* a turn whose reply has no answer keeps the previous answer;
* if nothing was generated the run ends, since the same query would be searched again.

T turns cost T calls and T searches.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.reading import answer_again, extend_query
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.state.baselines import IterRetgenContext, IterRetgenState

Context = IterRetgenContext


def route_next_turn(state: IterRetgenState, runtime: Runtime[IterRetgenContext]) -> Literal["next turn", "last turn"]:
    """Return whether turns are left and the generated text adds to the question."""
    left = state["iteration"] < runtime.context.iterations and state["stop_reason"] != "budget"
    return "next turn" if left and state["generated"] else "last turn"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(IterRetgenState, Context, **changes)
    builder.add_node("retrieve", retrieve)
    builder.add_node("take_top", take_top)
    builder.add_node("generate", answer_again)
    builder.add_node("extend_query", extend_query)

    builder.chain("prepare", "retrieve", "take_top", "generate")
    builder.add_conditional_edges("generate", route_next_turn, {"next turn": "extend_query", "last turn": "finish"})
    builder.add_edge("extend_query", "retrieve")
    return builder.finish_after()


graph = build().compile(name="ITER-RETGEN")
