"""End the search: collect what the reader will see, and the reason that the search ended."""

from collections.abc import Mapping, Sequence

from langgraph.runtime import Runtime

from hopgraph.nodes.core.evidence_review import with_statement_review
from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.review import needs_more
from hopgraph.nodes.review_tree.paths import ReviewTree, nodes_with_status, passages_on_path, whole_excerpts
from hopgraph.state import Knowledge, Update
from hopgraph.state.tree_of_reviews import ReviewContext, ReviewNode, ReviewTreeState
from hopgraph.tools.models import count_tokens


@with_statement_review
async def collect_evidence(state: ReviewTreeState, runtime: Runtime[ReviewContext]) -> Update:
    """Collect what a reader falls back on when no path was accepted (*ours*): the paragraphs of relevant paths.

    Without any, those that no review has read yet, else all, up to `reader_tokens`. `iteration` is the depth of the
    tree; `stop_reason` is set when paths of full depth needed more and none was accepted. Writes `knowledge`,
    `iteration` and `stop_reason`.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    nodes = [node for node in state["tree"].values() if node["parent"]]
    relevant = [node for node in nodes if node["verdict"] in ("accept", "search")]
    found = passages_of(state["tree"], relevant or nodes_with_status(state["tree"], "open") or nodes)
    texts = [{key: with_title(passages[key])} for key in found]
    kept = [found[index] for index in within(texts, settings.reader_tokens)]
    update: Update = {
        "knowledge": [Knowledge(query=state["question"], excerpts=whole_excerpts(kept, passages))],
        "iteration": max([1, *(node["depth"] for node in nodes)]),
    }
    deepest = any(node["depth"] == settings.max_depth and needs_more(node, settings) for node in nodes)
    if deepest and not state["evidence"] and not state["stop_reason"]:
        update["stop_reason"] = "max_depth"
    return update


def passages_of(tree: ReviewTree, nodes: Sequence[ReviewNode]) -> list[str]:
    """List the passages on the paths to nodes, each once, in their order."""
    return list(dict.fromkeys(key for node in nodes for key in passages_on_path(tree, node)))


def within(pieces: Sequence[Mapping[str, str]], most: int) -> list[int]:
    """List the indexes of the pieces that fit a number of tokens (offline counter) together; the first always does.

    A piece is some texts by what they are of; what several share counts once. One that does not fit is left out and
    later ones still tried.
    """
    chosen: list[int] = []
    shown: dict[str, int] = {}
    for index, texts in enumerate(pieces):
        with_it = {**{key: count_tokens(text) for key, text in texts.items()}, **shown}
        if sum(with_it.values()) <= most or not chosen:
            chosen.append(index)
            shown = with_it
    return chosen
