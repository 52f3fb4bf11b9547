"""RA-ISF's own state and settings (paper sections 3 and 4)."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue
from typing_extensions import override

from hopgraph.state.context import Resource, settings_group
from hopgraph.state.decomposing import DecomposingContext, DecomposingState, Tree
from hopgraph.state.question_tree import Branch
from hopgraph.state.records import Call, Candidates, Knowledge, Query
from hopgraph.state.reducers import any_true, merge_calls
from hopgraph.state.schemas import Spent


class RaIsfState(DecomposingState):
    """The shared keys and what RA-ISF adds to them."""

    branches: list[Branch]
    """What can go on now, side by side; empty when the root is settled or the budget is used up."""
    cut_off: Annotated[bool, any_true]
    """True when the budget kept a module from being asked."""


class SolveOutput(Tree):
    """What the solving of one question gives back; every key has a reducer, since siblings write them at once."""

    calls: Annotated[dict[str, Call], merge_calls]
    cut_off: Annotated[bool, any_true]
    """True when the budget kept a module from being asked."""


class SolveState(Tree, Spent):
    """What the solving of one question works on."""

    question: str
    """The question that was asked, not the branch's."""
    branch: Branch
    queries: list[Query]
    asked: list[str]
    excluded: list[str]
    iteration: int
    """The question's depth, counted from 1."""
    candidates: list[Candidates]
    knowledge: list[Knowledge]
    """The relevant passages, cut; no excerpts when none is relevant."""
    known: bool
    """The self-knowledge module's verdict."""
    settings: dict[str, JsonValue]


class RaIsfContext(DecomposingContext):
    """The settings of RA-ISF; defaults are the paper's."""

    method: ClassVar[str] = "ra_isf"
    steps: ClassVar[tuple[str, ...]] = ("self_knowledge", "judge_relevance", "answer", "decompose")

    max_depth: int = Field(
        default=3,
        ge=0,
        le=10,
        description="D_th: the question has depth 0; a question of a greater depth is unknown without a call (Fig. 2)",
        json_schema_extra=settings_group("Method"),
    )
    judge: Literal["each", "listwise"] = Field(
        default="each",
        description="passages are judged one by one, side by side (Algorithm 1), or in one call (Tables 11-13)",
        json_schema_extra=settings_group("Method"),
    )
    self_knowledge: bool = Field(
        default=True,
        description="ask whether the model knows the answer itself; off: No SKM (Table 2)",
        json_schema_extra=settings_group("Method"),
    )
    passage_relevance: bool = Field(
        default=True,
        description="retrieve passages and judge them; off: No PRM, no retrieval at all (Table 2)",
        json_schema_extra=settings_group("Method"),
    )
    decomposition: bool = Field(
        default=True,
        description="break down what nothing else solves; off: No QDM, it stays unknown (Table 2)",
        json_schema_extra=settings_group("Method"),
    )
    carry_evidence: bool = Field(
        default=False,
        description="show a parent, beside its parts' answers, the passages that these rest on",
        json_schema_extra=settings_group("Method"),
    )

    @property
    @override
    def uses(self) -> frozenset[Resource]:
        """A retriever, unless its passages are switched off (No PRM)."""
        return super().uses if self.passage_relevance else frozenset()
