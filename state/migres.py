"""MIGRES's own state and settings (paper section 3 and Table 11)."""

from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from hopgraph.state.context import Resource, settings_group
from hopgraph.state.passage_filtering import KnowledgeContext
from hopgraph.state.records import Evidence
from hopgraph.state.schemas import MethodState


class MigresState(MethodState):
    """The shared keys and what MIGRES adds to them."""

    drafts: list[Evidence]
    """This iteration's statements, before the entailment check."""
    missing: str
    """What the last decision found missing; empty when it answered."""
    confidence: int | None
    """The model's own confidence in its answer, 1 (low) to 5; None when it gave none."""


class MigresContext(KnowledgeContext):
    """The settings of MIGRES; defaults are the paper's for multi-hop questions (Table 11)."""

    method: ClassVar[str] = "migres"
    steps: ClassVar[tuple[str, ...]] = (
        "extract",
        "recall_knowledge",
        "decide",
        "generate_queries",
        "final_answer",
        "summarise",
        "snippet",
    )
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
        json_schema_extra=settings_group("Method"),
    )
    passages_per_query: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="passages retrieved for each query",
        json_schema_extra=settings_group("Retrieval"),
    )
    max_queries: int = Field(
        default=3,
        ge=1,
        le=10,
        description="new queries per iteration at most",
        json_schema_extra=settings_group("Method"),
    )
    recall: bool = Field(
        default=True,
        description="let the model write what it knows where no passage was kept (Table 6)",
        json_schema_extra=settings_group("Method"),
    )
    verify: bool = Field(
        default=True,
        description="keep only statements that their passages entail",
        json_schema_extra=settings_group("Method"),
    )
    memory: bool = Field(
        default=True,
        description="do not retrieve again what was shown without being cited, nor ask a query twice",
        json_schema_extra=settings_group("Method"),
    )

    @property
    @override
    def uses(self) -> frozenset[Resource]:
        """A retriever, a reranker, and a checker of statements where they are verified."""
        return super().uses | frozenset[Resource]({"entailment"} if self.verify else ())
