"""Running turns of the page: each is a task that its browser session can stop."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.types import Interrupt

from hopgraph.nodes.chat.reply import unescape_markup
from hopgraph.tools.apps.runs.narration import Narrator
from hopgraph.tools.apps.runs.tree_builder import TREE_EVENTS
from hopgraph.tools.apps.server.page.page_turns import PageTurn
from hopgraph.tools.apps.server.relay import run_in_task
from hopgraph.tools.apps.server.turn import PassagesRead, TurnEnd, TurnStep, error_line, step_lines

_BATCH_SECONDS = 0.05
"""Steps that arrive within this time are shown together; less is not seen, and costs drawing."""


class RunningTurns:
    """The turns that run, by browser session; a session has one at a time."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def stop(self, session: str) -> None:
        """Cancel the session's turn; nothing happens if none runs."""
        if task := self._tasks.get(session):
            task.cancel()

    async def stop_all(self) -> None:
        """Cancel every turn, and wait until none runs."""
        for task in (tasks := list(self._tasks.values())):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def watch(
        self, session: str, steps: AsyncGenerator[TurnStep], seconds: float, turn: PageTurn
    ) -> AsyncGenerator[Sequence[Interrupt]]:
        """Run a turn to its end and record it in `turn`; yields whenever there is something new.

        Yields:
            What a person is asked: empty except at the end of a run that paused.
        """
        narrator = Narrator(passages=turn.passages)
        async with run_in_task(steps, seconds) as (task, arrived):
            self._tasks[session] = task
            try:
                end: TurnEnd | None = None
                while (batch := await _batch(arrived)) is not None:
                    for step in batch:
                        _record(step, turn, narrator)
                        end = step if isinstance(step, TurnEnd) else end
                    yield ()
                turn.lines += narrator.flush()
                # Only once the task has ended: until then the thread takes no other question.
                _record_end(turn, task, end, seconds)
                yield end.paused if end else ()
            finally:
                # Also when the tab that watches was closed: then the turn has no reader left.
                turn.ended = turn.ended or "stopped"
                if self._tasks.get(session) is task:
                    del self._tasks[session]


async def _batch(arrived: asyncio.Queue[TurnStep | None]) -> list[TurnStep] | None:
    """Wait for steps and take all that are there; None when no more will come."""
    first = await arrived.get()
    if first is None:
        return None
    await asyncio.sleep(_BATCH_SECONDS)
    batch = [first]
    while not arrived.empty():
        step = arrived.get_nowait()
        if step is None:
            arrived.put_nowait(None)
            break
        batch.append(step)
    return batch


def _record(step: TurnStep, turn: PageTurn, narrator: Narrator) -> None:
    turn.lines += step_lines(step, narrator)
    if isinstance(step, TurnEnd):
        if not step.paused:
            record_reply(turn, step.state["messages"][-1])
    elif not isinstance(step, PassagesRead) and step["event"] in TREE_EVENTS:
        turn.events.append(step)


def record_reply(turn: PageTurn, message: Any) -> None:
    """Record the reply's message in the turn that it ends."""
    found = message.additional_kwargs if isinstance(message, AIMessage) else {}
    looked_up = bool(found.get("method"))
    turn.told = dict(found) if looked_up else {}
    turn.said = "" if looked_up else unescape_markup(message.text)


def _record_end(turn: PageTurn, task: asyncio.Task[None], end: TurnEnd | None, seconds: float) -> None:
    if end:
        turn.ended = "paused" if end.paused else "done"
    elif task.cancelled():
        turn.ended = "stopped"
    elif error := task.exception():
        turn.ended = "failed"
        turn.problem = error_line(error, seconds)
