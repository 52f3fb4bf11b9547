"""Running turns of the page: each is a task that its browser session can stop."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from langgraph.types import Interrupt

from hopgraph.tools.apps.runs.narration import Narrator
from hopgraph.tools.apps.runs.tree_builder import TREE_EVENTS
from hopgraph.tools.apps.server.page.page_turns import PageTurn
from hopgraph.tools.apps.server.relay import run_in_task
from hopgraph.tools.apps.server.turn import PassagesRead, TurnEnd, TurnStep, error_line, step_lines

_PAUSE_SECONDS = 0.05
"""After what is new was shown; steps that arrive meanwhile are shown together, as drawing each would cost more."""


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
                while (step := await arrived.get()) is not None:
                    turn.lines += step_lines(step, narrator)
                    if isinstance(step, TurnEnd):
                        end = step
                    elif not isinstance(step, PassagesRead) and step["event"] in TREE_EVENTS:
                        turn.events.append(step)
                    if arrived.empty():
                        yield ()
                        await asyncio.sleep(_PAUSE_SECONDS)
                turn.lines += narrator.flush()
                # Only once the task has ended: until then the thread takes no other question.
                _record_end(turn, task, end, seconds)
                yield end.paused if end else ()
            finally:
                # Also when the tab that watches was closed: then the turn has no reader left.
                turn.ended = turn.ended or "stopped"
                if self._tasks.get(session) is task:
                    del self._tasks[session]


def _record_end(turn: PageTurn, task: asyncio.Task[None], end: TurnEnd | None, seconds: float) -> None:
    if end and end.paused:
        turn.ended = "paused"
    elif end:
        turn.record_reply(end.state["messages"][-1])
        turn.ended = "done"
    elif task.cancelled():
        turn.ended = "stopped"
    elif error := task.exception():
        turn.ended = "failed"
        turn.problem = error_line(error, seconds)
