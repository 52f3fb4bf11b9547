"""Reviews of paths: the verdict that two judgements give, and which paths are searched further."""

from typing import Any

import pytest
from pydantic import ValidationError

from hopgraph.nodes.review import Review, ReviewWithQuery, every_open, make_review_node
from hopgraph.state.tree_of_reviews import TreeOfReviewsContext
from support.node_inputs import node_runtime, passage, review_node, review_tree, spent
from support.review_worlds import accept
from support.servers.scripted_model import ScriptedChatModel


def test_an_accepted_path_needs_an_answer_and_a_search_a_query() -> None:
    with pytest.raises(ValidationError, match="answer is missing"):
        Review.model_validate({"relevant": True, "enough": True, "answer": "unanswerable"})
    assert Review.model_validate({"relevant": True, "enough": False}).query == ""
    with pytest.raises(ValidationError, match="query is missing"):
        ReviewWithQuery.model_validate({"relevant": True, "enough": False, "query": " \n"})
    assert ReviewWithQuery.model_validate({"relevant": False}).verdict == "reject"


@pytest.mark.parametrize(
    ("answer", "analysis", "statement"),
    [
        ("Lima", "It is in Lima.", "It is in Lima."),
        ("Night Harbour", "Night Harbour is of 1961, Day of 1974.", None),
        ("no", "Nothing is known of a second film.", None),
        ("1961", "It is one of the films of 19615.", None),
        ("Lima", "", "Who? So the answer is: Lima."),
    ],
)
async def test_an_assertion_ends_in_its_answer(answer: str, analysis: str, statement: str | None) -> None:
    state: Any = {
        "question": "Who?",
        "tree": review_tree(review_node("0.1")),
        "passages": [passage("p0.1")],
        "evidence": [],
        "stop_reason": None,
        **spent(),
    }
    settings = TreeOfReviewsContext(model=ScriptedChatModel(replies=[accept(answer, analysis)]))
    update = await make_review_node(every_open)(state, node_runtime(settings))
    (piece,) = update["evidence"]
    assert piece["statement"] == (statement or f"{analysis} So the answer is: {answer}.")
