"""A sixth method, made of the nodes of two others."""

import inspect
import json
from typing import Any

from support import sixth_method
from support.review_worlds import (
    QUESTION,
    accept,
    fused,
    read,
    reject,
    script,
    search,
    titles_in,
    world,
)
from support.walks import Script, Walk, drawn_edges, walk


def run(said: Script, **more: Any) -> Walk:
    found = world(birthplace="person ships", otherwise="film harbour")
    settings: dict[str, Any] = {"model": said.model(), "retriever": found, **more}
    return walk(sixth_method.graph, {"question": QUESTION}, sixth_method.Context(**settings))


def said_of(reviews: dict[str, str], otherwise: str = reject()) -> Script:
    return script(
        reviews,
        otherwise,
        generate_queries=lambda _: json.dumps({"queries": ["birthplace of Ada Brink"]}),
        fuse=lambda _: fused("Tallinn", 1),
        answer_step_by_step=lambda _: read("Tallinn", 1),
    )


REVIEWS = {"film": search("", "where Ada Brink was born"), "film person": accept("Tallinn")}


def test_it_takes_sixty_lines_at_most() -> None:
    assert len(inspect.getsource(sixth_method).splitlines()) <= 60


def test_what_a_review_misses_becomes_a_query() -> None:
    said = said_of(REVIEWS)
    ran = run(said)
    assert said.steps == ["review", "review", "generate_queries", "review", "review", "fuse"]
    asked = said.prompts[2]
    assert "<missing>\nwhere Ada Brink was born\n</missing>" in asked
    assert "It was directed by Ada Brink." in asked
    assert ran.state["tree"]["0.1"]["query"] == "birthplace of Ada Brink"
    assert titles_in(said.prompts[3]) == "film person"
    assert (ran.result["answer"], ran.result["stop_reason"]) == ("Tallinn", "answered")
    assert [each["passage_id"] for each in ran.result["citations"]] == ["film", "person"]


def test_the_rest_is_the_trees() -> None:
    one = said_of({"film": search("", "x"), "harbour": accept("Tallinn")})
    assert run(one, early_stop=1).result["usage"]["llm_calls"] == 3
    every = [
        run(said_of(REVIEWS)),
        run(said_of(REVIEWS), search="depth"),
        run(said_of({})),
        run(said_of({"film": search("", "x")})),
        run(said_of({}), retriever=world(otherwise="")),
    ]
    assert set[Any]().union(*(each.edges for each in every)) == drawn_edges(sixth_method.graph)
