"""State and settings of Tree of Reviews (paper sections 3.2 to 3.4 and 4.4) and its contrast, Chain of Reviews."""

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator
from typing_extensions import TypedDict, override

from hopgraph.state.context import Context, Presets, StepNodes, method_setting, setting
from hopgraph.state.reducers import merge_tree
from hopgraph.state.schemas import MethodState

ROOT = "0"
"""The id of the root, which stands for the question."""

ReviewStatus = Literal["open", "pruned", "reviewed", "expanded"]
Verdict = Literal["", "unread", "reject", "search", "accept"]
"""The decision of a review; `unread`: no usable reply, so the node is not built upon. Empty before the review."""


class ReviewNode(TypedDict):
    """A node of the review tree: newly retrieved paragraphs below those of its ancestors."""

    id: str
    """Its path from the root `0`, e.g. `0.2.1`: the first child of the root's second child."""
    parent: str
    """The parent's id; empty for the root."""
    depth: int
    """Number of edges from the root."""
    passage_ids: list[str]
    """Passages that this node adds to its path: one in a tree, all new ones of a turn in a chain, none at the root."""
    status: ReviewStatus
    """`open` until reviewed, `expanded` once its query was searched; `pruned` if dropped before any review."""
    verdict: Verdict
    analysis: str
    """The brief analysis of an accepted path; the missing information of a path to search; may be empty."""
    answer: str
    """The short answer from an accepted path alone; empty otherwise."""
    query: str
    """The query searched below this node, now or later; at the root, the question."""
    why: str


merge_reviews: Callable[[Mapping[str, ReviewNode], Mapping[str, ReviewNode]], dict[str, ReviewNode]] = merge_tree(
    get_args(ReviewStatus)
)
"""Merge two review trees by id; a node's status only advances: open, pruned, reviewed, expanded."""


class ReviewTreeState(MethodState):
    """The shared keys, and the tree."""

    tree: Annotated[dict[str, ReviewNode], merge_reviews]
    """Every node so far by id, including pruned ones, each before its children."""
    frontier: list[str]
    """Ids of the nodes to expand next; then of the nodes whose queries are being searched, in the same order."""


class ReviewContext(Context):
    """The settings of every method that reviews paths of paragraphs."""

    max_depth: int = method_setting(
        3, "D: maximum paragraphs on a path; the question has depth 0 (Table 6)", ge=1, le=10
    )
    expansion: Literal["mpc", "cot", "direct"] = method_setting(
        "mpc",
        "how the next query is written. mpc: a further call writes the missing paragraph, which is the query; "
        "cot: by the review, after its reasoning; direct: by the review without reasoning (Table 4)",
    )
    prune_relevance: bool = method_setting(True, "do not expand paths that are irrelevant to the question (Table 5)")
    reader_tokens: int = method_setting(
        4096,
        "maximum tokens of evidence shown to the reader, counted offline; the first piece is always shown "
        "(section 4.4)",
        ge=1,
    )

    @property
    def shows_queries(self) -> bool:
        """Return whether a review sees the queries asked so far, so that it asks for something else."""
        return False


Width = Annotated[int, Field(ge=1, le=1000)]
MOST_PARAGRAPHS = 200_000
"""Maximum paragraphs of a fully grown tree; default widths at the greatest depth stay below it."""


