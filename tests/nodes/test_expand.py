"""Queries for open paths: the completion's, else the review's own, else the question."""

import json
from typing import Any

import pytest

from hopgraph.nodes.expand import expand
from hopgraph.state.tree_of_reviews import TreeOfReviewsContext
from support.node_inputs import node_runtime, passage, review_node, review_tree, spent
from support.servers.scripted_model import ScriptedChatModel


def expanding(query: str) -> Any:
    node = review_node("0.1", "search", query=query, analysis="The birthplace is missing.")
    return {
        "question": "Who?",
        "tree": review_tree(node),
        "frontier": ["0.1"],
        "passages": [passage("p0.1")],
        "asked": ["Who?"],
        "stop_reason": None,
        **spent(),
    }


@pytest.mark.parametrize(
    ("completion", "query", "written", "author"),
    [
        ("Ada was\n born in Oslo.", "own", "Ada was born in Oslo.", "call"),
        ("I don't know.", "own", "own", "review"),
        ("I don't know.", "", "Who?", "question"),
    ],
)
async def test_the_query_of_a_path(completion: str, query: str, written: str, author: str) -> None:
    events: list[Any] = []
    model = ScriptedChatModel(replies=[json.dumps({"passage": completion})])
    update = await expand(expanding(query), node_runtime(TreeOfReviewsContext(model=model), events))
    assert update["queries"] == [{"text": written, "why": "The birthplace is missing."}]
    assert (update["frontier"], update["iteration"], update["tree"]["0.1"]["status"]) == (["0.1"], 2, "expanded")
    assert [event["data"]["written_by"] for event in events if event["event"] == "expanded"] == [author]


async def test_the_reviews_own_query_takes_no_call() -> None:
    settings = TreeOfReviewsContext(model=ScriptedChatModel(replies=[]), expansion="cot")
    update = await expand(expanding("own"), node_runtime(settings))
    assert ([query["text"] for query in update["queries"]], update["calls"]) == (["own"], {})


async def test_a_path_beyond_the_budget_is_left_as_it_is() -> None:
    settings = TreeOfReviewsContext(model=ScriptedChatModel(replies=[]), max_tokens=1)
    update = await expand(expanding("own"), node_runtime(settings))
    assert (update["queries"], update["tree"], update["stop_reason"]) == ([], {}, "budget")
    assert "iteration" not in update
