"""Tree of Reviews (ToR): a tree of paragraphs, each path reviewed independently.

The paper's claim: a chain of retrieval and reasoning steps is led astray by one irrelevant paragraph, and an
early error spoils everything after it. A tree whose nodes are single paragraphs, where each path is
rejected, accepted or searched further independently, isolates errors and finds more of the evidence.

Paper: "Tree of Reviews: A Tree-based Dynamic Iterative Retrieval Framework for Multi-hop Question Answering" (Li et
al., 2024, arXiv 2404.14464). Sections: retrieve and the widths 4.4, Table 6; review 3.2, Tables 7 and 8; expand and
prune 3.4, Tables 4, 5 and 9; fuse 3.3, Tables 3 and 10 to 12; rank_passages 4.2, footnote 1.

The tree is plain data in the state, and grows round by round until no path is open; every round's steps are the
method's own nodes, so that a run can be stopped, edited and forked at each.

Where this differs from the paper:
* a whole level is reviewed in parallel, and its paragraphs are compared with the evidence of the levels above;
  `search=depth` is the paper's order, one review after another;
* repetitive pruning also drops a paragraph that is already on its own path, and one that makes a path of the same
  paragraphs as another, in any order; the paper drops what is in the evidence pool;
* with completion as the expansion the reviews think aloud (Table 7); the paper does not say which of the two
  review prompts it uses there;
* completion writes only the missing paragraph; the answer that Table 9 also asks for is not used anywhere;
* evidence shows each paragraph once, and assertions refer to it by number, where the paper repeats
  the paragraphs below each assertion; on a path a paragraph is shown once;
* fusion may say "unanswerable"; with `abstain` off it then answers from own knowledge, as the paper's does;
* without any accepted path a reader answers from the relevant paragraphs seen, else from all that were retrieved,
  else, with `abstain` off, from its own knowledge; the paper leaves this open;
* the brief analysis explains how the facts lead to the answer, and ends with it; in the paper it is the answer;
* a review that cannot be parsed closes its path, even without relevance pruning;
* the options that the paper names as future work (early stop, pruning by similarity, remembering rejected
  paragraphs) are implemented, but off.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.expand import expand
from hopgraph.nodes.fuse import collect_evidence, fuse, rank_passages
from hopgraph.nodes.prune import prune
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import make_retrieve_node
from hopgraph.nodes.review import by_search_order, make_review_node
from hopgraph.nodes.review_tree import majority_nodes, nodes_with_status
from hopgraph.state.tree_of_reviews import ReviewContext, ReviewTreeState, TreeOfReviewsContext

Context = TreeOfReviewsContext


def route_after_prune(state: ReviewTreeState) -> Literal["paragraphs to review", "all paths closed"]:
    """Return whether any paragraph is waiting for its review."""
    return "paragraphs to review" if nodes_with_status(state["tree"], "open") else "all paths closed"


def route_after_review(
    state: ReviewTreeState, runtime: Runtime[TreeOfReviewsContext]
) -> Literal["SEARCH", "next paragraph", "all paths closed"]:
    """Expand open paths, review waiting ones (in a depth search), or end: nothing open, early stop, budget."""
    enough = runtime.context.early_stop
    if state["stop_reason"] or (enough is not None and len(majority_nodes(state["tree"])) >= enough):
        return "all paths closed"
    if state["frontier"]:
        return "SEARCH"
    return "next paragraph" if nodes_with_status(state["tree"], "open") else "all paths closed"


def route_after_gather(
    state: ReviewTreeState, runtime: Runtime[ReviewContext]
) -> Literal["evidence", "no evidence", "nothing to read"]:
    """Route by the evidence pool: if it is empty, read the paragraphs, or without these use own knowledge."""
    if state["evidence"]:
        return "evidence"
    readable = any(each["excerpts"] for each in state["knowledge"]) or not runtime.context.abstain
    return "no evidence" if readable else "nothing to read"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(ReviewTreeState, Context, **changes)
    builder.add_node("retrieve", make_retrieve_node(Context.width))
    builder.add_node("prune", prune)
    builder.add_node("review", make_review_node(by_search_order), reserve_calls=1)
    builder.add_node("expand", expand, reserve_calls=2)
    builder.add_node("collect_evidence", collect_evidence)
    builder.add_node("fuse", fuse)
    builder.add_node("answer", make_answer_node("answer_step_by_step"))
    builder.add_node("rank_passages", rank_passages)

    builder.chain("prepare", "retrieve", "prune")
    builder.add_conditional_edges(
        "prune", route_after_prune, {"paragraphs to review": "review", "all paths closed": "collect_evidence"}
    )
    builder.add_conditional_edges(
        "review",
        route_after_review,
        {"SEARCH": "expand", "next paragraph": "review", "all paths closed": "collect_evidence"},
    )
    builder.add_edge("expand", "retrieve")
    builder.add_conditional_edges(
        "collect_evidence",
        route_after_gather,
        {"evidence": "fuse", "no evidence": "answer", "nothing to read": "finish"},
    )
    builder.add_edge("fuse", "rank_passages")
    builder.chain("answer", "rank_passages")
    return builder.finish_after("rank_passages")


graph = build().compile(name="Tree of Reviews")
