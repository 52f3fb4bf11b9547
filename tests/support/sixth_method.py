"""A sixth method: a review says what its path lacks, and MIGRES's generator writes the query for exactly that."""

from hopgraph.graphs.tree_of_reviews import anything_new, what_was_decided, what_was_found
from hopgraph.nodes.core.answer_graph import AnswerGraph
from hopgraph.nodes.core.ask import Ask
from hopgraph.nodes.expand import OpenPath, expand_with
from hopgraph.nodes.fuse import fuse
from hopgraph.nodes.gather import gather
from hopgraph.nodes.generate_queries import NewQueries, queries_ask
from hopgraph.nodes.prune import prune
from hopgraph.nodes.reading import answer_with
from hopgraph.nodes.retrieve import retrieve_with
from hopgraph.nodes.review import by_search_order, review_with
from hopgraph.state.tree_of_reviews import ReviewTreeState, TreeOfReviewsContext


class Context(TreeOfReviewsContext):
    """The settings of Tree of Reviews, and one more step that asks a model."""

    method = "missing_reviews"
    steps = (*(step for step in TreeOfReviewsContext.steps if step != "complete"), "generate_queries")


def write(path: OpenPath, _settings: Context) -> Ask[NewQueries]:
    """Ask for the query that finds what the review of this path lacks."""
    known, missing = [f"{each['title']}: {each['text']}" for each in path.passages], path.node["analysis"]
    return queries_ask(path.question, asked=path.asked, information=known, missing=missing, most=1)


expand = expand_with(write, lambda reply: "".join(reply.queries[:1]))


def build() -> AnswerGraph:
    """Join the nodes."""
    builder = AnswerGraph(ReviewTreeState, Context)
    builder.add_node("retrieve", retrieve_with(Context.width)).add_node("prune", prune)
    builder.add_node("review", review_with(by_search_order), reserve_calls=1)
    builder.add_node("expand", expand, reserve_calls=2).add_node("gather", gather)
    builder.add_node("fuse", fuse).add_node("answer", answer_with("answer_step_by_step"))

    builder.add_path("prepare", "retrieve", "prune")
    builder.add_conditional_edges(
        "prune", anything_new, {"paragraphs to review": "review", "all paths closed": "gather"}
    )
    builder.add_conditional_edges(
        "review", what_was_decided, {"SEARCH": "expand", "next paragraph": "review", "all paths closed": "gather"}
    )
    builder.add_edge("expand", "retrieve")
    builder.add_conditional_edges(
        "gather", what_was_found, {"evidence": "fuse", "no evidence": "answer", "nothing to read": "finish"}
    )
    return builder.end("fuse", "answer")


graph = build().compile(name="Trees of missing information")
