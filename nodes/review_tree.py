"""Reading a review tree: the path to a node, its passages, the answers that agree."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.state import Evidence, Excerpt, Passage
from hopgraph.state.tree_of_reviews import ROOT, ReviewNode
from hopgraph.tools.text.comparison import normalize_answer

ReviewTree = Mapping[str, ReviewNode]


def make_root(question: str) -> ReviewNode:
    """Return the root: the question, which is also the first query."""
    return ReviewNode(
        id=ROOT,
        parent="",
        depth=0,
        passage_ids=[],
        status="expanded",
        verdict="search",
        analysis="",
        answer="",
        query=question,
        why="",
    )


def make_child(parent: ReviewNode, number: int, passage_ids: Sequence[str], *, why: str = "") -> ReviewNode:
    """Return the child of this number, from 1 in retrieval order; open, or pruned if `why` gives a reason."""
    return {
        **make_root(""),
        "id": f"{parent['id']}.{number}",
        "parent": parent["id"],
        "depth": parent["depth"] + 1,
        "passage_ids": list(passage_ids),
        "status": "pruned" if why else "open",
        "verdict": "",
        "why": why,
    }


def nodes_with_status(tree: ReviewTree, status: str) -> list[ReviewNode]:
    """List the nodes with a status, each before its children."""
    return [node for node in tree.values() if node["status"] == status]


def passages_on_path(tree: ReviewTree, node: ReviewNode) -> list[str]:
    """List the passages on the path from the root to a node, without repeats; empty at the root."""
    found: list[str] = []
    while node["parent"]:
        found = [*node["passage_ids"], *found]
        node = tree[node["parent"]]
    return list(dict.fromkeys(found))


def accepted_nodes(tree: ReviewTree, evidence: Sequence[Evidence]) -> dict[str, ReviewNode]:
    """Return the tree nodes that are in the evidence pool: all accepted ones that no reviewer rejected."""
    return {piece["id"]: tree[piece["id"]] for piece in evidence}


def majority_nodes(tree: ReviewTree) -> list[ReviewNode]:
    """List the accepted nodes with the most frequent answer, but for case, articles and punctuation; first in a tie."""
    groups: dict[str, list[ReviewNode]] = defaultdict(list)
    for node in tree.values():
        if node["verdict"] == "accept" and node["answer"]:
            groups[normalize_answer(node["answer"]) or node["answer"]].append(node)
    return max(groups.values(), key=len, default=list[ReviewNode]())  # max takes the first


def whole_excerpts(passage_ids: Sequence[str], passages: Mapping[str, Passage]) -> list[Excerpt]:
    """Return excerpts that are whole passages, in order."""
    return [whole_excerpt(passages[key], passages[key]["score"]) for key in passage_ids]
