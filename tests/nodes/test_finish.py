"""What an answer rests on, its citations and the totals of a run."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import passages_by_id
from hopgraph.nodes.finish import cite, cited_evidence, finish, total
from hopgraph.state.baselines import DirectContext
from hopgraph.state.migres import MigresContext
from support.node_inputs import evidence, model_call, passage


def finishing(**fields: Any) -> Any:
    state: Any = {
        "answer": "Lima",
        "explanation": "It is the capital.",
        "evidence": [evidence(1, "Lima is a city.", "a"), evidence(2, "Cats purr.", "b")],
        "used": [],
        "passages": [passage("a"), passage("b", hop=2), passage("c", hop=2)],
        "iteration": 2,
        "stop_reason": None,
        "calls": {},
        "started_at": 0.0,
        **fields,
    }
    return state


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ({"used": ["1.1.2"]}, ["1.1.2"]),
        ({}, ["1.1.1"]),
        ({"answer": "no", "explanation": ""}, ["1.1.1", "1.1.2"]),
        ({"used": ["9.9.9"]}, ["1.1.1"]),
    ],
)
def test_what_the_answer_rests_on(fields: dict[str, Any], ids: list[str]) -> None:
    assert [each["id"] for each in cited_evidence(finishing(**fields))] == ids


async def test_without_abstaining_an_answer_that_rests_on_nothing_cites_the_model() -> None:
    state = finishing(answer="no", explanation="Nobody did.")
    update = await finish(state, Runtime(context=MigresContext(abstain=False)))
    assert [(each["kind"], each["quote"]) for each in update["citations"]] == [("model", "Nobody did.")]
    named = await finish(finishing(answer="no", used=["1.1.2"]), Runtime(context=MigresContext(abstain=False)))
    assert [each["passage_id"] for each in named["citations"]] == ["b"]
    direct = await finish(finishing(evidence=[]), Runtime(context=DirectContext(abstain=False)))
    assert direct["citations"] == []


def test_a_passage_is_cited_once() -> None:
    cited = cite([evidence(1, "One", "a", "b"), evidence(2, "Two", "a")], passages_by_id([passage("a"), passage("b")]))
    assert [(each["passage_id"], each["quote"]) for each in cited] == [("a", "One."), ("b", "One.")]


def test_a_citation_says_where_its_passage_stands() -> None:
    placed: Any = {**passage("a"), "metadata": {"source": "a.pdf", "page": 2, "section": "A > B", "author": "Ada"}}
    [cited] = cite([evidence(1, "One", "a")], passages_by_id([placed]))
    assert (cited.get("source"), cited.get("page"), cited.get("section"), "url" in cited) == (
        "a.pdf",
        2,
        "A > B",
        False,
    )
    assert "author" not in cited


def test_totals_add_up() -> None:
    usage = total(
        [
            model_call(passages=3),
            model_call(attempts=2, parse_failures=1),
            model_call(kind="retrieval", attempts=0, passages=50),
        ],
        2,
    )
    assert (usage["llm_calls"], usage["retrievals"], usage["passages"], usage["parse_failures"]) == (3, 1, 3, 1)
    assert set(total([], 0).values()) == {0}
