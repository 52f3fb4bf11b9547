"""A sixth method: a review says what its path lacks, and MIGRES's generator writes the query for exactly that."""

from langgraph.graph import END, START

from hopgraph.graphs.tree_of_reviews import build_grow, what_was_found
from hopgraph.nodes.answer import answer_with
from hopgraph.nodes.core.ask import Ask
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.expand import OpenPath, expand_with
from hopgraph.nodes.finish import finish
from hopgraph.nodes.fuse import fuse
from hopgraph.nodes.gather import gather
from hopgraph.nodes.generate_queries import NewQueries, queries_ask
from hopgraph.nodes.prepare import prepare_for
from hopgraph.state import AnswerOutput, QuestionInput
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


def build() -> MethodGraph:
    """Join the nodes."""
    builder = MethodGraph(ReviewTreeState, Context, input_schema=QuestionInput, output_schema=AnswerOutput)
    builder.add_node("prepare", prepare_for(ReviewTreeState))
    builder.add_node("grow", build_grow(Context, expand).compile(name="grow"))
    builder.add_node("gather", gather)
    builder.add_node("fuse", fuse)
    builder.add_node("answer", answer_with("answer_step_by_step"))
    builder.add_node("finish", finish)

    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", "grow")
    builder.add_edge("grow", "gather")
    builder.add_conditional_edges(
        "gather", what_was_found, {"evidence": "fuse", "no evidence": "answer", "nothing to read": "finish"}
    )
    builder.add_edge("fuse", "finish")
    builder.add_edge("answer", "finish")
    builder.add_edge("finish", END)
    return builder


graph = build().compile(name="Trees of missing information")
