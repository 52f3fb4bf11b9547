"""State and settings of the baselines that read passages from own knowledge: GenRead and GRG."""

from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from hopgraph.state.baselines.own_knowledge import OwnKnowledgeContext
from hopgraph.state.context import Resource, settings_group
from hopgraph.state.hops import HopsState


class GenReadState(HopsState):
    """The shared keys; each sub-question of a decomposed question is a hop, all of them asked at once."""


class GenReadContext(OwnKnowledgeContext):
    """The settings of GenRead."""

    method: ClassVar[str] = "genread"
    steps: ClassVar[tuple[str, ...]] = ("write_passage", "decompose", "answer")
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "multi_hop": {"decomposition": True},
        "open_domain": {},
        "yes_no": {"decomposition": True, "answer_type": "yes_no"},
    }

    decomposition: bool = Field(
        default=False,
        description="break the question down, answer each sub-question for itself, and compose the answer",
        json_schema_extra=settings_group("Method"),
    )
    max_sub_questions: int = Field(
        default=5,
        ge=1,
        le=20,
        description="parts that the question is broken down into at most",
        json_schema_extra=settings_group("Method"),
    )


class GrgContext(GenReadContext):
    """The settings of GRG."""

    method: ClassVar[str] = "grg"
    steps: ClassVar[tuple[str, ...]] = ("write_passage", "decompose", "answer")

    @property
    @override
    def uses(self) -> frozenset[Resource]:
        """A retriever, for the passages beside the written one."""
        return frozenset({"retriever"})
