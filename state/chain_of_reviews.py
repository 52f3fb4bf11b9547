"""The settings of Chain of Reviews (Tree of Reviews, section 4.4, CoR)."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from hopgraph.state.context import settings_group
from hopgraph.state.review_tree import ReviewContext


class ChainOfReviewsContext(ReviewContext):
    """The settings of Chain of Reviews; five passages per query, as the paper's baselines."""

    method: ClassVar[str] = "chain_of_reviews"
    steps: ClassVar[tuple[str, ...]] = ("review", "review_directly", "complete", "answer_step_by_step")
    presets: ClassVar[dict[str, dict[str, Any]]] = {"multi_hop": {"demonstrations": "multi_hop"}}

    max_depth: int = Field(
        default=3,
        ge=1,
        le=10,
        description="turns of retrieval and review at most",
        json_schema_extra=settings_group("Method"),
    )
    expansion: Literal["mpc", "cot", "direct"] = Field(
        default="cot",
        description="how the next query is written: cot: by the review, which thinks aloud (Table 13); direct: by "
        "the review at once; mpc: one more call completes the missing paragraph, which is the query",
        json_schema_extra=settings_group("Method"),
    )
