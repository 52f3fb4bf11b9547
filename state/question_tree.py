"""The question tree of RA-ISF, and the settings of the methods that decompose a question."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal, get_args

from typing_extensions import TypedDict

from hopgraph.state.context import Context, method_setting, setting
from hopgraph.state.records import Evidence, Passage
from hopgraph.state.reducers import merge_evidence, merge_passages, merge_tree

ROOT_QUESTION = "0"
"""The id of the original question."""

QuestionStatus = Literal["waiting", "open", "split", "unknown", "answered"]
"""The status of a question, in the order in which it may advance.

`waiting`: it refers to the answers of earlier parts. `split`: it is waiting for its sub-questions.
"""

HowSolved = Literal["", "known", "passages", "composed", "best_effort", "unsolved", "depth", "questions", "budget"]
"""How a question was settled.

Answered from own knowledge (`known`), from relevant `passages`, from its sub-questions' answers (`composed`),
or, if none of these succeeded, from whatever was available (`best_effort`). Unknown because nothing solved it
(`unsolved`), because it is too deep (`depth`), because `max_questions` came before it (`questions`), or because the
`budget` was insufficient. Empty until it is settled.
"""


class QuestionNode(TypedDict):
    """A question of the tree."""

    id: str
    """Its path: `0` for the original question, `0.1.2` for the second part of its first part."""
    parent: str
    """The id of the question that it is a part of; empty for the root."""
    depth: int
    """0 for the root."""
    question: str
    """Standalone; while it waits, `#1` stands for the answer to its first sibling."""
    status: QuestionStatus
    answer: str
    """Short; empty unless answered."""
    how: HowSolved
    explanation: str
    passage_ids: list[str]
    """The passages that directly support the answer, not through sub-questions; `model:ID` for own knowledge."""


merge_questions: Callable[[Mapping[str, QuestionNode], Mapping[str, QuestionNode]], dict[str, QuestionNode]] = (
    merge_tree(get_args(QuestionStatus))
)
"""Merge two question trees by id; a question's status only advances: waiting, open, split, unknown, answered."""


class Branch(TypedDict):
    """A question that one of several parallel tasks works on."""

    id: str
    step: Literal["solve", "compose"]


class QuestionTree(TypedDict):
    """The output of the branches of a question tree."""

    tree: Annotated[dict[str, QuestionNode], merge_questions]
    evidence: Annotated[list[Evidence], merge_evidence]
    """For each question answered from passages or own knowledge, that answer, under its id."""
    passages: Annotated[list[Passage], merge_passages]


class DecomposingContext(Context):
    """The settings of every method that decomposes a question."""

    max_sub_questions: int = method_setting(5, "maximum sub-questions that a question is decomposed into", ge=1, le=20)
    passage_tokens: int | None = setting(
        "Retrieval",
        None,
        "passages are truncated to this many tokens. Default: not truncated, as in the papers",
        ge=1,
        le=100_000,
    )
