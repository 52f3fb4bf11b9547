"""Replies of the decision step."""

import pytest

from hopgraph.nodes.decide import Decision
from hopgraph.tools.models import parse_reply


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
