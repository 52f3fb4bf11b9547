"""A run as a tree, with functions shared by all its displays. Texts are untrusted; each display sanitizes them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from hopgraph.state import Citation

RUN_ROOT = "0"
"""The id of the root, the original question."""

RunNodeKind = Literal["question", "query", "paragraph", "knowledge", "statement", "thought", "answer", "rest"]
"""The kind of a node.

A `question` (the original one, a sub-question, a hop's), a searched `query`, a `paragraph` (or several that a chain
read at once), `knowledge` written by the model itself, a `statement` extracted from paragraphs, a `thought`, an
`answer` that is not final (a sample or an interim one), or the `rest` that `limit_nodes` left out.
"""

Status = Literal["open", "expanded", "found", "accepted", "rejected", "pruned", "answered", "unknown"]
"""The outcome of a node.

`open`: not processed yet. `expanded`: a question was decomposed, a query or a path searched. `found`: not judged.
`accepted`, `rejected`: judged. `pruned`: dropped before it was judged. `answered`, `unknown`: a question's outcome.
"""

_WORDS: Final[dict[tuple[RunNodeKind, Status], str]] = {
    ("paragraph", "unknown"): "not reviewed",
    ("knowledge", "found"): "recalled",
    ("statement", "open"): "extracted",
    ("statement", "accepted"): "verified",
    ("statement", "rejected"): "not verified",
    ("thought", "found"): "thought",
    ("answer", "found"): "not chosen",
    ("answer", "accepted"): "chosen",
    ("answer", "expanded"): "continued",
    ("answer", "unknown"): "no answer",
    ("question", "pruned"): "not followed",
    ("rest", "found"): "left out",
}

SETTLED: Final = {
    "known": "from the model's own knowledge",
    "passages": "from passages",
    "composed": "from the answers to its parts",
    "best_effort": "the best available",
    "unsolved": "nothing answers it",
    "depth": "it is too deep",
    "questions": "max_questions is reached",
    "budget": "the budget is used up",
}
"""Descriptions of how a question of a tree was settled."""


@dataclass
class RunNode:
    """A node of a run's tree."""

    id: str
    """Unique in its tree; `0` for the root. A method's own node ids are kept."""
    kind: RunNodeKind
    parent: str = RUN_ROOT
    """The parent's id; empty for the root."""
    text: str = ""
    """The question, query, title or statement."""
    label: str = ""
    """Its role in the method, e.g. `hop 2` or `external query`; may be empty."""
    status: Status = "open"
    answer: str = ""
    """The short answer; empty if there is none, or if it is the text."""
    note: str = ""
    """The reason for the status, in the method's or the model's words; may be empty."""
    query: str = ""
    """The query searched below it, if different from its text; may be empty."""
    passage_ids: list[str] = field(default_factory=list[str])
    """The passages that it represents or cites."""
    evidence: bool = False
    """Whether the run's answer is based on it or on a node below it; never set for the root."""
    children: list["RunNode"] = field(default_factory=list["RunNode"])
    """In the order of the run."""

    @property
    def word(self) -> str:
        """Return its outcome in a word or two."""
        if self.status == "expanded" and self.kind not in ("paragraph", "answer"):
            parts = self.kind == "question" and any(child.kind == "question" for child in self.children)
            return "in parts" if parts else "searched"
        return _WORDS.get((self.kind, self.status), self.status)

    @property
    def notes(self) -> list[str]:
        """The lines below its text."""
        return [note for note in (self.note, f"searched: {self.query}" if self.query else "") if note]


@dataclass
class RunTree:
    """A run as a tree, with its outcome."""

    nodes: list[RunNode]
    """The root first, each node before its children."""
    answer: str = ""
    """Empty if there is none, and until the run has ended."""
    stop_reason: str = ""
    """Empty until the run has ended."""
    quotes: list[Citation] = field(default_factory=list[Citation])
    """Citations of the answer, best first; a passage without a title is named by its id."""

    @property
    def root(self) -> RunNode:
        """The original question."""
        return self.nodes[0]

    @property
    def is_multi_step(self) -> bool:
        """Return whether the run did more than one search, so that its tree adds to the list of steps."""
        return any(node.parent and (node.kind in ("question", "query") or node.query) for node in self.nodes)


def walk_tree(root: RunNode) -> Iterator[tuple[RunNode, int]]:
    """Yield the nodes with their depths, each before its children."""
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in reversed(node.children)]


def tree_depth(root: RunNode) -> int:
    """Return the number of levels below a node."""
    return max(depth for _, depth in walk_tree(root))


def tree_size(root: RunNode) -> int:
    """Count the nodes of a tree."""
    return sum(1 for _ in walk_tree(root))


def keep_evidence(root: RunNode) -> RunNode:
    """Return the tree reduced to the nodes that support the run's answer, which include their parents."""
    made: dict[str, RunNode] = {}
    for node, _ in reversed(list(walk_tree(root))):
        made[node.id] = replace(node, children=[made[child.id] for child in node.children if child.evidence])
    return made[root.id]


def group_paragraphs(root: RunNode, titles: int | None = 3) -> RunNode:
    """Return the tree with sibling paragraphs of equal status merged into one node with the first `titles`, or all."""
    made: dict[str, RunNode] = {}
    for node, _ in reversed(list(walk_tree(root))):
        groups: dict[tuple[str, ...], list[RunNode]] = {}
        for child in node.children:
            plain = child.kind == "paragraph" and not (child.answer or child.evidence or child.children)
            key = (child.status, child.label, child.note, child.query) if plain else (child.id,)
            groups.setdefault(key, []).append(made[child.id])
        children = list[RunNode]()
        for group in groups.values():
            texts = [each.text for each in group[:titles]]
            rest = [f"{len(group) - len(texts):,} more"] if len(group) > len(texts) else []
            children.append(replace(group[0], text=" · ".join(texts + rest)))
        made[node.id] = replace(node, children=children)
    return made[root.id]


def limit_nodes(root: RunNode, most: int) -> RunNode:
    """Return the tree with at most `most` nodes; a node that lost descendants gets a last child with their number.

    Nodes on the path to the answer have priority, then those near the root, earlier before later ones.
    """
    order = sorted(walk_tree(root), key=lambda entry: entry[1])
    if len(order) <= most:
        return root
    # Parents of evidence are evidence, so every kept node's parent is kept.
    first = sorted(order[1:], key=lambda entry: (not entry[0].evidence, entry[1]))
    kept = {root.id, *(node.id for node, _ in first[: most - 1])}
    made: dict[str, RunNode] = {}
    for node in [node for node, _ in reversed(order) if node.id in kept]:
        left_out = sum(tree_size(child) for child in node.children if child.id not in kept)
        children = [made[child.id] for child in node.children if child.id in kept]
        if left_out:
            children.append(RunNode(f"{node.id}/rest", "rest", node.id, f"{left_out:,} more", status="found"))
        made[node.id] = replace(node, children=children)
    return made[root.id]
