"""State and settings of the baselines that retrieve once: OneR, VANILLA, VANILLA-s, SUMM and SNIPPET."""

from typing import Any, ClassVar

from pydantic import Field

from hopgraph.state.context import Context, settings_group
from hopgraph.state.passage_filtering import FilterContext, RankedContext
from hopgraph.state.schemas import MethodState
from hopgraph.state.shared_presets import FAMILIES

_DELTA_FOR = {"threshold_for": "bge"}


class OneStepContext(Context):
    """The settings of OneR with Direct."""

    method: ClassVar[str] = "one_step"
    steps: ClassVar[tuple[str, ...]] = ("answer",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES


class OneStepCotContext(Context):
    """The settings of OneR with CoT."""

    method: ClassVar[str] = "one_step_cot"
    steps: ClassVar[tuple[str, ...]] = ("answer_step_by_step",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES


class RerankedContext(RankedContext):
    """Which of many retrieved passages are the best."""

    passages_per_query: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="passages retrieved for the question, for the reranker to sort",
        json_schema_extra=settings_group("Retrieval"),
    )
    threshold: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="a passage with a lower reranker score is dropped, on the reranker's raw scale; none: none is",
        json_schema_extra=settings_group("Method"),
    )


class VanillaContext(RerankedContext):
    """The settings of VANILLA."""

    method: ClassVar[str] = "vanilla"
    steps: ClassVar[tuple[str, ...]] = ("answer",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES


class VanillaSContext(FilterContext):
    """The settings of VANILLA-s; δ as MIGRES has it (Table 11)."""

    method: ClassVar[str] = "vanilla_s"
    steps: ClassVar[tuple[str, ...]] = ("answer",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "multi_hop": {"threshold": 3.0, **_DELTA_FOR},
        "open_domain": {"threshold": 5.0, **_DELTA_FOR},
        "yes_no": {"threshold": 0.0, "answer_type": "yes_no", **_DELTA_FOR},
    }

    passages_per_query: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="passages retrieved for the question, for the sentence filter",
        json_schema_extra=settings_group("Retrieval"),
    )


class CompressedState(MethodState):
    """The shared keys and how far the ranking was read."""

    read: int
    """Passages of the ranking that were compressed, from its top."""


class CompressedContext(RerankedContext):
    """How many passages are compressed."""

    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    max_compressed: int = Field(
        default=20,
        ge=1,
        le=1000,
        description="passages that the model compresses at most, one call each, to find k that are relevant",
        json_schema_extra=settings_group("Method"),
    )


class SummContext(CompressedContext):
    """The settings of SUMM."""

    method: ClassVar[str] = "summ"
    steps: ClassVar[tuple[str, ...]] = ("summarise", "answer")


class SnippetContext(CompressedContext):
    """The settings of SNIPPET."""

    method: ClassVar[str] = "snippet"
    steps: ClassVar[tuple[str, ...]] = ("snippet", "answer")
