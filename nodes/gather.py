"""End the search: collect what the reader will see, and the reason that the search ended."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.evidence_review import with_statement_review
from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.review_tree.paths import nodes_with_status, whole_excerpts
from hopgraph.state import Knowledge
from hopgraph.state.review_tree import ReviewContext, ReviewNode, ReviewTreeState
from hopgraph.tools.models import count_tokens


@with_statement_review
async def gather(state: ReviewTreeState, runtime: Runtime[ReviewContext]) -> Mapping[str, Any]:
    """Collect what a reader falls back on when no path was accepted (*ours*): the relevant paragraphs seen.

    When the budget ended the search before anything relevant was seen, the paragraphs without a review are
    used. Writes `knowledge` (one entry, up to `reader_tokens`), `iteration` (the depth of the tree), and
    `stop_reason` when relevant paths of full depth needed more and no path was accepted.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    nodes = list(state["tree"].values())
    relevant = [node for node in nodes if node["verdict"] in ("accept", "search")]
    if not passages_of(relevant) and state["stop_reason"] == "budget":
        relevant = nodes_with_status(state["tree"], "open")
    texts = [with_title(passages[key]) for key in passages_of(relevant)]
    kept = [passages_of(relevant)[index] for index in within(texts, settings.reader_tokens)]
    update: dict[str, Any] = {
        "knowledge": [Knowledge(query=state["question"], excerpts=whole_excerpts(kept, passages))],
        "iteration": max([1, *(node["depth"] for node in nodes)]),
    }
    deepest = any(node["depth"] == settings.max_depth and node["verdict"] == "search" for node in nodes)
    if deepest and not state["evidence"] and not state["stop_reason"]:
        update["stop_reason"] = "max_depth"
    return update


def passages_of(nodes: Sequence[ReviewNode]) -> list[str]:
    """List the passages that nodes add to their paths, each once, in their order."""
    return list(dict.fromkeys(key for node in nodes for key in node["passage_ids"]))


def within(texts: Sequence[str], most: int) -> list[int]:
    """Choose texts that fit a number of tokens together, by the offline counter.

    Returns:
        The indexes of those that fit, in order; one that does not is left out and later ones still tried.
        The first is always there. Empty for none.
    """
    chosen: list[int] = []
    spent = 0
    for index, text in enumerate(texts):
        size = count_tokens(text)
        if spent + size <= most or not chosen:
            chosen.append(index)
            spent += size
    return chosen
