"""What a turn found, as the endpoints send it to programs."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from typing_extensions import TypedDict

from hopgraph.state import Citation, Usage
from hopgraph.state.records import StopReason

ValueT = TypeVar("ValueT")


class AnswerPayload(TypedDict):
    """What was found, without the passages that were read on the way."""

    answer: str
    """A short string; empty when there is none."""
    explanation: str
    """The model's reason, in its own words; may be empty."""
    citations: list[Citation]
    """What the answer rests on, in the order of the marks [1], [2] in the text."""
    method: str
    """The method that looked it up; empty where nothing was looked up, as after small talk."""
    stop_reason: StopReason | None
    """None where nothing was looked up."""
    usage: Usage


def answer_payload(state: Mapping[str, Any], method: str) -> AnswerPayload:
    """Read what was found off the last state of a method, or of the chat."""
    return replace_surrogates(
        AnswerPayload(
            answer=state["answer"],
            explanation=state["explanation"],
            citations=state["citations"],
            method=method,
            stop_reason=state["stop_reason"],
            usage=state["usage"],
        )
    )


def replace_surrogates(value: ValueT) -> ValueT:
    """Replace halves of surrogate pairs by `?`: a model may send them, and no encoder of JSON accepts them."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
