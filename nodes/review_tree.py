"""Reading a review tree: the path to a node, its passages, the answers that agree."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.state import Evidence, Excerpt, Passage
from hopgraph.state.tree_of_reviews import ROOT, ReviewNode
from hopgraph.tools.text.comparison import normalize_answer

ReviewTree = Mapping[str, ReviewNode]


def make_root(question: str) -> ReviewNode:
    """Make the root: the question, which is also the first query."""
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
    """Make the child of this number, from 1 in the order of retrieval; open, or pruned where `why` gives a reason."""
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
    """List the nodes of a status, each before its children."""
    return [node for node in tree.values() if node["status"] == status]


def passages_on_path(tree: ReviewTree, node: ReviewNode) -> list[str]:
    """List the passages on the path from the root to a node, each once; empty at the root."""
    found: list[str] = []
    while node["parent"]:
        found = [*node["passage_ids"], *found]
        node = tree[node["parent"]]
    return list(dict.fromkeys(found))


def accepted_nodes(tree: ReviewTree, evidence: Sequence[Evidence]) -> dict[str, ReviewNode]:
    """Return the nodes of the tree that are in the evidence pool: all accepted ones that no reviewer rejected."""
    return {piece["id"]: tree[piece["id"]] for piece in evidence}


def majority_nodes(tree: ReviewTree) -> list[ReviewNode]:
    """List the accepted nodes whose answer most give, but for case, articles and punctuation; of a tie the first."""
    groups: dict[str, list[ReviewNode]] = defaultdict(list)
    for node in tree.values():
        if node["verdict"] == "accept" and node["answer"]:
            groups[normalize_answer(node["answer"]) or node["answer"]].append(node)
    return max(groups.values(), key=len, default=list[ReviewNode]())  # max takes the first


def whole_excerpts(passage_ids: Sequence[str], passages: Mapping[str, Passage]) -> list[Excerpt]:
    """Make excerpts that are whole passages, in their order."""
    return [whole_excerpt(passages[key], passages[key]["score"]) for key in passage_ids]
