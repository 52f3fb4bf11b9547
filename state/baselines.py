"""State and settings of the baselines that read passages, or answer from own knowledge, without asking hop by hop."""

from typing import Any, ClassVar, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from hopgraph.state.blendfilter import Draft
from hopgraph.state.context import Context, in_group
from hopgraph.state.knowledge import FilterContext, RankedContext
from hopgraph.state.schemas import MethodState, QuestionInput

FAMILIES: dict[str, dict[str, Any]] = {
    "multi_hop": {},
    "open_domain": {},
    "yes_no": {"answer_type": "yes_no"},
}
"""The presets of a baseline whose settings do not depend on the data set."""

_DELTA_FOR = {"threshold_for": "bge"}


class GivenPassage(TypedDict):
    """A passage that comes from the caller."""

    title: NotRequired[str]
    """May be empty."""
    text: str
    id: NotRequired[str]
    """Unique among those given; without one it is `given:N`, N from 1."""


class GoldInput(QuestionInput):
    """What the caller of `gold_passages` gives."""

    gold_passages: NotRequired[list[GivenPassage]]
    """What the question is answered from, in this order; without it the setting of this name counts."""


class GoldState(MethodState, GoldInput):
    """The shared keys and the given passages."""


class SamplesState(MethodState):
    """The shared keys and the samples."""

    drafts: list[Draft]
    """In the order of asking; without those that the budget did not reach."""


class IterRetgenState(MethodState):
    """The shared keys and what ITER-RETGEN generates."""

    generated: str
    """What the last turn said, which goes into the next query; empty when it said nothing."""


class IrcotState(MethodState):
    """The shared keys and the chain of thought."""

    thoughts: list[str]
    """The sentences so far, in their order."""


class CompressedState(MethodState):
    """The shared keys and how far the ranking was read."""

    read: int
    """Passages of the ranking that were compressed, from its top."""


class DirectContext(Context):
    """The settings of Direct."""

    method: ClassVar[str] = "direct"
    steps: ClassVar[tuple[str, ...]] = ("answer",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES


class CotContext(Context):
    """The settings of CoT."""

    method: ClassVar[str] = "cot"
    steps: ClassVar[tuple[str, ...]] = ("answer_step_by_step",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES


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


class SamplingContext(Context):
    """How several answers to one question are sampled."""

    samples: int = Field(
        default=5,
        ge=1,
        le=100,
        description="answers that are sampled, all at the same time",
        json_schema_extra=in_group("Method"),
    )
    sample_temperature: float = Field(
        default=0.7,
        gt=0.0,
        le=2.0,
        description="temperature of the samples, in place of `temperature`: at 0 all of them would be equal",
        json_schema_extra=in_group("Method"),
    )


class CotScContext(SamplingContext):
    """The settings of CoT-SC; number and temperature of the samples are choices of ours."""

    method: ClassVar[str] = "cot_sc"
    steps: ClassVar[tuple[str, ...]] = ("answer_step_by_step",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES


class RerankedContext(RankedContext):
    """Which of many retrieved passages are the best."""

    passages_per_query: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="passages retrieved for the question, for the reranker to sort",
        json_schema_extra=in_group("Retrieval"),
    )
    threshold: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="a passage with a lower reranker score is dropped, on the reranker's raw scale; none: none is",
        json_schema_extra=in_group("Method"),
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
        json_schema_extra=in_group("Retrieval"),
    )


class CompressedContext(RerankedContext):
    """How many passages are compressed."""

    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    max_compressed: int = Field(
        default=20,
        ge=1,
        le=1000,
        description="passages that the model compresses at most, one call each, to find k that are relevant",
        json_schema_extra=in_group("Method"),
    )


class SummContext(CompressedContext):
    """The settings of SUMM."""

    method: ClassVar[str] = "summ"
    steps: ClassVar[tuple[str, ...]] = ("summarise", "answer")


class SnippetContext(CompressedContext):
    """The settings of SNIPPET."""

    method: ClassVar[str] = "snippet"
    steps: ClassVar[tuple[str, ...]] = ("snippet", "answer")


class RerankContext(RerankedContext, SamplingContext):
    """The settings of RERANK."""

    method: ClassVar[str] = "rerank"
    steps: ClassVar[tuple[str, ...]] = ("answer_step_by_step",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    samples: int = Field(
        default=4,
        ge=1,
        le=100,
        description="answers that are sampled, all at the same time; the best cited one is given",
        json_schema_extra=in_group("Method"),
    )


class GoldPassagesContext(Context):
    """The settings of the reader with gold passages."""

    method: ClassVar[str] = "gold_passages"
    steps: ClassVar[tuple[str, ...]] = ("answer",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    gold_passages: list[GivenPassage] = Field(
        default_factory=list[GivenPassage],
        description='passages to answer from where the input has none, as [{"title": "…", "text": "…"}]',
        json_schema_extra=in_group("Method"),
    )


class IterRetgenContext(Context):
    """The settings of ITER-RETGEN."""

    method: ClassVar[str] = "iter_retgen"
    steps: ClassVar[tuple[str, ...]] = ("answer_step_by_step",)
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    iterations: int = Field(
        default=2,
        ge=1,
        le=20,
        description="T: turns of retrieval and generation; the last one gives the answer",
        json_schema_extra=in_group("Method"),
    )


class IrcotContext(Context):
    """The settings of IRCoT."""

    method: ClassVar[str] = "ircot"
    steps: ClassVar[tuple[str, ...]] = ("next_thought", "answer_step_by_step")
    presets: ClassVar[dict[str, dict[str, Any]]] = FAMILIES

    max_thoughts: int = Field(
        default=8,
        ge=1,
        le=50,
        description="sentences of the chain of thought at most; Tree of Reviews compares with 3",
        json_schema_extra=in_group("Method"),
    )
    max_passages: int = Field(
        default=15,
        ge=1,
        le=200,
        description="passages collected at most, over all retrievals",
        json_schema_extra=in_group("Retrieval"),
    )
