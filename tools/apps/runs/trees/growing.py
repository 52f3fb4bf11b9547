"""A tree under way, and the reading of events, of which a file may hold any."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from hopgraph.tools.apps.runs.trees.records import ROOT, Kind, RunNode, Status

_ASKING = frozenset({"question", "query", "thought"})
"""The kinds of nodes whose text is searched."""


@dataclass(frozen=True)
class Data:
    """An event's data; what is missing or of another type reads as empty."""

    given: Mapping[str, Any]

    def text(self, key: str) -> str:
        """Read a text; empty for none."""
        value = self.given.get(key)
        return value if isinstance(value, str) else ""

    def flag(self, key: str) -> bool:
        """Read a truth value."""
        return self.given.get(key) is True

    def number(self, key: str) -> int | None:
        """Read a whole number."""
        value = self.given.get(key)
        return value if type(value) is int else None

    def numbers(self, key: str) -> list[float]:
        """Read a list of numbers."""
        return [each for each in self._list(key) if isinstance(each, int | float)]

    def texts(self, key: str) -> list[str]:
        """Read a list of texts."""
        return [each for each in self._list(key) if isinstance(each, str)]

    def records(self, key: str) -> list["Data"]:
        """Read a list of records."""
        return [Data(cast("Mapping[str, Any]", each)) for each in self._list(key) if isinstance(each, Mapping)]

    def pairs(self, key: str) -> list[tuple[str, str]]:
        """Read a map from texts to texts."""
        value = self.given.get(key)
        entries = cast("Mapping[object, object]", value).items() if isinstance(value, Mapping) else ()
        return [(name, text) for name, text in entries if isinstance(name, str) and isinstance(text, str)]

    def _list(self, key: str) -> list[object]:
        value = self.given.get(key)
        return cast("list[object]", value) if isinstance(value, list) else []


@dataclass
class Growing:
    """A tree under way. No node ever changes its parent, so that it stays a tree."""

    question: str
    nodes: dict[str, RunNode] = field(default_factory=dict[str, RunNode])
    titles: dict[str, str] = field(default_factory=dict[str, str])
    """Of the passages seen, by id."""
    searched: set[str] = field(default_factory=set[str])
    """The ids of nodes whose text was searched."""
    used: set[str] = field(default_factory=set[str])
    """The ids of the evidence that the last decision rests on."""
    interim: str = ""
    """An answer that was given, and may be the last."""

    def __post_init__(self) -> None:
        self.nodes[ROOT] = _new(ROOT, "", "question", text=self.question)

    def add(
        self,
        key: str,
        kind: Kind,
        *,
        parent: str = ROOT,
        text: str = "",
        label: str = "",
        status: Status = "open",
        note: str = "",
        passage_ids: Iterable[str] = (),
    ) -> RunNode:
        """Add a node; one of this id that is there stays as it is. A parent that is not there is the root.

        A node without an id gets one.
        """
        key = key or self.fresh("n")
        if key not in self.nodes:
            above = parent if parent in self.nodes and key != ROOT else ROOT
            self.nodes[key] = _new(key, above, kind, text, label, status, note, passage_ids)
        return self.nodes[key]

    def fresh(self, prefix: str) -> str:
        """Make an id that no node has."""
        number = 1
        while f"{prefix}{number}" in self.nodes:
            number += 1
        return f"{prefix}{number}"

    def learn(self, keys: Iterable[str], titles: Iterable[str]) -> None:
        """Remember the titles of passages."""
        self.titles.update((key, title) for key, title in zip(keys, titles, strict=False) if title)

    def title(self, key: str) -> str:
        """Name a passage; by its id where it has no title."""
        return self.titles.get(key) or key

    def under(self, key: str) -> list[RunNode]:
        """List a node's children in their order."""
        return [node for node in self.nodes.values() if node["parent"] == key]

    def asks(self, text: str) -> str:
        """Find the node that a searched text belongs to: the last open one with it, else the last.

        A question that is searched together with earlier answers begins the text. Empty for none.
        """
        asking = [node for node in self.nodes.values() if node["kind"] in _ASKING]
        same = [node for node in asking if node["text"] == text]
        if not same:
            same = [node for node in asking if node["id"] != ROOT and text.startswith(f"{node['text']} ")]
            same = [node for node in same if node["text"] and node["kind"] == "question"]
        opened = [node for node in same if node["status"] == "open" and node["id"] not in self.searched]
        return (opened or same)[-1]["id"] if same else ""

    def paragraph(self, parent: str, passage_id: str) -> RunNode:
        """Get or add the paragraph of a search, as found."""
        key = f"{parent}/{passage_id}"
        text = self.title(passage_id)
        return self.add(key, "paragraph", parent=parent, text=text, status="found", passage_ids=[passage_id])

    def judge(self, parent: str, kept: Iterable[str], notes: Mapping[str, str] | None = None) -> None:
        """Accept paragraphs of a search, with their notes, and reject its others."""
        chosen = list(kept)
        if self.nodes[parent]["status"] == "open":
            self.nodes[parent]["status"] = "expanded"
        for passage_id in chosen:
            node = self.paragraph(parent, passage_id)
            node["status"], node["note"] = "accepted", (notes or {}).get(passage_id) or node["note"]
        keys = {f"{parent}/{passage_id}" for passage_id in chosen}
        for node in self.under(parent):
            if node["kind"] == "paragraph" and node["id"] not in keys:
                node["status"] = "rejected"


def _new(
    key: str,
    parent: str,
    kind: Kind,
    text: str = "",
    label: str = "",
    status: Status = "open",
    note: str = "",
    passage_ids: Iterable[str] = (),
) -> RunNode:
    return RunNode(
        id=key,
        parent=parent,
        kind=kind,
        label=label,
        text=text,
        status=status,
        answer="",
        note=note,
        query="",
        passage_ids=list(passage_ids),
        evidence=False,
    )
