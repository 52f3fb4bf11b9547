"""RA-ISF's own state and settings (paper sections 3 and 4)."""

from typing import Annotated, ClassVar, Literal

from typing_extensions import override

from hopgraph.state.context import Resource, StepNodes, method_setting, setting
from hopgraph.state.question_tree import Branch, DecomposingContext, QuestionTree
from hopgraph.state.records import Call, Knowledge
from hopgraph.state.reducers import any_true, merge_calls
from hopgraph.state.schemas import MethodState, QuestionInput, SearchState


class RaIsfState(QuestionTree, MethodState):
    """The shared keys and what RA-ISF adds to them."""

    branch: Branch
    """The current question; each parallel task has its own."""

    branches: list[Branch]
    """Branches that can proceed now, in parallel; empty if the root is settled or the budget is used up."""
    cut_off: Annotated[bool, any_true]
    """True if the budget prevented a module call."""


class SolveOutput(QuestionTree):
    """The output of solving one question; every key has a reducer, since siblings write concurrently."""

    calls: Annotated[dict[str, Call], merge_calls]
    cut_off: Annotated[bool, any_true]


class SolveState(QuestionInput, SolveOutput, SearchState):
    """The state of solving one question: `question` is that question, `iteration` counts the depth."""

    branch: Branch
    knowledge: list[Knowledge]
    """The passages to answer from; no excerpts if none is relevant, or all together are insufficient."""
    known: bool


class RaIsfContext(DecomposingContext):
    """The settings of RA-ISF; D_th and k are the paper's.

    `part_order`, `judge`, `carry_evidence`, `exclude_question_text`, `max_questions` and `abstain` are not.
    """

    method = "ra_isf"
    steps = ("self_knowledge", "judge_together", "judge_relevance", "answer_step_by_step", "decompose")
    step_nodes: ClassVar[StepNodes] = {
        "self_knowledge": ("solve",),
        "judge_together": ("solve",),
        "judge_relevance": ("solve",),
        "answer_step_by_step": ("solve", "compose", "best_effort"),
        "decompose": ("solve",),
    }

    max_depth: int = method_setting(
        3,
        "D_th: maximum depth of a sub-question; the question has depth 0, and deeper ones count as unknown "
        "without a call (Fig. 2)",
        ge=0,
        le=10,
    )
    judge: Literal["each", "listwise"] = method_setting(
        "listwise",
        "listwise: one call decides whether the passages together are sufficient, and which are needed "
        "(Tables 11-13); each: one call per passage, relevant or not (Algorithm 1), as a trained relevance "
        "module does",
    )
    part_order: Literal["in_order", "side_by_side"] = method_setting(
        "in_order",
        "in_order: a sub-question may refer to the answer of an earlier one, e.g. as #1, and waits for it; "
        "side_by_side: sub-questions are independent (Algorithm 1)",
    )
    max_questions: int = setting(
        "Limits",
        30,
        "budget: maximum questions and sub-questions in total; further ones count as unknown without a call",
        ge=1,
    )
    self_knowledge: bool = method_setting(
        True, "ask whether the model can answer from its own knowledge; false: No SKM (Table 2)"
    )
    passage_relevance: bool = method_setting(
        True, "retrieve passages and judge their relevance; false: No PRM, no retrieval at all (Table 2)"
    )
    decomposition: bool = method_setting(
        True, "decompose questions that could not be answered otherwise; false: No QDM, they stay unknown (Table 2)"
    )
    carry_evidence: bool = method_setting(
        True, "also show the passages behind the sub-answers when composing the answer"
    )

    @property
    @override
    def required_resources(self) -> frozenset[Resource]:
        """Return a retriever, unless retrieval is disabled (No PRM)."""
        return super().required_resources if self.passage_relevance else frozenset()
