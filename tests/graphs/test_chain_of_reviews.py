"""Chain of Reviews end to end: one growing path, every edge of the figure."""

from typing import Any

import pytest

from hopgraph.graphs import chain_of_reviews
from support.review_worlds import (
    QUESTION,
    accept,
    completed,
    read,
    reject,
    script,
    search,
    titles_in,
    world,
)
from support.walks import Script, Walk, drawn_edges, walk

FIRST, SECOND = "film harbour", "film harbour person"


def run(said: Script, **more: Any) -> Walk:
    found = world(**{"Ada Brink|about": "film person", "otherwise": "film harbour"})
    settings: dict[str, Any] = {"model": said.model(), "retriever": found, **more}
    return walk(chain_of_reviews.graph, {"question": QUESTION}, chain_of_reviews.Context(**settings))


def two_turns() -> Script:
    return script({FIRST: search("birthplace of Ada Brink"), SECOND: accept("Tallinn", "Ada Brink is of Tallinn.")})


def test_one_path_with_everything_that_was_retrieved() -> None:
    said = two_turns()
    ran = run(said)
    assert said.steps == ["review", "review"]
    assert [titles_in(prompt) for prompt in said.prompts] == [FIRST, SECOND]
    assert ran.state["asked"] == [QUESTION, "birthplace of Ada Brink"]
    first, second = (prompt.partition("<asked>")[2].partition("</asked>")[0] for prompt in said.prompts)
    assert QUESTION in first
    assert "birthplace of Ada Brink" not in first
    assert "birthplace of Ada Brink" in second
    tree = {key: (node["passage_ids"], node["verdict"]) for key, node in ran.state["tree"].items()}
    assert tree == {
        "0": ([], "search"),
        "0.1": (["film", "harbour"], "search"),
        "0.1.1": (["person"], "accept"),
    }
    assert (ran.result["answer"], ran.result["explanation"]) == ("Tallinn", "Ada Brink is of Tallinn.")
    assert ran.result["stop_reason"] == "answered"
    assert [each["passage_id"] for each in ran.result["citations"]] == ["film", "harbour", "person"]
    usage = ran.result["usage"]
    assert (usage["llm_calls"], usage["retrievals"], usage["iterations"]) == (2, 2, 2)


def test_the_top_five_and_three_turns() -> None:
    found = world(one="f g h i j k", two="l m n o p q", otherwise="a b c d e z")
    replies = iter([search("one"), search("two"), search("three")])
    said = Script({"review": lambda _: next(replies), "answer_step_by_step": [read("x", 12)]})
    ran = run(said, retriever=found)
    assert [len(titles_in(prompt).split()) for prompt in said.prompts] == [5, 10, 15, 15]
    assert said.steps == ["review", "review", "review", "answer_step_by_step"]
    assert (ran.result["answer"], ran.result["stop_reason"]) == ("x", "max_depth")
    assert [each["passage_id"] for each in ran.result["citations"]] == ["m"]


def test_after_a_rejection_the_chain_goes_on_with_the_reviews_query() -> None:
    found = world(**{"else": "person", "otherwise": "film harbour"})
    said = script({FIRST: reject(), SECOND: accept("Tallinn")})
    ran = run(said, retriever=found)
    assert (said.steps, ran.result["answer"]) == (["review", "review"], "Tallinn")
    assert ran.state["asked"] == [QUESTION, "else"]
    said = script({FIRST: reject()})
    ran = run(said, retriever=found, prune_relevance=True)
    assert said.steps == ["review", "answer_step_by_step"]
    assert (ran.result["answer"], ran.result["stop_reason"]) == ("", "unanswerable")


def test_after_turns_of_rejections_a_reader_has_all_that_was_retrieved() -> None:
    found = world(one="c d", two="e f", otherwise="a b")
    replies = iter([reject(query) for query in ("one", "two", "three")])
    said = Script({"review": lambda _: next(replies), "answer_step_by_step": [read("x", 3)]})
    ran = run(said, retriever=found)
    assert titles_in(said.prompts[-1]) == "a b c d e f"
    assert (ran.result["answer"], ran.result["stop_reason"]) == ("x", "max_depth")


def test_a_later_rejection_leaves_the_paragraphs_that_were_relevant() -> None:
    said = script({FIRST: search("Ada Brink"), SECOND: reject()}, answer_step_by_step=[read("Oslo", 1)])
    ran = run(said)
    assert titles_in(said.prompts[-1]) == FIRST
    assert [each["passage_id"] for each in ran.result["citations"]] == ["film"]


@pytest.mark.parametrize(
    ("expansion", "steps"),
    [("direct", ["review_directly"] * 2), ("cot", ["review"] * 2), ("mpc", ["review", "complete", "review"])],
)
def test_the_expansions_of_the_tree(expansion: str, steps: list[str]) -> None:
    said = two_turns()
    said.replies["complete"] = lambda _: completed("about Ada Brink")
    assert run(said, expansion=expansion).result["answer"] == "Tallinn"
    assert said.steps == steps


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_last_call_of_a_budget_gives_an_answer(limit: int) -> None:
    said = script({}, search("Ada Brink"), answer_step_by_step=[read("x", 1)])
    ran = run(said, max_llm_calls=limit)
    assert said.steps == ["review"] * (limit - 1) + ["answer_step_by_step"]
    assert (ran.result["answer"], ran.result["stop_reason"]) == ("x", "budget")


def test_the_preset_shows_the_demonstrations_of_the_tree() -> None:
    assert chain_of_reviews.Context.preset("multi_hop").demonstrations == "multi_hop"
    said = two_turns()
    model = said.model()
    run(said, model=model, demonstrations="multi_hop")
    assert [message.type for message in model.calls[0].messages].count("ai") == 3


def test_every_edge_of_the_drawing_is_walked() -> None:
    again = script({FIRST: search("harbours")}, answer_step_by_step=[read("x", 1)])  # finds the same again
    ran = [run(two_turns()), run(again), run(script({}), retriever=world(otherwise=""))]
    assert set[Any]().union(*(each.edges for each in ran)) == drawn_edges(chain_of_reviews.graph)
