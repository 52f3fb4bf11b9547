"""The records of a run's tree."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

ROOT = "0"
"""The id of the root, the question that was asked."""

Kind = Literal["question", "query", "paragraph", "knowledge", "statement", "thought", "answer"]
"""What a node stands for.

A `question` (the one asked, a part of it, a hop's), a `query` that was searched, a `paragraph` (or the several
that a chain read at once), `knowledge` that the model wrote itself, a `statement` taken from paragraphs, a
`thought`, and an `answer` that is not the last: a sample, or one on the way.
"""

Status = Literal["open", "expanded", "found", "accepted", "rejected", "pruned", "answered", "unknown"]
"""What became of a node.

`open`: not worked on yet. `expanded`: gone on from: a question was broken down, a query or a path searched.
`found`: there, and not judged. `accepted` and `rejected`: judged. `pruned`: set aside before it was judged.
`answered` and `unknown`: how a question ended.
"""


class RunNode(TypedDict):
    """A node of a run's tree."""

    id: str
    """Unique in its tree; `0` for the root. A method's own node ids are kept."""
    parent: str
    """The parent's id; empty for the root."""
    kind: Kind
    label: str
    """Its place in the method, as `hop 2` or `external query`; may be empty."""
    text: str
    """The question, query, title or statement; foreign text, not made safe for anything."""
    status: Status
    answer: str
    """Short; empty without one."""
    note: str
    """The reason of the status, in the method's or the model's words; may be empty."""
    query: str
    """What was searched below it, where that is not its text; may be empty."""
    passage_ids: list[str]
    """The passages that it stands for or rests on."""
    evidence: bool
    """Whether the run's answer rests on it, or on something below it; never set for the root."""


class Quote(TypedDict):
    """A sentence that the answer rests on."""

    passage_id: str
    title: str
    quote: str


class RunTree(TypedDict):
    """A run, as a tree with its end."""

    nodes: list[RunNode]
    """The root first, each node before its children, children in the order of the run."""
    answer: str
    """Empty without one, and while the run goes on."""
    stop_reason: str
    """Empty while the run goes on."""
    quotes: list[Quote]
    """What the answer cites, best first."""


def children_of(tree: RunTree) -> dict[str, list[RunNode]]:
    """Group nodes by their parent's id, in their order; the root stands under the empty id."""
    grouped: defaultdict[str, list[RunNode]] = defaultdict(list)
    for node in tree["nodes"]:
        grouped[node["parent"]].append(node)
    return dict(grouped)


def path_ids(nodes: Sequence[RunNode], wanted: set[str]) -> set[str]:
    """List the wanted ids with those of all nodes above them."""
    found = set(wanted)
    for node in reversed(nodes):  # children come after their parents
        if node["id"] in found:
            found.add(node["parent"])
    return found
