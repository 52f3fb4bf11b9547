"""Search-o1: reasoning interleaved with searches, each condensed in a separate call before it joins the reasoning.

The paper's claim: long passages in the middle of a chain of thought derail it. A separate step reads them in light
of the reasoning so far, and passes on only what helps ("Reason-in-Documents").

Paper: "Search-o1: Agentic Search-Enhanced Large Reasoning Models" (Li et al., 2025, arXiv 2501.05366), sections 3.3 and
3.4; limits are those of the authors' published code for multi-hop questions (10 passages per search, 10 searches).

Where this differs:
* any model with a JSON record per turn, where the paper lets a reasoning model continue after special tokens;
* all earlier thoughts are shown, where the code shortens a long chain to its first and last steps;
* passages as retrieved, where the paper reads web pages; condensed information names its passages, for the
  citations;
* after the last or a repeated search, one more call for a best-effort answer.

H searches cost 2 H + 1 calls; no prompt shows the passages of more than one search.
"""

from typing import Unpack

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.deduce import make_deduce_node, route_deduced
from hopgraph.nodes.hops.hop_history import reasoning_so_far
from hopgraph.nodes.hops.next_step import ReasoningStep
from hopgraph.nodes.read_hop import make_best_answer_node, reason_in_documents
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.baselines import SearchO1Context
from hopgraph.state.hops import HopsState

Context = SearchO1Context


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(HopsState, Context, **changes)
    reason = make_deduce_node("continue_reasoning", ReasoningStep, so_far=reasoning_so_far)
    builder.add_node("reason", reason, reserve_calls=1)
    builder.add_node("retrieve", retrieve)
    builder.add_node("reason_in_documents", reason_in_documents)
    builder.add_node("best_answer", make_best_answer_node())

    builder.add_edge("prepare", "reason")
    builder.add_conditional_edges(
        "reason", route_deduced, {"next question": "retrieve", "finished": "finish", "no further hop": "best_answer"}
    )
    builder.chain("retrieve", "reason_in_documents", "reason")
    return builder.finish_after("best_answer")


graph = build().compile(name="Search-o1")
