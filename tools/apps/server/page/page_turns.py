"""The page's turns: their questions, steps and outcomes, how they run, and how they are stored.

The checkpointer has only the messages. A turn is stored when it starts and when it ends, so that a turn whose process
was killed is still known, without its steps.
"""

import asyncio
import json
import time
import uuid
import zlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage
from langgraph.types import Interrupt
from pydantic import JsonValue

from hopgraph.state import Passage, StepEvent
from hopgraph.state.chat import AUTO
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.tree_builder import TREE_EVENTS
from hopgraph.tools.apps.server.page.review_form import ReviewRequest
from hopgraph.tools.apps.server.threads import Threads
from hopgraph.tools.apps.server.turn import TurnEnd, TurnStep, error_line

_PAUSE_SECONDS = 0.05
"""Pause between updates of the page; steps that arrive meanwhile are drawn together, which is cheaper."""

TurnStatus = Literal["", "done", "stopped", "failed", "paused", "elsewhere"]
"""`""`: running. `stopped`: by the user, or because the app ended. `paused`: waiting for a review. `elsewhere`: running
at another endpoint of the app."""


@dataclass(kw_only=True)
class TurnOptions:
    """Options of a question."""

    method: str = AUTO
    changes: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    corpus: str = ""
    """The id of one of the user's own corpora, with `JOINED` to also search the app's; empty for only the app's."""


@dataclass
class PageTurn(TurnOptions):
    """A question and its outcome, as the page draws and stores it; the field names are part of the stored format."""

    asked: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)  # of the user's message
    asked_at: float = field(default_factory=time.time)
    """Seconds since 1970; 0 for a turn that was not started on this page."""
    about: str = ""  # the method, the model and the corpus, as shown to users
    stand_in: bool = False  # whether the rule-based model answered
    lines: list[Line] = field(default_factory=list[Line])
    events: list[StepEvent] = field(default_factory=list[StepEvent])
    passages: dict[str, Passage] = field(default_factory=dict[str, Passage])  # by id
    told: dict[str, Any] = field(default_factory=dict[str, Any])
    """The reply's question, answer, citations, method and stop reason; empty until there is a reply."""
    said: str = ""
    """The reply's text as Markdown, while it is streamed or if nothing was looked up."""
    problem: str = ""  # why it failed, in one line
    feedback: Literal["", "good", "bad"] = ""
    comment: str = ""  # on the rating; untrusted text
    ended: TurnStatus = ""

    def record_reply(self, message: Any) -> None:
        """Record the reply's message, which ends the turn."""
        found = message.additional_kwargs if isinstance(message, AIMessage) else {}
        looked_up = bool(found.get("method"))
        self.told = dict(found) if looked_up else {}
        self.said = "" if looked_up else message.text


@dataclass(frozen=True)
class ThreadView:
    """A tab's view of a thread."""

    thread: str  # empty for a new one
    turns: Sequence[PageTurn]
    asked: Sequence[ReviewRequest] = ()
    problem: str = ""  # an error that belongs to no turn

    @property
    def runs(self) -> bool:
        """Return whether the last turn is running."""
        return bool(self.turns) and not self.turns[-1].ended


@dataclass(frozen=True)
class TurnStore:
    """The turns of all users' threads, in the threads' own database."""

    threads: Threads

    async def save(self, owner: str, thread: str, turn: PageTurn) -> None:
        """Write a turn, replacing its earlier version."""
        packed = zlib.compress(json.dumps(asdict(turn), separators=(",", ":")).encode())
        await self.threads.rows(
            "INSERT INTO hopgraph_turns VALUES (?, ?, ?, ?) "
            "ON CONFLICT (owner, thread, turn) DO UPDATE SET kept = excluded.kept",
            (owner, thread, turn.id, packed),
        )

    async def load(self, owner: str, thread: str) -> dict[str, PageTurn]:
        """Return a thread's turns by id; a turn that never ended was stopped with its process."""
        rows = await self.threads.rows(
            "SELECT kept FROM hopgraph_turns WHERE owner = ? AND thread = ?", (owner, thread)
        )
        turns: dict[str, PageTurn] = {}
        for row in rows:
            turn = PageTurn(**json.loads(zlib.decompress(row[0])))
            turn.lines = [Line(**cast("Any", line)) for line in turn.lines]
            turn.ended = turn.ended or "stopped"
            turns[turn.id] = turn
        return turns

    async def delete(self, owner: str, thread: str, turns: Sequence[str]) -> None:
        """Delete some of a thread's turns, if they exist."""
        for turn in turns:
            sql = "DELETE FROM hopgraph_turns WHERE owner = ? AND thread = ? AND turn = ?"
            await self.threads.rows(sql, (owner, thread, turn))


async def record_run(
    steps: AsyncGenerator[TurnStep], seconds: float, turn: PageTurn, news: Callable[[], None]
) -> Sequence[Interrupt]:
    """Run and record a turn, calling `news` at each step; return its interrupts. If cancelled, `ended` stays empty."""
    end: TurnEnd | None = None
    try:
        async with asyncio.timeout(seconds), aclosing(steps):
            async for step in steps:
                turn.lines += step.lines
                turn.said += step.text
                turn.passages.update((each["id"], each) for each in step.passages)
                if step.event and step.event["event"] in TREE_EVENTS:
                    turn.events.append(step.event)
                end = step if isinstance(step, TurnEnd) else None
                news()
    except Exception as error:  # noqa: BLE001 - `error_line` logs unexpected ones
        if not end:
            turn.ended, turn.problem = "failed", error_line(error, seconds)
    # Only now that the run is closed: until then the thread is busy.
    if end and not end.paused:
        turn.record_reply(end.state["messages"][-1])
    if end:
        turn.ended = "paused" if end.paused else "done"
    return end.paused if end else ()


class LiveTurn:
    """A running turn; closing or reloading the page does not stop it."""

    def __init__(self, view: ThreadView, *, over: bool = False) -> None:
        """Start with a view whose last turn is running, unless it is `over`."""
        self.view = view
        self.task: asyncio.Task[None] | None = None
        self._news, self._over = asyncio.Event(), over

    def tell(self, *, over: bool = False) -> None:
        """Wake the followers; `over` once the turn has ended and is stored."""
        self._over = self._over or over
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self) -> AsyncGenerator[ThreadView]:
        """Yield the view at once and after each change, until the turn is over."""
        while not self._over:
            news = self._news
            yield self.view
            if not self._over:
                await news.wait()
                await asyncio.sleep(_PAUSE_SECONDS)
        yield self.view
