"""The review tree, and the state and settings of the methods that grow one (Tree of Reviews, section 3)."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal, get_args

from typing_extensions import TypedDict

from hopgraph.state.context import Context, setting
from hopgraph.state.records import Call, Evidence, Passage, StopReason
from hopgraph.state.reducers import merge_calls, merge_evidence, merge_passages, merge_tree
from hopgraph.state.schemas import MethodState, QuestionInput, SearchState

ROOT = "0"
"""The id of the root, which stands for the question."""

ReviewStatus = Literal["open", "pruned", "reviewed", "expanded"]
Verdict = Literal["", "unread", "reject", "search", "accept"]
"""What a review decided; `unread`: no reply could be used, so nothing is built on this node. Empty before."""


class ReviewNode(TypedDict):
    """A node of the review tree: newly retrieved paragraphs below those of its ancestors."""

    id: str
    """Its path from the root `0`, as `0.2.1`: the first child of the root's second child."""
    parent: str
    """The parent's id; empty for the root."""
    depth: int
    """Edges from the root, which is at 0."""
    passage_ids: list[str]
    """What this node adds to its path: one paragraph in a tree, all new ones of a turn in a chain, none at the root."""
    status: ReviewStatus
    """`open` until reviewed, `expanded` once its query was searched; `pruned` before any review."""
    verdict: Verdict
    analysis: str
    """The brief analysis of an accepted path; what is still missing on one to search; may be empty."""
    answer: str
    """The short answer from an accepted path alone; empty otherwise."""
    query: str
    """What was searched below this node, or will be; the question at the root."""
    why: str
    """Why it was pruned; empty otherwise."""


merge_reviews: Callable[[Mapping[str, ReviewNode], Mapping[str, ReviewNode]], dict[str, ReviewNode]] = merge_tree(
    get_args(ReviewStatus)
)
"""Merge two review trees by id; a node's status moves forward: open, pruned, reviewed, expanded."""


class ReviewTree(TypedDict):
    """The tree."""

    tree: Annotated[dict[str, ReviewNode], merge_reviews]
    """Every node so far by id, the pruned ones too, each before its children."""


class ReviewTreeState(ReviewTree, MethodState):
    """The shared keys, and the tree."""

    frontier: list[str]
    """Ids of the nodes to expand next; then those that the queries under way were written for, in their order."""


class GrowOutput(ReviewTree):
    """What growing the tree gives back."""

    calls: Annotated[dict[str, Call], merge_calls]
    passages: Annotated[list[Passage], merge_passages]
    evidence: Annotated[list[Evidence], merge_evidence]
    asked: list[str]
    stop_reason: StopReason | None
    """Set when the budget ended the search."""


class GrowState(QuestionInput, GrowOutput, SearchState):
    """What growing the tree works on; its keys mean what they mean in `ReviewTreeState`."""

    frontier: list[str]


class ReviewContext(Context):
    """The settings of every method that reviews paths of paragraphs."""

    max_depth: int = setting(
        "Method", 3, "D: paragraphs on a path at most; the question is at depth 0 (Table 6)", ge=1, le=10
    )
    expansion: Literal["mpc", "cot", "direct"] = setting(
        "Method",
        "mpc",
        "how the next query is written: mpc: one more call completes the missing paragraph, which is "
        "the query; cot: by the review, which thinks aloud; direct: by the review at once (Table 4)",
    )
    prune_relevance: bool = setting("Method", True, "do not expand paths that are irrelevant to the question (Table 5)")
    reader_tokens: int = setting(
        "Method",
        4096,
        "evidence or paragraphs are shown to the reader up to this many tokens (offline counter); "
        "the first piece always is (section 4.4)",
        ge=1,
    )
