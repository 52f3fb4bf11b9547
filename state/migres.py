"""MIGRES's own state and settings (paper section 3 and Table 11)."""

from typing import Any, ClassVar, Literal, Self

from hopgraph.state.context import Context, in_group
from hopgraph.state.records import Evidence, Knowledge
from hopgraph.state.schemas import MethodState
from pydantic import Field
from typing_extensions import override


class MigresState(MethodState):
    """The shared keys and what MIGRES adds to them."""

    knowledge: list[Knowledge]
    """What was kept of it, one entry per query; recalled knowledge stands in where nothing was."""
    drafts: list[Evidence]
    """This iteration's statements, before the entailment check."""
    missing: str
    """What the last decision found missing; empty when it answered."""
    used: list[str]
    """Ids of the evidence that the answer rests on."""
    confidence: int | None
    """The model's own confidence in its answer, 1 (low) to 5; None when it gave none."""


class MigresContext(Context):
    """The settings of MIGRES; defaults are the paper's for multi-hop questions (Table 11)."""

    method: ClassVar[str] = "migres"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "multi_hop": {"max_iterations": 5, "threshold": 3.0, "threshold_for": "bge"},
        "open_domain": {"max_iterations": 3, "threshold": 5.0, "threshold_for": "bge"},
        "yes_no": {
            "max_iterations": 5,
            "threshold": 0.0,
            "threshold_for": "bge",
            "answer_type": "yes_no",
        },
    }

    max_iterations: int = Field(
        default=5,
        ge=1,
        le=20,
        description="T: iterations of retrieve, extract and decide before a final answer must be given",
        json_schema_extra=in_group("Method"),
    )
    threshold: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="δ: a passage or sentence with a lower reranker score is dropped, on the reranker's raw "
        "scale; none: the reranker's own calibrated value (see `hopgraph calibrate`)",
        json_schema_extra=in_group("Method"),
    )
    threshold_for: str | None = Field(
        default=None,
        description="the kind of reranker that δ was found for, as bge; with one of another kind its own "
        "calibrated value is taken; none: δ holds for any",
        json_schema_extra=in_group("Method"),
    )
    passages_per_query: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="passages retrieved for each query",
        json_schema_extra=in_group("Retrieval"),
    )
    passages_per_extraction: int = Field(
        default=5,
        ge=1,
        le=50,
        description="k: passages shown to the model at most in one extraction",
        json_schema_extra=in_group("Method"),
    )
    max_queries: int = Field(
        default=3,
        ge=1,
        le=10,
        description="new queries per iteration at most",
        json_schema_extra=in_group("Method"),
    )
    compression: Literal["sentences", "none", "summary", "snippet"] = Field(
        default="sentences",
        description="how passages are cut down: sentence filter, not at all, or one model call per passage "
        "that summarises it or copies a snippet (Table 5)",
        json_schema_extra=in_group("Method"),
    )
    recall: bool = Field(
        default=True,
        description="let the model write what it knows where no passage was kept (Table 6)",
        json_schema_extra=in_group("Method"),
    )
    verify: bool = Field(
        default=True,
        description="keep only statements that their passages entail",
        json_schema_extra=in_group("Method"),
    )
    memory: bool = Field(
        default=True,
        description="do not retrieve again what was shown without being cited, nor ask a query twice",
        json_schema_extra=in_group("Method"),
    )
    answer_type: Literal["short", "yes_no"] = Field(
        default="short",
        description="yes_no: the answer must be yes or no (StrategyQA)",
        json_schema_extra=in_group("Method"),
    )

    @classmethod
    @override
    def preset(cls, family: str, **settings: Any) -> Self:
        """Make the paper's settings for a family of data sets, with some replaced.

        The paper's δ is on the scale of bge-reranker-base; a δ of the caller's holds for any reranker.

        Raises:
            SettingsError: no such family, or a bad setting.
        """
        own = {"threshold_for": None} if "threshold" in settings else {}
        return super().preset(family, **{**own, **settings})
