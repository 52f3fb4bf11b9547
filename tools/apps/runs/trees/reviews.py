"""Paths of paragraphs that are reviewed (Tree of Reviews, Chain of Reviews)."""

from typing import Final

from hopgraph.tools.apps.runs.trees.growing import Data, Growing
from hopgraph.tools.apps.runs.trees.records import RunNode, Status

_VERDICTS: Final[dict[str, Status]] = {"accept": "accepted", "search": "open", "reject": "rejected"}
"""A path that needs more stays open until it is searched."""


def grown(tree: Growing, data: Data) -> None:
    """Hang new paragraphs below the paths that were searched; the bare finds of the search give way to them."""
    for each in data.records("nodes"):
        _add(tree, each)


def pruned(tree: Growing, data: Data) -> None:
    """Hang paragraphs that are set aside without a review."""
    for each in data.records("nodes"):
        node = _add(tree, each)
        node["status"], node["note"] = "pruned", each.text("why")


def _add(tree: Growing, data: Data) -> RunNode:
    keys, parent = data.texts("passage_ids"), data.text("parent")
    tree.learn(keys, data.texts("titles"))
    for bare in (f"{parent}/{key}" for key in keys):
        if bare in tree.nodes and not tree.under(bare):
            del tree.nodes[bare]
    text = " · ".join(tree.title(key) for key in keys)
    return tree.add(data.text("id"), "paragraph", parent=parent, text=text, passage_ids=keys)


def reviewed(tree: Growing, data: Data) -> None:
    """Judge a path."""
    node, verdict = _add(tree, data), data.text("verdict")
    node["status"], node["answer"] = _VERDICTS.get(verdict, "unknown"), data.text("answer")
    # What is said of a rejected path is not told: nothing follows from it.
    notes = {"accept": data.text("analysis"), "search": data.text("analysis"), "reject": ""}
    node["note"] = notes.get(verdict, "no usable review")


def expanded(tree: Growing, data: Data) -> None:
    """Search a path further."""
    node = tree.nodes.get(data.text("id"))
    if node:
        node["status"], node["query"] = "expanded", data.text("query")
