"""The records of a question tree: questions that are solved, or broken down into simpler ones."""

from typing import Literal

from typing_extensions import TypedDict

from hopgraph.state.records import Call

ROOT = "0"
"""The id of the question that was asked."""

QuestionStatus = Literal["open", "split", "unknown", "answered"]
"""Where a question stands, in the order in which it may move: `split` waits for its sub-questions."""

HowSolved = Literal["", "known", "passages", "composed", "best_effort", "unsolved", "depth", "budget"]
"""How a question was settled.

Answered from own knowledge (`known`), from relevant `passages`, from its sub-questions' answers (`composed`),
or at the end of the budget from what was there (`best_effort`). Unknown because nothing solved it (`unsolved`),
because it lies too deep (`depth`), or because the `budget` did not reach. Empty while it is open or split.
"""


class QuestionNode(TypedDict):
    """A question of the tree."""

    id: str
    """Its path: `0` for the question that was asked, `0.1.2` for the second part of its first part."""
    parent: str
    """The id of the question that it is a part of; empty for the root."""
    depth: int
    """0 for the root."""
    question: str
    status: QuestionStatus
    answer: str
    """Short; empty unless it is answered."""
    how: HowSolved
    explanation: str
    """The model's explanation; may be empty."""
    passage_ids: list[str]
    """The passages that the answer rests on itself, not through sub-questions; `model:ID` for own knowledge."""


class Branch(TypedDict):
    """A question that one of several parallel tasks works on."""

    id: str
    """The question's id."""
    step: Literal["solve", "compose"]
    reserved: Call
    """What counts as spent in this branch: all that was spent before, and what is meant for others."""
