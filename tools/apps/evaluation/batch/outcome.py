"""The outcome of one question, as one line of a run's results."""

from typing import Literal, NamedTuple

from typing_extensions import TypedDict

from hopgraph.state import Citation, StopReason, Usage


class OutcomeKey(NamedTuple):
    """Identifies an outcome in a run."""

    method: str
    id: str
    """The question's."""
    repeat: int
    """From 0."""


class Outcome(TypedDict):
    """One question that a method has finished, with an answer, without one, or by failing."""

    method: str
    id: str
    repeat: int
    answer: str
    """Empty when there is none."""
    explanation: str
    citations: list[Citation]
    retrieved: list[str]
    """Ids of the passages, best first, those of model knowledge left out."""
    titles: list[str]
    """Their titles."""
    supported: bool | None
    """Whether the cited passages entail the answer; None where gold passages decide it, or nothing is cited."""
    stop_reason: StopReason | Literal["failed"]
    usage: Usage | None
    """None when it failed."""
    seconds: float
    """Wall time; small where replies came from the cache."""
    error: str
    """Why it failed, in one line; else empty."""
    trace: list[int]
    """Offset and length in bytes of its trace in the file of traces; empty when none was kept."""


def outcome_key(outcome: Outcome) -> OutcomeKey:
    """Return the key of an outcome."""
    return OutcomeKey(outcome["method"], outcome["id"], outcome["repeat"])
