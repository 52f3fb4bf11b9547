"""Replies of the decision step, and what stands in for them."""

from typing import Any

import pytest

from hopgraph.nodes.decide import Decision, decide, final_answer
from hopgraph.state.migres import MigresContext
from hopgraph.tools.models import parse_reply
from support.node_inputs import evidence, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


@pytest.mark.parametrize(
    ("said", "confidence"), [(4, 4), ("5/5", 5), (9, 5), (0, 1), (4.6, 5), ("high", None), (None, None)]
)
def test_confidence_is_one_to_five_or_unknown(said: object, confidence: int | None) -> None:
    assert Decision.model_validate({"answer": {"text": "x", "confidence": said}}).answer.confidence == confidence


@pytest.mark.parametrize(
    "reply",
    [
        '{"answer": "1994"}',
        '{"answer": 1994}',
        '{"answer": {"text": 1994}}',
        '{"answer": {"text": "1994"}, "explanation": null, "missing_information": null, "used_information": null}',
        '{"answer": {"text": "1994"}, "used_information": [1e999]}',
        'Perhaps {"answer": "1995"}? No.</think>{"answer": "1994"}',
    ],
)
def test_usual_slips_cost_no_second_call(reply: str) -> None:
    assert parse_reply(reply, Decision).answer.text == "1994"


def deciding(**fields: Any) -> Any:
    found = [evidence(1, "Levity was directed by Ed Solomon.", "a"), evidence(2, "Ed Solomon is American.", "b")]
    return {
        "question": "Of what nationality?",
        "evidence": found,
        "iteration": 1,
        "missing": "",
        "stop_reason": None,
        **spent(),
        **fields,
    }


@pytest.mark.parametrize(("abstain", "answer", "used"), [(True, "", []), (False, "Ed Solomon is American.", ["1.1.2"])])
async def test_without_abstaining_an_unusable_last_reply_leaves_what_was_found_last(
    abstain: bool, answer: str, used: list[str]
) -> None:
    settings = MigresContext(model=ScriptedChatModel(replies=["what?"]), parse_retries=0, abstain=abstain)
    update = await final_answer(deciding(), node_runtime(settings))
    assert (update["answer"], update["used"]) == (answer, used)
    nothing = await final_answer(deciding(evidence=[]), node_runtime(settings.model_copy(update={"max_tokens": 1})))
    assert (nothing["answer"], nothing["stop_reason"]) == ("", "budget")


@pytest.mark.parametrize(("iteration", "asked"), [(1, True), (2, False), (5, False)])
async def test_nothing_is_asked_where_an_iteration_found_nothing_new(iteration: int, asked: bool) -> None:
    model = ScriptedChatModel(replies=['{"answer": "unanswerable", "missing_information": "b"}'] if asked else [])
    settings = MigresContext(model=model)
    update = await decide(deciding(iteration=iteration, missing="a"), node_runtime(settings))
    assert (update["answer"], update["missing"], len(update["calls"])) == ("", "b" if asked else "a", int(asked))
    assert update.get("stop_reason") == ("max_iterations" if iteration == settings.max_iterations else None)


async def test_a_reviewer_may_have_made_old_statements_enough() -> None:
    settings = MigresContext(model=ScriptedChatModel(replies=['{"answer": "American"}']), review_evidence=True)
    update = await decide(deciding(iteration=2), node_runtime(settings))
    assert update["answer"] == "American"
