"""A question broken down into parts."""

from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.sub_questions import next_sub_question, route_sub_question, sub_questions, verifying_questions
from hopgraph.state import Context
from hopgraph.state.baselines import GenReadContext
from hopgraph.state.blendfilter import Draft
from hopgraph.state.revising import VerifyAndEditContext
from support.node_inputs import model_call, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ('{"sub_questions": ["Who?", "When was #1 born?", "Why?"]}', ["Who?", "When was #1 born?"]),
        ('{"sub_questions": ["where?"]}', []),  # the question itself is no part of it
        ("?", []),
    ],
)
async def test_the_parts_are_in_the_models_order(reply: str, parts: list[str]) -> None:
    settings = GenReadContext(model=ScriptedChatModel(replies=[reply]), max_sub_questions=2, parse_retries=0)
    state: Any = {"question": "Where?", "stop_reason": None, **spent()}
    update = await sub_questions(state, node_runtime(settings))
    assert update["sub_questions"] == parts
    assert update["stop_reason"] is None


def state(parts: list[str], *answers: str, **fields: Any) -> Any:
    hops = [{**open_hop(number, f"Q{number}?"), "answer": each} for number, each in enumerate(answers, start=1)]
    return {"question": "Which #9?", "sub_questions": parts, "hops": hops, "stop_reason": None, "queries": [], **fields}


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
    after: Any = {**given, **update}
    assert route_sub_question(after) == "look up"


@pytest.mark.parametrize("given", [state(["Who?"], "Ada"), state(["Who?", "Where?"], "Ada", stop_reason="budget")])
async def test_nothing_is_asked_after_the_last_part_or_the_budget(given: Any) -> None:
    update = await next_sub_question(given, node_runtime(Context()))
    assert update == {"queries": []}
    after: Any = {**given, **update}
    assert route_sub_question(after) == "all answered"


async def test_a_whole_question_stays_the_query() -> None:
    given = state([], queries=[{"text": "Which #9?", "why": ""}])
    assert await next_sub_question(given, node_runtime(Context())) == {}
    assert route_sub_question(given) == "look up"


def draft(answer: str, reasoning: str) -> Draft:
    return Draft(reasoning=reasoning, answer=answer, evidence=[])


DRAFTS = [draft("x", "Of x."), draft("y", "One. Two. Three."), draft("Y.", "Later.")]


@pytest.mark.parametrize(
    ("drafts", "most", "generated"),
    [
        (DRAFTS, 9, ["One.", "Two.", "Three."]),
        (DRAFTS, 2, ["One.", "Two."]),
        (DRAFTS[:2], 9, ["Of x."]),
        ([draft("", "Maybe.")], 9, ["Maybe."]),
        ([draft("x", "")], 9, []),
        ([], 9, []),
    ],
)
async def test_each_sentence_of_the_majoritys_first_sample_is_asked_about(
    drafts: list[Draft], most: int, generated: list[str]
) -> None:
    state: Any = {"question": "q?", "drafts": drafts, "stop_reason": None, **spent()}
    model = ScriptedChatModel(replies=[f'{{"queries": ["Q{number}?"]}}' for number in range(3)])
    update = await verifying_questions(state, node_runtime(VerifyAndEditContext(model=model, max_sentences=most)))
    assert update["claims"] == generated
    assert update["sub_questions"] == ["Q0?", "Q1?", "Q2?"][: len(model.calls)]
    assert len(model.calls) == max(1, len(generated))


async def test_a_sentence_that_the_budget_does_not_reach_is_its_own_query() -> None:
    state: Any = {"question": "q?", "drafts": DRAFTS, "stop_reason": None, **spent(model_call())}
    settings = VerifyAndEditContext(model=ScriptedChatModel(replies=['{"queries": ["Q?"]}']), max_llm_calls=2)
    update = await verifying_questions(state, node_runtime(settings))
    assert (update["sub_questions"], update["stop_reason"]) == (["Q?", "Two.", "Three."], "budget")
