"""An answer with its evidence, read from a reply."""

from typing import Any

import pytest

from hopgraph.nodes.core.ask import CallResult
from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.reading import AnswerReply, excerpts_of_all_queries, read_answer
from hopgraph.state import Context
from support.node_inputs import knowledge, model_call, passage

EXCERPTS = [whole_excerpt(passage(key), 1.0) for key in ("a", "b")]


def replied(**fields: Any) -> CallResult[AnswerReply]:
    return CallResult(AnswerReply(**fields), "replied", "id", model_call())


@pytest.mark.parametrize(
    ("fields", "answer", "statements"),
    [
        ({"answer": "Lima", "used_passages": [2, 9, 2, 0]}, "Lima", [("Where? Lima", ["b"])]),
        ({"answer": "Lima", "reasoning": " So. ", "used_passages": [1]}, "Lima", [("So.", ["a"])]),
        ({"answer": "Lima"}, "Lima", []),
        ({"answer": "unanswerable", "used_passages": [1]}, "", []),
    ],
)
def test_an_answer_rests_on_the_passages_that_the_reply_names(
    fields: dict[str, Any], answer: str, statements: list[tuple[str, list[str]]]
) -> None:
    reading = read_answer(replied(**fields), Context(), EXCERPTS, question="Where?")
    assert reading["answer"] == answer
    assert [(each["statement"], each["passage_ids"]) for each in reading["evidence"]] == statements


def test_a_passage_is_shown_once_at_its_first_place() -> None:
    entries = [knowledge("q1", "b"), knowledge("q2"), knowledge("q3", "a", "b")]
    assert [each["passage_id"] for each in excerpts_of_all_queries(entries)] == ["b", "a"]