class TreeOfReviewsContext(ReviewContext):
    """The settings of Tree of Reviews.

    Defaults are the paper's, except `search` and the demonstrations, which the preset sets, `prune_repetitive`, which
    drops more than the paper's, and `abstain`.
    """

    method = "tree_of_reviews"
    steps = ("review", "review_directly", "complete", "fuse", "answer_step_by_step")
    step_nodes: ClassVar[StepNodes] = {
        "review_directly": ("review",),
        "complete": ("expand",),
        "answer_step_by_step": ("answer", "fuse"),
    }
    presets: ClassVar[Presets] = {"multi_hop": {"search": "depth", "demonstrations": "multi_hop"}}

    widths: tuple[Width, ...] = method_setting(
        (5, 3, 3),
        "paragraphs retrieved per node, level by level from the question down, e.g. 5,3,3; deeper levels use "
        "the last number (Table 6)",
        min_length=1,
        max_length=10,
    )
    top_k: int = setting("Retrieval", 1000, "upper bound on the width of every level", ge=1, le=1000)
    search: Literal["breadth", "depth"] = method_setting(
        "breadth",
        "breadth: review all paths of a level in parallel, comparing their paragraphs with the evidence of "
        "the levels above; depth: the paper's order, one review after another",
    )
    prune_repetitive: bool = method_setting(
        True,
        "drop retrieved paragraphs that are already in the evidence pool or on their own path, or that would "
        "duplicate another path (Table 5)",
    )
    fusion: Literal["evidence", "analysis", "paragraph"] = method_setting(
        "evidence",
        "what the reader sees of each accepted path: its analysis, its paragraphs, or both (Table 3)",
    )
    recall_passages: int = method_setting(
        15,
        "keep at most this many paragraphs: the cited ones, and those whose evidence is most similar to the "
        "final answer (recall@15)",
        ge=1,
        le=1000,
    )
    early_stop: int | None = method_setting(
        None, "stop the search once this many accepted paths give the same answer. Default: search to the end", ge=1
    )
    prune_similar: float | None = method_setting(
        None,
        "drop retrieved paragraphs whose cosine similarity (of words) to a paragraph in the evidence pool, on "
        "their own path or of a sibling is at least this high. Default: compare ids only",
        gt=0.0,
        le=1.0,
        allow_inf_nan=False,
    )
    remember_rejected: bool = method_setting(False, "drop retrieved paragraphs that were already rejected on any path")

    @field_validator("widths", mode="before")
    @classmethod
    def _written(cls, value: object) -> object:
        """Parse widths as typed by a person, `5,3,3` or `[5, 3, 3]`."""
        return value.strip("[]() ").split(",") if isinstance(value, str) else value

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        level, paragraphs = 1, 0
        for depth in range(1, self.max_depth + 1):
            level *= self.width(depth)
            paragraphs += level
        if paragraphs > MOST_PARAGRAPHS:
            raise ValueError(
                f"widths {','.join(map(str, self.widths))} with max_depth {self.max_depth} make a tree of up to "
                f"{paragraphs:,} paragraphs; at most {MOST_PARAGRAPHS:,}"
            )
        return self

    def width(self, depth: int) -> int:
        """Return the number of paragraphs retrieved for a node at `depth` - 1; the first level is at depth 1."""
        return min(self.widths[min(depth, len(self.widths)) - 1], self.top_k)


class ChainOfReviewsContext(ReviewContext):
    """The settings of Chain of Reviews; five passages per query, as in the paper's baselines (section 4.3)."""

    method = "chain_of_reviews"
    steps = ("review", "review_directly", "complete", "answer_step_by_step")
    step_nodes: ClassVar[StepNodes] = {
        "review_directly": ("review",),
        "complete": ("expand",),
        "answer_step_by_step": ("answer",),
    }
    presets: ClassVar[Presets] = {"multi_hop": {"demonstrations": "multi_hop"}}

    max_depth: int = method_setting(3, "maximum turns of retrieval and review", ge=1, le=10)
    expansion: Literal["mpc", "cot", "direct"] = method_setting(
        "cot",
        "how the next query is written. cot: by the review, after its reasoning (Table 13); direct: by the "
        "review without reasoning; mpc: a further call writes the missing paragraph, which is the query",
    )
    prune_relevance: bool = method_setting(
        False, "stop the chain when nothing on it is relevant; false: continue with the review's query"
    )

    @property
    @override
    def shows_queries(self) -> bool:
        """Return True: its reviews cover one growing path."""
        return True
