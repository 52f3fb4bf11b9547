"""Tree of Reviews at its limits: broken replies, budgets, the order of completion, options that save calls."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from hopgraph.graphs import tree_of_reviews
from hopgraph.state import ModelError
from support.fake_clock import FakeClock
from support.review_worlds import (
    QUESTION,
    accept,
    completed,
    fused,
    read,
    reject,
    script,
    search,
    titles_in,
    world,
)
from support.servers.scripted_model import ScriptedChatModel, WavesChatModel
from support.walks import FixedRetriever, Script, Walk, walk

REVIEWS = {"film": search("Ada Brink"), "critic": accept("Tallinn"), "film person": accept("Tallinn")}


def found() -> FixedRetriever:
    return world(**{"about|Ada Brink": "person ships", "otherwise": "film harbour critic"})


def run(said: Script, **more: Any) -> Walk:
    settings: dict[str, Any] = {"model": said.model(), "retriever": found(), **more}
    return walk(tree_of_reviews.graph, {"question": QUESTION}, tree_of_reviews.Context(**settings))


def calls(said: Script, **more: Any) -> int:
    return run(said, **more).result["usage"]["llm_calls"]


def test_without_a_fusion_the_most_frequent_answer_stands() -> None:
    reviews = {"film": accept("Oslo"), "harbour": accept("The Tallinn"), "critic": accept("Tallinn.")}
    ran = run(script(reviews, fuse=lambda _: "?"), parse_retries=0)
    assert (ran.result["answer"], ran.result["stop_reason"]) == ("The Tallinn", "answered")
    assert [each["passage_id"] for each in ran.result["citations"]] == ["harbour", "critic"]


def test_numbers_of_assertions_that_were_not_shown_are_ignored() -> None:
    ran = run(script({"critic": accept("Tallinn")}, reject(), fuse=[fused("Tallinn", 0, 7, 1)]))
    assert [each["passage_id"] for each in ran.result["citations"]] == ["critic"]


def test_a_review_that_cannot_be_read_stays_out_of_later_prompts() -> None:
    reviews: Mapping[str, str] = {"film": "?", "critic": accept("Tallinn")}
    said = script(reviews, reject(), fuse=[fused("Tallinn", 1)])
    ran = run(said, prune_relevance=False, parse_retries=0, max_depth=2)
    assert ran.state["tree"]["0.1"]["verdict"] == "unread"
    assert ran.state["tree"]["0.1"]["status"] == "reviewed"
    assert not any(titles_in(prompt).startswith("film ") for prompt in said.prompts)


def everything_is_open() -> Script:
    return script({}, search("next"), answer_step_by_step=lambda _: read("x", 1), complete=lambda _: completed("next"))


def test_a_deadline_ends_the_search_with_the_answer_so_far(clock: FakeClock) -> None:
    said = script({"a": accept("Tallinn")}, search("next"), fuse=[fused("Tallinn", 1)])
    slow = said.model(
        latency=lambda _: clock.run_out() if said.steps.count("review") > 3 else 0
    )  # below the first level
    ran = run(said, model=slow, retriever=world(otherwise="a b c"), deadline_seconds=2)
    assert (ran.result["answer"], ran.result["stop_reason"]) == ("Tallinn", "budget")


def test_a_whole_level_is_under_way_at_once() -> None:
    model = WavesChatModel(replies=everything_is_open(), waves=[5, 5, 15, 15, 45, 1])
    found = world(otherwise="a b c d e")
    settings = tree_of_reviews.Context(model=model, retriever=found, max_parallel_calls=64, prune_repetitive=False)
    result = tree_of_reviews.graph.invoke({"question": QUESTION}, context=settings)
    assert result["usage"]["llm_calls"] == sum(model.waves) == 86


def test_early_stop_saves_the_levels_below() -> None:
    reviews = {"film": search("x"), "harbour": accept("Tallinn"), "critic": accept("tallinn")}

    def said() -> Script:
        return script(reviews, reject(), fuse=lambda _: fused("Tallinn", 1))

    assert (calls(said()), calls(said(), early_stop=3), calls(said(), early_stop=2)) == (7, 7, 4)
    assert calls(said(), early_stop=2, search="depth") == 7  # film comes first
    assert run(said(), early_stop=2).result["answer"] == "Tallinn"


def test_similarity_pruning_saves_reviews_of_the_same_text_under_another_id() -> None:
    reviews = {"film": search("x"), "critic": accept("Tallinn")}
    again = dict(found().found)
    again["about|Ada Brink"] = {
        "critic2": ("critic", "Olaf Mets wrote on Night Harbour. He praised Ada Brink of Tallinn, its director."),
        "film": again[""]["film"],
        "ships": ("ships", "Ada Brink collected model ships."),
    }

    def said() -> Script:
        return script(reviews, reject(), fuse=lambda _: fused("Tallinn", 1), complete=lambda _: completed("Ada Brink"))

    one = run(said(), retriever=FixedRetriever(found=again), prune_similar=0.9, max_depth=2)
    assert [node["why"] for node in one.state["tree"].values() if node["depth"] == 2] == [
        "similar to critic",
        "on its own path",
        "",
    ]
    every = calls(said(), retriever=FixedRetriever(found=again), max_depth=2)
    assert (every, one.result["usage"]["llm_calls"]) == (7, 6)


def test_remembering_rejected_paragraphs_saves_their_reviews() -> None:
    reviews = {"film": search("x"), "critic": accept("Tallinn")}
    again = world(about="harbour person", otherwise="film harbour critic")

    def said() -> Script:
        return script(reviews, reject(), fuse=lambda _: fused("Tallinn", 1))

    remembered = run(said(), retriever=again, remember_rejected=True)
    assert remembered.state["tree"]["0.1.1"]["why"] == "rejected before"
    assert (calls(said(), retriever=again), remembered.result["usage"]["llm_calls"]) == (7, 6)


def test_an_irrelevant_path_without_a_query_is_expanded_with_the_question() -> None:
    said = script({}, json.dumps({"relevant": False}))
    ran = run(
        said,
        expansion="direct",
        prune_relevance=False,
        retriever=world(otherwise="film"),
        max_depth=2,
        prune_repetitive=False,
    )
    assert ran.state["asked"] == [QUESTION, QUESTION]
    assert [each["data"]["written_by"] for each in ran.events if each["event"] == "expanded"] == ["question"]


class Failing(ScriptedChatModel):
    """Fails once, at the review of a paragraph below the first level."""

    failed: list[str]

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        if not self.failed and titles_in(messages[-1].text) == "film person":
            self.failed.append("once")
            raise ModelError("the server is gone")
        return await super()._agenerate(messages, *args, **kwargs)


def test_a_run_that_failed_inside_the_tree_goes_on_there() -> None:
    said = script(REVIEWS, reject(), fuse=lambda _: fused("Tallinn", 1, 2))
    model = Failing(replies=said, failed=[])
    context = tree_of_reviews.Context(model=model, retriever=found(), request_retries=0)
    graph = tree_of_reviews.build().compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}
    with pytest.raises(ModelError, match="gone"):
        graph.invoke({"question": QUESTION}, thread, context=context)
    before = said.steps.copy()
    result = graph.invoke(None, thread, context=context)
    assert before[:4] == ["review"] * 3 + ["complete"]
    assert "complete" not in said.steps[len(before) :]  # what was reviewed and completed is not paid again
    whole = run(script(REVIEWS, reject(), fuse=lambda _: fused("Tallinn", 1, 2))).result
    assert {**result, "usage": {}} == {**whole, "usage": {}}
    assert result["usage"]["llm_calls"] == whole["usage"]["llm_calls"]
