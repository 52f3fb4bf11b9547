"""State and settings of the methods that run others: the cascade, and Adaptive-RAG."""

from typing import ClassVar, Literal
from urllib.parse import parse_qsl

from pydantic import Field, field_validator
from typing_extensions import TypedDict, override

from hopgraph.state.context import Context, Resource, StepNodes, method_setting
from hopgraph.state.records import Passage
from hopgraph.state.schemas import MethodState


class Search(TypedDict):
    """The result of one query."""

    wanted: int
    """Number of passages requested."""
    passages: list[Passage]
    """Best first; may be fewer than requested if there are no more."""


class StagesState(MethodState):
    """The shared keys, with the last stage's answer and the passages found by all stages."""

    stage: int
    """Number of finished stages, and so the index of the next one."""
    searched: dict[str, dict[str, Search]]
    """Results by retriever and query; later stages do not repeat these searches."""


class CascadeState(StagesState):
    """The shared keys, those of stages, and whether the last answer was accepted."""

    accepted: bool
    """True if the answer of the last stage was accepted."""


class StagesContext(Context):
    """The settings of a method that runs others; a stage inherits those that its method shares."""

    stages: list[str]

    @field_validator("stages", mode="before")
    @classmethod
    def _listed(cls, given: object) -> object:
        return [each.strip() for each in given.split(",")] if isinstance(given, str) else given


class CascadeContext(StagesContext):
    """The settings of the cascade."""

    method = "cascade"
    steps = ("judge_support",)
    step_nodes: ClassVar[StepNodes] = {"judge_support": ("accept",)}

    stages: list[str] = Field(
        default=["one_step?top_k=10", "react", "migres"],
        min_length=1,
        max_length=8,
        description="the methods to run in order, each as NAME or NAME?setting=value&…; the next one runs if the "
        "previous answer was not accepted",
        json_schema_extra={"group": "Method"},
    )
    verify: Literal["none", "entailment", "model"] = method_setting(
        "none",
        "how a cited answer is checked before it is accepted: not at all, by the entailment checker, or by "
        "the model (role judge_support); the last stage's answer is always accepted",
    )

    @property
    @override
    def required_resources(self) -> frozenset[Resource]:
        return frozenset({"retriever", "entailment"} if self.verify == "entailment" else {"retriever"})


class AdaptiveRagContext(StagesContext):
    """The settings of Adaptive-RAG."""

    method = "adaptive_rag"
    steps = ("judge_complexity",)
    step_nodes: ClassVar[StepNodes] = {"judge_complexity": ("classify",)}

    stages: list[str] = Field(
        default=["direct", "one_step", "ircot"],
        min_length=3,
        max_length=3,
        description="the methods for a question that needs no search, one search, and several, each as NAME or "
        "NAME?setting=value&…",
        json_schema_extra={"group": "Method"},
    )


def read_stage(stage: str) -> tuple[str, dict[str, str]]:
    """Return the method name and the settings of a stage, both as text."""
    name, _, settings = stage.partition("?")
    return name.strip(), dict(parse_qsl(settings, keep_blank_values=True))
