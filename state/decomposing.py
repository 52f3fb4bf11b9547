"""State and settings of the methods that break a question down: RA-ISF, Least-to-most."""

from typing import Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import TypedDict

from hopgraph.state.context import Context, settings_group
from hopgraph.state.question_tree import Branch, QuestionNode
from hopgraph.state.records import Evidence, Passage
from hopgraph.state.reducers import merge_evidence, merge_passages, merge_questions
from hopgraph.state.schemas import MethodState
from hopgraph.state.shared_presets import FAMILIES


class Tree(TypedDict):
    """What the branches of a question tree give back."""

    tree: Annotated[dict[str, QuestionNode], merge_questions]
    """Every question so far, by id."""
    evidence: Annotated[list[Evidence], merge_evidence]
    """For each question that was answered from passages or own knowledge: that answer, under its id."""
    passages: Annotated[list[Passage], merge_passages]


class DecomposingState(Tree, MethodState):
    """The shared keys and the tree."""

    branch: Branch
    """The question that is worked on; where several are, each of the parallel tasks has its own."""


class DecomposingContext(Context):
    """The settings of every method that breaks a question down."""

    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    max_sub_questions: int = Field(
        default=5,
        ge=1,
        le=20,
        description="parts that one question is broken down into at most",
        json_schema_extra=settings_group("Method"),
    )
    passage_tokens: int | None = Field(
        default=64,
        ge=1,
        le=100_000,
        description="passages are cut to this many tokens (RA-ISF, section 4.3); none: whole",
        json_schema_extra=settings_group("Retrieval"),
    )
