"""The settings of Tree of Reviews (paper sections 3.3, 3.4 and 4.4)."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from hopgraph.state.context import settings_group
from hopgraph.state.review_tree import ReviewContext

Width = Annotated[int, Field(ge=1, le=1000)]


class TreeOfReviewsContext(ReviewContext):
    """The settings of Tree of Reviews; defaults are the paper's, but for the order of the search."""

    method: ClassVar[str] = "tree_of_reviews"
    steps: ClassVar[tuple[str, ...]] = ("review", "review_directly", "complete", "fuse", "answer_step_by_step")
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "multi_hop": {"search": "depth", "demonstrations": "multi_hop"},
    }

    widths: tuple[Width, ...] = Field(
        default=(5, 3, 3),
        min_length=1,
        max_length=10,
        description="paragraphs retrieved for each node of a level, from the question down, as 5,3,3; deeper "
        "levels take the last number (Table 6)",
        json_schema_extra=settings_group("Method"),
    )
    passages_per_query: int = Field(
        default=1000,
        ge=1,
        le=1000,
        description="bounds the width of every level",
        json_schema_extra=settings_group("Retrieval"),
    )
    search: Literal["breadth", "depth"] = Field(
        default="breadth",
        description="breadth: all reviews of a level side by side, its paragraphs compared with the evidence of "
        "the levels above; depth: the paper's order, one review after another",
        json_schema_extra=settings_group("Method"),
    )
    prune_repetitive: bool = Field(
        default=True,
        description="drop retrieved paragraphs that the evidence pool holds already (Table 5)",
        json_schema_extra=settings_group("Method"),
    )
    fusion: Literal["evidence", "analysis", "paragraph"] = Field(
        default="evidence",
        description="what the reader is shown of each accepted path: its analysis and paragraphs, or one of them "
        "(Table 3)",
        json_schema_extra=settings_group("Method"),
    )
    recall_passages: int = Field(
        default=15,
        ge=1,
        le=1000,
        description="of more paragraphs than these the ones are kept whose evidence is most similar to the final "
        "answer, and the cited ones (recall@15)",
        json_schema_extra=settings_group("Method"),
    )
    early_stop: int | None = Field(
        default=None,
        ge=1,
        description="end the search once so many accepted paths give the same answer; none: search to the end",
        json_schema_extra=settings_group("Method"),
    )
    prune_similar: float | None = Field(
        default=None,
        gt=0.0,
        le=1.0,
        allow_inf_nan=False,
        description="drop retrieved paragraphs whose words are at least so similar (cosine) to a paragraph of the "
        "evidence pool, of their own path or of a sibling; none: compare ids only",
        json_schema_extra=settings_group("Method"),
    )
    remember_rejected: bool = Field(
        default=False,
        description="drop retrieved paragraphs that were rejected before on any path",
        json_schema_extra=settings_group("Method"),
    )

    @field_validator("widths", mode="before")
    @classmethod
    def _written(cls, value: object) -> object:
        """Take widths as people write them, `5,3,3` or `[5, 3, 3]`."""
        return value.strip("[]() ").split(",") if isinstance(value, str) else value

    def width(self, depth: int) -> int:
        """Get how many paragraphs are retrieved for a node at `depth` - 1; the first level is at depth 1."""
        return min(self.widths[min(depth, len(self.widths)) - 1], self.passages_per_query)
