"""State and settings of the baselines that sample several answers: CoT-SC and RERANK."""

from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from hopgraph.state.baselines.one_retrieval import RerankedContext
from hopgraph.state.baselines.own_knowledge import OwnKnowledgeContext
from hopgraph.state.blendfilter import Draft
from hopgraph.state.context import Context, Resource, settings_group
from hopgraph.state.schemas import MethodState
from hopgraph.state.shared_presets import FAMILIES


class SamplesState(MethodState):
    """The shared keys and the samples."""

    drafts: list[Draft]
    """In the order of asking; without those that the budget did not reach."""


class SamplingContext(Context):
    """How several answers to one question are sampled."""

    samples: int = Field(
        default=5,
        ge=1,
        le=100,
        description="answers that are sampled, all at the same time",
        json_schema_extra=settings_group("Method"),
    )
    sample_temperature: float = Field(
        default=0.7,
        gt=0.0,
        le=2.0,
        description="temperature of the samples, in place of `temperature`: at 0 all of them would be equal",
        json_schema_extra=settings_group("Method"),
    )


class CotScContext(SamplingContext, OwnKnowledgeContext):
    """The settings of CoT-SC; number and temperature of the samples are choices of ours."""

    method: ClassVar[str] = "cot_sc"
    steps: ClassVar[tuple[str, ...]] = ("answer_step_by_step",)


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
        json_schema_extra=settings_group("Method"),
    )

    @property
    @override
    def uses(self) -> frozenset[Resource]:
        """A retriever, a reranker, and a checker of the citations."""
        return super().uses | frozenset[Resource]({"entailment"})
