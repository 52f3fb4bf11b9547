"""A line of the account of a run, and what makes lines of an event."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hopgraph.state import Passage
from hopgraph.tools.text.sanitize import pluralize, sanitize_line, truncate_line

Style = Literal["heading", "plain", "dim", "good", "bad", "warning"]

TEXT_SHOWN = 150
"""Characters of a passage that a line shows, unless everything is asked for."""
_TITLES_SHOWN, _QUESTION_SHOWN = 3, 90


@dataclass(frozen=True)
class Line:
    """One line of the account of a run, before wrapping."""

    label: str
    """The step's name for the left column; empty where the step above goes on."""
    text: str
    """On one line; safe for a terminal."""
    style: Style = "plain"
    mark: str = ""
    """A sign before the text, under which further lines do not begin."""


@dataclass(frozen=True)
class Told:
    """An event, and what else a teller works with."""

    data: Mapping[str, Any]
    passages: Mapping[str, Passage]
    """What the run found so far, by id."""
    several: bool
    """Whether the superstep has more events of this kind, so that each must say what it is about."""
    verbose: bool
    said: set[str]
    """The statements that were told before."""

    def about(self) -> str:
        """Name the query when there are several."""
        return f"“{sanitize_line(self.data['query'])}”: " if self.several else ""

    def question(self) -> str:
        """Name the question, shortened."""
        return f"“{truncate_line(self.data['question'], _QUESTION_SHOWN)}”"

    def titled(self, keys: Sequence[str], noun: str = "passage") -> str:
        """Count passages and name the first: `2 passages: Berlin · Riga`; without any, only the count."""
        count = pluralize(len(keys), noun)
        return f"{count}: {self.titles(keys)}" if keys else count

    def title(self, key: str) -> str:
        """Name a passage by its title; by its id where it has none."""
        passage = self.passages.get(key)
        return sanitize_line(passage["title"] if passage and passage["title"] else key)

    def titles(self, keys: Sequence[str]) -> str:
        """Name the first passages of a list, and say how many more there are."""
        shown = keys if self.verbose else keys[:_TITLES_SHOWN]
        rest = len(keys) - len(shown)
        return " · ".join([*(self.title(key) for key in shown), *([f"{rest:,} more"] if rest else [])])

    def cut(self, text: str) -> str:
        """Shorten a text, unless everything is to be shown."""
        return sanitize_line(text) if self.verbose else truncate_line(text, TEXT_SHOWN)
