"""BlendFilter's own state and settings (paper sections 3.2 to 3.4)."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from hopgraph.state.context import Context, Presets, StepNodes, method_setting, setting
from hopgraph.state.records import Draft
from hopgraph.state.reducers import any_true
from hopgraph.state.schemas import AnswerOutput, MethodState


class SampledOutput(AnswerOutput):
    """The output of BlendFilter."""

    sampled: list[str]
    """The short answer of each sample, in the order of `sample_top_p`; one if not sampling, empty for no answer."""


class BlendFilterState(SampledOutput, MethodState):
    """The shared keys and BlendFilter's own."""

    topic: str
    """The general topic of the question; empty if it was not asked for."""
    reasoned: list[Draft]
    """At most one: the chain of thought over the passages for q, for a_ex."""
    recalled: str
    """a_in: the passage from the model's own knowledge; empty if it knows nothing."""
    judgements: list[str | None]
    """Relevance judgements for the passages of each entry of `knowledge`; None if the budget did not allow any."""
    drafts: list[Draft]
    """The final chains of thought, one for each sample."""
    cut_off: Annotated[bool, any_true]
    """True if the budget prevented a step."""


class BlendFilterContext(Context):
    """The settings of BlendFilter; K, queries and filters are the paper's; the presets add demonstrations."""

    method = "blendfilter"
    steps = (
        "reason",
        "answer_step_by_step",
        "write_passage",
        "name_topic",
        "judge_passages",
        "select_passages",
        "shorten",
    )
    step_nodes: ClassVar[StepNodes] = {
        "answer_step_by_step": ("answer",),
        "write_passage": ("recall",),
        "name_topic": ("topic",),
        "judge_passages": ("judge", "judge_union"),
        "select_passages": ("select", "select_union"),
    }
    presets: ClassVar[Presets] = {
        "multi_hop": {"top_k": 5, "demonstrations": "multi_hop"},
        "open_domain": {"top_k": 5},
        "yes_no": {"top_k": 5, "demonstrations": "yes_no", "answer_type": "yes_no"},
    }

    top_k: int = setting(
        "Retrieval", 5, "K: passages retrieved for each of the three queries (Fig. 3: 3 to 8)", ge=1, le=1000
    )
    original_query: bool = method_setting(True, "search with the question itself; false: w/o q (Table 5)")
    external_query: bool = method_setting(
        True, "search with a chain of thought over the first passages; false: w/o q_ex (Table 5)"
    )
    internal_query: bool = method_setting(
        True, "search with a passage written from the model's own knowledge; false: w/o q_in (Table 5)"
    )
    filtering: Literal["branch", "union", "none"] = method_setting(
        "branch", "filter each query's passages before merging them, the merged passages (Remark 2), or none"
    )
    sample_top_p: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        default_factory=tuple,
        max_length=20,
        description="sample one answer per value of top_p, e.g. [0, 0.5, 1] (Fig. 4). Default: one answer",
        json_schema_extra={"group": "Method"},
    )

    @field_validator("internal_query")
    @classmethod
    def _one_is_left(cls, value: bool, info: ValidationInfo) -> bool:
        if not (value or info.data.get("original_query", True) or info.data.get("external_query", True)):
            raise ValueError("one of original_query, external_query and internal_query must stay on")
        return value
