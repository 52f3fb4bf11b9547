"""The parts of the page that its functions read and fill; Gradio's components, which have no types."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kept:
    """What a tab remembers."""

    opened: Any
    """The id of the thread that is shown; empty for a new one. On the server, while the tab is open."""
    last_opened: Any
    """The same in the browser, for the next visit."""
    changes: Any
    """The settings that were changed: name → value."""
    fields: Any
    """What the fields of the settings are made for: the method, what is changed already, and a mark of its own."""
    asked: Any
    """What a paused turn asks a person: a list of `ReviewRequest`; empty for nothing."""


@dataclass(frozen=True)
class Left:
    """The threads."""

    new: Any
    threads: Any
    manage: Any
    """Renaming and deleting; hidden where no thread is open."""
    title: Any
    rename: Any
    delete: Any
    sure: Any
    """Asks whether to delete."""
    delete_it: Any
    keep_it: Any


@dataclass(frozen=True)
class Middle:
    """The conversation."""

    notice: Any
    """The model and the corpus that the next question goes to."""
    earlier: Any
    """All turns but the last one, which alone changes while it runs."""
    last: Any
    review: Any
    """Where a review is asked for."""
    box: Any
    send: Any
    stop: Any


@dataclass(frozen=True)
class Right:
    """The picture, and what the next question is asked with."""

    picture: Any
    method: Any
    reviewed: Any
    """What a person wants to see first: queries, evidence."""
    corpus: Any
    files: Any
    name: Any
    language: Any
    index: Any
    indexed: Any
    """What became of an upload."""
    forget: Any
    """Deletes the corpus that is chosen."""


@dataclass(frozen=True)
class Parts(Kept, Left, Middle, Right):
    """All of them."""
