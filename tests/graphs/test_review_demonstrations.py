"""The worked examples of the methods that review paths: usable replies, one for each way a review can go."""

import json

import pytest
from pydantic import BaseModel

from hopgraph.nodes.expand import Completion
from hopgraph.nodes.fuse import Fusion
from hopgraph.nodes.review import ReviewWithQuery
from hopgraph.tools.models import parse_reply
from hopgraph.tools.prompts import read_demonstrations
from support.sample import read_sample_passages

SCHEMAS: dict[str, type[BaseModel]] = {
    "review": ReviewWithQuery,
    "review_directly": ReviewWithQuery,
    "complete": Completion,
    "fuse": Fusion,
}


@pytest.mark.parametrize("method", ["tree_of_reviews", "chain_of_reviews"])
@pytest.mark.parametrize("step", SCHEMAS)
def test_there_are_three_with_replies_that_can_be_read(method: str, step: str) -> None:
    examples = read_demonstrations(f"{method}/{step}", "multi_hop")
    assert len(examples) == 3
    for example in examples:
        assert parse_reply(json.dumps(example.output), SCHEMAS[step])


@pytest.mark.parametrize("step", ["review", "review_directly"])
def test_one_goes_each_way(step: str) -> None:
    replies = [
        parse_reply(json.dumps(example.output), ReviewWithQuery)
        for example in read_demonstrations(f"tree_of_reviews/{step}", "multi_hop")
    ]
    assert {reply.verdict for reply in replies} == {"reject", "search", "accept"}


@pytest.mark.parametrize("step", SCHEMAS)
def test_none_is_about_the_sample_corpus(step: str) -> None:
    titles = {passage["title"] for passage in read_sample_passages()}
    for example in read_demonstrations(f"tree_of_reviews/{step}", "multi_hop"):
        shown = example.input.get("passages", [])
        assert isinstance(shown, list)
        assert not titles & {each["title"] for each in shown if isinstance(each, dict)}
