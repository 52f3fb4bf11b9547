"""A sixth method: MIGRES's generator writes the query for the information that a review finds missing."""

from hopgraph.graphs.tree_of_reviews import route_after_gather, route_after_prune, route_after_review
from hopgraph.nodes.core.answer_graph import AnswerGraph
from hopgraph.nodes.core.ask import ModelCall
from hopgraph.nodes.expand import OpenPath, make_expand_node
from hopgraph.nodes.fuse import collect_evidence, fuse
from hopgraph.nodes.generate_queries import NewQueries, queries_ask
from hopgraph.nodes.prune import prune
from hopgraph.nodes.reading import make_answer_node
from hopgraph.nodes.retrieve import make_retrieve_node
from hopgraph.nodes.review import by_search_order, make_review_node
from hopgraph.state.tree_of_reviews import ReviewTreeState, TreeOfReviewsContext


class Context(TreeOfReviewsContext):
    """The settings of Tree of Reviews, and one more step that asks a model."""

    method = "missing_reviews"
    steps = (*(step for step in TreeOfReviewsContext.steps if step != "complete"), "generate_queries")


def write(path: OpenPath, _settings: Context) -> ModelCall[NewQueries]:
    """Generate a query for the information that the review of this path finds missing."""
    known, missing = [f"{each['title']}: {each['text']}" for each in path.passages], path.node["analysis"]
    return queries_ask(path.question, asked=path.asked, information=known, missing=missing, most=1)


expand = make_expand_node(write, lambda reply: "".join(reply.queries[:1]))


def build() -> AnswerGraph:
    """Join the nodes."""
    builder = AnswerGraph(ReviewTreeState, Context)
    builder.add_node("retrieve", make_retrieve_node(Context.width)).add_node("prune", prune)
    builder.add_node("review", make_review_node(by_search_order), reserve_calls=1)
    builder.add_node("expand", expand, reserve_calls=2).add_node("collect_evidence", collect_evidence)
    builder.add_node("fuse", fuse).add_node("answer", make_answer_node("answer_step_by_step"))

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
    return builder.finish_after("fuse", "answer")


graph = build().compile(name="Trees of missing information")
