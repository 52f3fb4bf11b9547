"""One turn as the page shows it: the question, its steps, and how it ended."""

import json
import time
import uuid
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from hopgraph.state import Passage, StepEvent
from hopgraph.tools.apps.runs.lines import Line

TurnStatus = Literal["", "done", "stopped", "failed", "paused", "elsewhere"]
"""`""`: it runs, and its tab watches. `stopped`: by the person, or because the page or the app was closed. `paused`: it
waits for a review. `elsewhere`: it runs, watched by another tab or started at another endpoint of the app."""


@dataclass
class PageTurn:
    """A question and its outcome, of which the live page and a restored thread are drawn alike.

    The names of the fields are those of the stored format.
    """

    asked: str
    """What the person wrote."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Of the person's message in the thread."""
    asked_at: float = field(default_factory=time.time)
    """Seconds since 1970; 0 for a turn that was not started on this page."""
    method: str = "auto"
    changes: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The settings that the person changed."""
    corpus: str = ""
    """The id of the user's corpus that was chosen; empty for the app's."""
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
    ended: TurnStatus = ""

    def pack(self) -> bytes:
        """Encode the turn for the turn store."""
        return zlib.compress(json.dumps(asdict(self), separators=(",", ":")).encode())


def unpack_turn(packed: bytes) -> PageTurn:
    """Decode what `PageTurn.pack` wrote; a turn that never ended was interrupted with its process."""
    fields: dict[str, Any] = json.loads(zlib.decompress(packed))
    fields["lines"] = [Line(**line) for line in fields["lines"]]
    fields.setdefault("asked_at", 0.0)
    turn = PageTurn(**fields)
    turn.ended = turn.ended or "stopped"
    return turn
