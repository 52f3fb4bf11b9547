"""Chain of Reviews (CoR): the reviews of Tree of Reviews on one growing path.

It is the paper's own contrast: the same review, but of everything retrieved so far, so that one
irrelevant paragraph stays in every later prompt. The gain of Tree of Reviews over it is the value of the tree.

Paper: "Tree of Reviews: A Tree-based Dynamic Iterative Retrieval Framework for Multi-hop Question Answering" (Li et
al., 2024, arXiv 2404.14464). Sections: retrieve 4.3 (top 5 per query, at most 3 turns); extend_chain, review and
expand 4.4 and Table 13.

Where the paper is silent:
* the answer is the accepted review's own, without another call;
* after REJECT the chain continues with the review's query (Table 13 asks for one there too), since there is no other
  path; with `prune_relevance` it ends;
* a review sees the queries asked so far, so that it asks for something else;
* a turn that retrieves nothing new ends the chain, since its review would only be repeated;
* if the chain ends without an answer, a reader answers from the paragraphs up to the last turn that found them
  relevant, else from all, else, with `abstain` off, from none.
"""

from typing import Literal, Unpack

from hopgraph.graphs.tree_of_reviews import route_after_gather
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.expand import expand
from hopgraph.nodes.fuse import accept_chain_answer, collect_evidence
from hopgraph.nodes.prune import extend_chain
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.review import every_open, make_review_node
from hopgraph.nodes.review_tree import nodes_with_status
from hopgraph.state.tree_of_reviews import ChainOfReviewsContext, ReviewTreeState

Context = ChainOfReviewsContext


def route_after_extension(state: ReviewTreeState) -> Literal["new paragraphs", "nothing new"]:
    """Return whether the chain grew."""
    return "new paragraphs" if nodes_with_status(state["tree"], "open") else "nothing new"


def route_chain_review(state: ReviewTreeState) -> Literal["SEARCH", "ACCEPT, or the last turn"]:
    """Continue with a new query, or end the chain; an exhausted budget also ends it."""
    return "SEARCH" if state["frontier"] and not state["stop_reason"] else "ACCEPT, or the last turn"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(ReviewTreeState, Context, **changes)
    builder.add_node("retrieve", retrieve)
    builder.add_node("extend_chain", extend_chain)
    builder.add_node("review", make_review_node(every_open), reserve_calls=1)
    builder.add_node("expand", expand, reserve_calls=2)
    builder.add_node("collect_evidence", collect_evidence)
    builder.add_node("accept_answer", accept_chain_answer)
    builder.add_node("answer", make_answer_node("answer_step_by_step"))

    builder.chain("prepare", "retrieve", "extend_chain")
    builder.add_conditional_edges(
        "extend_chain", route_after_extension, {"new paragraphs": "review", "nothing new": "collect_evidence"}
    )
    builder.add_conditional_edges(
        "review", route_chain_review, {"SEARCH": "expand", "ACCEPT, or the last turn": "collect_evidence"}
    )
    builder.add_edge("expand", "retrieve")
    builder.add_conditional_edges(
        "collect_evidence",
        route_after_gather,
        {"evidence": "accept_answer", "no evidence": "answer", "nothing to read": "finish"},
    )
    return builder.finish_after("accept_answer", "answer")


graph = build().compile(name="Chain of Reviews")
