"""The parts of a question, taken up one after the other."""

from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.parts import next_sub_question
from hopgraph.state import Context
from support.node_inputs import node_runtime


def state(parts: list[str], *answers: str, **fields: Any) -> Any:
    hops = [{**open_hop(number, f"Q{number}?"), "answer": each} for number, each in enumerate(answers, start=1)]
    return {
        "question": "Which #9?",
        "sub_questions": parts,
        "claims": [],
        "hops": hops,
        "stop_reason": None,
        "queries": [],
        **fields,
    }


@pytest.mark.parametrize(
    ("answers", "question"),
    [
        ((), "Who?"),
        (("Ada",), "Where was Ada born?"),
        (("",), "Where was “Q1” born?"),
        (("Ada", "Lima"), "Is #9 in Lima, and #3?"),
    ],
)
async def test_a_part_has_the_answers_that_it_refers_to(answers: tuple[str, ...], question: str) -> None:
    given = state(["Who?", "Where was #1 born?", "Is #9 in #2, and #3?"], *answers)
    events: list[Any] = []
    update = await next_sub_question(given, node_runtime(Context(), events))
    assert ([query["text"] for query in update["queries"]], update["iteration"]) == ([question], len(answers) + 1)
    assert [hop["question"] for hop in update["hops"]][-1] == question
    assert [event["data"] for event in events] == (
        [{"id": f"0.{len(answers) + 1}", "question": question}] if answers else []
    )


@pytest.mark.parametrize("given", [state(["Who?"], "Ada"), state(["Who?", "Where?"], "Ada", stop_reason="budget")])
async def test_nothing_is_asked_after_the_last_part_or_the_budget(given: Any) -> None:
    update = await next_sub_question(given, node_runtime(Context()))
    assert update == {"queries": []}


async def test_a_whole_question_stays_the_query() -> None:
    given = state([], queries=[{"text": "Which #9?", "why": ""}])
    assert await next_sub_question(given, node_runtime(Context())) == {}
