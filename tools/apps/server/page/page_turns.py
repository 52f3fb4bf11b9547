"""One turn as the page shows it: what was asked, its steps, and how it ended."""

import json
import time
import uuid
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from hopgraph.state import Passage, StepEvent
from hopgraph.tools.apps.runs.lines import Line

Ended = Literal["", "done", "stopped", "failed", "paused", "elsewhere"]
"""`""`: it runs, and whoever asked watches. `stopped`: by the person, or because the page or the app was closed.
`paused`: a person is asked. `elsewhere`: it runs, watched by another tab or another door of the app."""


@dataclass
class Turn:
    """A question and what became of it; the live page and a restored thread are drawn from the same record."""

    asked: str
    """What the person wrote."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Of the person's message in the thread."""
    asked_at: float = field(default_factory=time.time)
    """Seconds since 1970; 0 for a turn that this page did not see begin."""
    method: str = "auto"
    changes: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The settings that the person changed."""
    corpus: str = ""
    """The id of the one of their own corpora that the person chose; empty for the app's."""
    about: str = ""
    """The method, the model and the corpus it was asked with, for people."""
    stand_in: bool = False
    """Whether the model was the embedded one, which is no language model."""
    lines: list[Line] = field(default_factory=list[Line])
    """The steps in words, in the order of the run."""
    events: list[StepEvent] = field(default_factory=list[StepEvent])
    """What the picture is drawn from."""
    passages: dict[str, Passage] = field(default_factory=dict[str, Passage])
    """What was read, by id."""
    told: dict[str, Any] = field(default_factory=dict[str, Any])
    """The reply's question, answer, citations, method and stop reason; empty while there is none."""
    said: str = ""
    """The reply's text where nothing was looked up."""
    problem: str = ""
    """Why it failed, in one line."""
    ended: Ended = ""

    def packed(self) -> bytes:
        """Write it down."""
        return zlib.compress(json.dumps(asdict(self), separators=(",", ":")).encode())


def unpacked(packed: bytes) -> Turn:
    """Read what `Turn.packed` wrote; a turn that was never finished was broken off with its process."""
    fields: dict[str, Any] = json.loads(zlib.decompress(packed))
    fields["lines"] = [Line(**line) for line in fields["lines"]]
    fields.setdefault("asked_at", 0.0)
    turn = Turn(**fields)
    turn.ended = turn.ended or "stopped"
    return turn
