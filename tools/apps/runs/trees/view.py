"""How a run's tree is shown, whatever draws it: words and signs for what became of a node, and groups of paragraphs.

Nothing here is safe for a terminal or a page yet; each drawing makes it so in its own way.
"""

from dataclasses import dataclass, field
from typing import Final

from hopgraph.tools.apps.runs.trees.records import Kind, RunNode, RunTree, Status, children_of

SIGNS: Final[dict[Status, str]] = {
    "open": "○",
    "expanded": "→",
    "found": "·",
    "accepted": "✓",
    "rejected": "✗",
    "pruned": "-",
    "answered": "✓",
    "unknown": "?",
}
"""One sign for each status, beside its word, so that no drawing needs colours to be read."""

EVIDENCE = "★"
"""The sign of what the answer rests on."""

_WORDS: Final[dict[tuple[Kind, Status], str]] = {
    ("paragraph", "unknown"): "not reviewed",
    ("knowledge", "found"): "recalled",
    ("statement", "open"): "taken",
    ("statement", "accepted"): "verified",
    ("statement", "rejected"): "not verified",
    ("thought", "found"): "thought",
    ("answer", "found"): "not chosen",
    ("answer", "accepted"): "chosen",
    ("answer", "expanded"): "gone on from",
    ("answer", "unknown"): "no answer",
    ("question", "pruned"): "not followed",
}


@dataclass(frozen=True)
class ShownNode:
    """A node as it is shown, or several paragraphs that say the same."""

    id: str
    kind: Kind
    status: Status
    word: str
    """What became of it."""
    label: str
    text: str
    answer: str
    """Empty where it is the text."""
    notes: tuple[str, ...]
    evidence: bool
    below: list["ShownNode"] = field(default_factory=list["ShownNode"])

    @property
    def sign(self) -> str:
        """The status's sign."""
        return SIGNS[self.status]


def view_of(tree: RunTree, *, titles: int | None = 3) -> ShownNode:
    """Arrange a tree for people.

    Args:
        tree: At least its root.
        titles: Paragraphs side by side that became the same, with nothing more to be said of them, are shown
            together, with the titles of the first ones; None for all titles.
    """
    children = children_of(tree)
    below: dict[str, list[ShownNode]] = {}
    for node in reversed(tree["nodes"]):  # the nodes below a node come after it
        own = children.get(node["id"], [])
        below[node["id"]] = _arranged(own, below, children, titles)
    root = tree["nodes"][0]
    return _shown(root, below[root["id"]], children.get(root["id"], []))


def depth_below(root: ShownNode) -> int:
    """Count the levels below a node; 0 for none."""
    level, depth = root.below, 0
    while level:
        level, depth = [below for node in level for below in node.below], depth + 1
    return depth


def grows(tree: RunTree) -> bool:
    """Tell whether a run did more than one search: whether its tree says more than the list of its steps."""
    return any(node["parent"] and (node["kind"] in ("question", "query") or node["query"]) for node in tree["nodes"])


def _arranged(
    nodes: list[RunNode], below: dict[str, list[ShownNode]], children: dict[str, list[RunNode]], titles: int | None
) -> list[ShownNode]:
    groups: dict[tuple[str, ...], list[RunNode]] = {}
    for node in nodes:
        plain = node["kind"] == "paragraph" and not (node["answer"] or node["evidence"] or below[node["id"]])
        key = (node["status"], node["label"], node["note"], node["query"]) if plain else (node["id"],)
        groups.setdefault(key, []).append(node)
    return [
        _shown(group[0], below[group[0]["id"]], children.get(group[0]["id"], []), _texts(group, titles))
        for group in groups.values()
    ]


def _texts(group: list[RunNode], titles: int | None) -> str:
    shown = group[:titles]
    rest = len(group) - len(shown)
    return " · ".join([*(node["text"] for node in shown), *([f"{rest:,} more"] if rest else [])])


def _shown(node: RunNode, below: list[ShownNode], children: list[RunNode], text: str | None = None) -> ShownNode:
    said = node["text"] if text is None else text
    searched = f"searched: {node['query']}" if node["query"] else ""
    return ShownNode(
        id=node["id"],
        kind=node["kind"],
        status=node["status"],
        word=_word(node, children),
        label=node["label"],
        text=said,
        answer="" if node["answer"] == said else node["answer"],
        notes=tuple(note for note in (node["note"], searched) if note),
        evidence=node["evidence"],
        below=below,
    )


def _word(node: RunNode, children: list[RunNode]) -> str:
    if node["status"] == "expanded" and node["kind"] != "paragraph" and node["kind"] != "answer":
        parts = node["kind"] == "question" and any(child["kind"] == "question" for child in children)
        return "in parts" if parts else "searched"
    return _WORDS.get((node["kind"], node["status"]), node["status"])
