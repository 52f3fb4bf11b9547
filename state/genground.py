"""GenGround's own state and settings (paper sections 3 and 5.4)."""

from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import TypedDict

from hopgraph.state.context import settings_group
from hopgraph.state.hops import HopsContext, HopsState


class Grounding(TypedDict):
    """What a batch of passages says about a sub-question: the paper's revision trajectory."""

    batch: int
    """The batch that was cited, from 1."""
    cited: str
    """The citation in the model's words."""
    answer: str
    """The revised answer."""
    passage_id: str
    """The shown passage that carries the citation best."""
    overlap: float
    """The share of the citation's terms that the passage has, 0 to 1."""


class GengroundState(HopsState):
    """The shared keys, the hops, and how far the open hop is grounded."""

    read: int
    """How many of the open hop's passages were shown for grounding, in rank order."""
    grounding: Grounding | None
    """What the open hop's answer is to be revised by; None until a batch is cited."""


class GengroundContext(HopsContext):
    """The settings of GenGround; defaults are the paper's (section 5.4)."""

    method: ClassVar[str] = "genground"
    steps: ClassVar[tuple[str, ...]] = ("deduce", "ground", "answer")
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        family: {**values, "demonstrations": family} for family, values in HopsContext.presets.items()
    }

    passages_per_query: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="passages retrieved for each sub-question",
        json_schema_extra=settings_group("Retrieval"),
    )
    batch_size: int = Field(
        default=3,
        ge=1,
        le=100,
        description="b: passages read in one grounding call, in rank order",
        json_schema_extra=settings_group("Method"),
    )
    min_citation_overlap: float = Field(
        default=0.6,
        ge=0.0,
        le=1.0,
        allow_inf_nan=False,
        description="the share of a citation's words that a shown passage must have; below it the citation "
        "counts as Empty; 0: one word in common is enough",
        json_schema_extra=settings_group("Method"),
    )
    speculative_batches: bool = Field(
        default=False,
        description="read all batches at once and take the first that cites: faster, more calls, same result",
        json_schema_extra=settings_group("Method"),
    )
    deduction: bool = Field(
        default=True,
        description="go hop by hop; off: generate one answer to the whole question and ground it (Table 4)",
        json_schema_extra=settings_group("Method"),
    )
    grounding: bool = Field(
        default=True,
        description="revise the generated answer by what a passage says; off: answer each sub-question from "
        "its passages directly (Table 4)",
        json_schema_extra=settings_group("Method"),
    )
    batches: bool = Field(
        default=True,
        description="read passages in batches; off: all in one grounding call (Table 4)",
        json_schema_extra=settings_group("Method"),
    )

    @property
    def has_one_hop(self) -> bool:
        """Without deduction the whole question is the only hop (Table 4)."""
        return not self.deduction
