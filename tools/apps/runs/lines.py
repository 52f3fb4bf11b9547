"""A line of a run's narration, and the context in which an event is formatted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hopgraph.state import Passage
from hopgraph.tools.text.sanitize import pluralize, sanitize_line, truncate_line

Style = Literal["heading", "plain", "dim", "good", "bad", "warning"]

MAX_TEXT = 150
"""Characters of a passage that a line shows, unless the narration is verbose."""
_MAX_TITLES, _MAX_QUESTION = 3, 90


@dataclass(frozen=True)
class Line:
    """One line of a run's narration, before wrapping."""

    label: str
    """The step's name for the left column; empty if the line continues the step above."""
    text: str
    """On one line; safe for a terminal."""
    style: Style = "plain"
    mark: str = ""
    """A sign before the text; wrapped lines are indented past it."""


@dataclass
class EventView:
    """The context in which an event is formatted."""

    verbose: bool = False
    passages: dict[str, Passage] = field(default_factory=dict[str, Passage])
    """Passages found so far, by id, for titles and sentences."""
    parallel: bool = False
    """Whether the superstep has several events of this type, so that each must name its query."""
    named: dict[str, str] = field(default_factory=dict[str, str])
    """Titles from search events, by passage id, as the passages may still be inside a subgraph."""
    statements: set[str] = field(default_factory=set[str])
    """Statements shown in earlier lines."""

    def query(self, text: str) -> str:
        """Return `“query”: ` if several queries run in parallel; else an empty string."""
        return f"“{sanitize_line(text)}”: " if self.parallel else ""

    def question(self, text: str) -> str:
        """Return a question in quotes, shortened."""
        return f"“{truncate_line(text, _MAX_QUESTION)}”"

    def cut(self, text: str) -> str:
        """Return a text on one line, shortened unless the narration is verbose."""
        return sanitize_line(text) if self.verbose else truncate_line(text, MAX_TEXT)

    def title(self, passage_id: str) -> str:
        """Return a passage's title; its id if it has none."""
        passage = self.passages.get(passage_id)
        title = passage["title"] if passage else self.named.get(passage_id, "")
        return sanitize_line(title or passage_id)

    def titles(self, passage_ids: Sequence[str]) -> str:
        """Return the first titles and how many more there are: `Berlin · Riga · 2 more`."""
        listed = passage_ids if self.verbose else passage_ids[:_MAX_TITLES]
        rest = len(passage_ids) - len(listed)
        return " · ".join([*map(self.title, listed), *([f"{rest:,} more"] if rest else [])])

    def count(self, passage_ids: Sequence[str], noun: str = "passage") -> str:
        """Return a count, with titles if there are any: `2 passages: Berlin · Riga`."""
        count = pluralize(len(passage_ids), noun)
        return f"{count}: {self.titles(passage_ids)}" if passage_ids else count
