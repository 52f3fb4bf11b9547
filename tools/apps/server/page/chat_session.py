"""What the page does when somebody asks, stops, reviews, or opens a thread.

Each function gives a `View`: what is to be shown instead of what is there. `blocks` puts it on the page.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.types import Interrupt
from pydantic import JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import HopgraphError
from hopgraph.state.chat import ChatContext, settings_for_method
from hopgraph.tools.apps.runs.run_header import run_header
from hopgraph.tools.apps.server.admission import BusyError
from hopgraph.tools.apps.server.page.conversation_html import load_turns
from hopgraph.tools.apps.server.page.document_store import UserDocuments, documents_folder
from hopgraph.tools.apps.server.page.page_turns import Turn
from hopgraph.tools.apps.server.page.review_form import ReviewRequest, resume_command, review_requests
from hopgraph.tools.apps.server.page.running_turns import Running
from hopgraph.tools.apps.server.page.settings_panel import check_readable, effective_settings, list_settings
from hopgraph.tools.apps.server.page.turn_store import TurnStore
from hopgraph.tools.apps.server.service import AUTO, MAX_FIRST_TITLE, Service
from hopgraph.tools.apps.server.threads import thread_key
from hopgraph.tools.text.sanitize import truncate_line

_LAST_LOOKS = 40
"""How often it is looked, when the page closes, whether all watchers have ended: for two seconds."""


@dataclass(frozen=True)
class Wanted:
    """What the next question is asked with."""

    method: str = AUTO
    changes: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    corpus: str = ""
    """The id of one of the person's own; empty for the app's."""


@dataclass(frozen=True)
class View:
    """What a tab shows of a thread."""

    thread: str
    """Empty for a new one."""
    turns: Sequence[Turn]
    asked: Sequence[ReviewRequest] = ()
    problem: str = ""
    """An error that belongs to no turn."""

    @property
    def runs(self) -> bool:
        """Whether the last turn is under way."""
        return bool(self.turns) and not self.turns[-1].ended


@dataclass(frozen=True)
class ChatSession:
    """The page's work, apart from its looks."""

    service: Callable[[], Service]
    """The open service; there once the app has started."""
    running: Running = field(default_factory=Running)
    _open: dict[str, tuple[str, str, Turn]] = field(default_factory=dict[str, tuple[str, str, Turn]])
    """The turns under way, by id, with their user and thread; empty once the page has closed."""

    @property
    def kept(self) -> TurnStore:
        """Where turns are kept."""
        return TurnStore(self.service().threads.database)

    @cached_property
    def documents(self) -> UserDocuments:
        """People's own documents."""
        options = self.service().options
        return UserDocuments(documents_folder(options), options.max_upload_bytes)

    @property
    def owner(self) -> bool:
        """Whether whoever uses the page may choose everything: it is theirs, and nobody else gets to it."""
        return not self.service().options.keys

    def offered(self, method: str, changes: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Keep of what was changed once what the page still has a field for; nothing where no method can be had."""
        try:
            effective = effective_settings(method, self.service().settings(AUTO, {}))
        except HopgraphError:  # `about` tells it
            return {}
        names = {each.name for each in list_settings(effective, owner=self.owner)}
        return {name: value for name, value in changes.items() if name in names}

    def settings(self, user: str, wanted: Wanted) -> ChatContext:
        """Make a turn's settings.

        Raises:
            SettingsError: a setting is wrong, or is not the person's to choose, or the corpus is gone.
        """
        service = self.service()
        check_readable(wanted.method, wanted.changes, service.settings(AUTO, {}), owner=self.owner)
        # Whoever chooses `auto` here means it, whatever method the app was started with.
        changes = {**wanted.changes, **({"use_method": AUTO} if wanted.method == AUTO else {})}
        settings = service.settings(wanted.method, changes, owner=self.owner)
        if wanted.corpus:
            # It is the person's own, so choosing it is allowed to anybody.
            chosen = {**changes, "retriever": self.documents.spec(user, wanted.corpus)}
            settings = service.settings(wanted.method, chosen, owner=True)
        if wanted.method != AUTO:
            settings_for_method(settings, METHODS[wanted.method].Context)  # wrong ones are told before anything runs
        return settings

    async def about(self, user: str, wanted: Wanted) -> tuple[str, str]:
        """Say what a question goes to; and what the embedded model is, empty for another. Or what is wrong."""
        names = {each["id"]: each["name"] for each in await self.documents.list_for(user)}
        try:
            title = "Method by the question" if wanted.method == AUTO else METHODS[wanted.method].graph.get_name()
            line, stand_in = run_header(title, self.settings(user, wanted))
            spec = self.documents.spec(user, wanted.corpus) if wanted.corpus else ""
        except HopgraphError as error:
            return str(error), ""
        # Where the app keeps it is nobody's business.
        line = line.replace(spec, f"“{names.get(wanted.corpus, '')}”") if spec else line
        return line, stand_in

    async def open(self, user: str, thread: str) -> View:
        """Show a thread; a new one where the user has none of this name."""
        service = self.service()
        if thread not in [each["id"] for each in await service.threads.list_for(user)]:
            return View("", [])
        turns, interrupts = await load_turns(service, self.kept, user, thread)
        return View(thread, turns, review_requests(interrupts))

    async def delete(self, user: str, thread: str) -> None:
        """Delete a thread and its turns.

        Raises:
            BusyError: it is being answered; what was deleted would be written again.
        """
        service = self.service()
        with service.admission.exclusive(thread_key(user, thread)):
            await service.threads.delete(user, thread)
            await self.kept.delete(user, thread)

    async def close(self) -> None:
        """End every turn and keep what it came to; afterwards nothing is written any more."""
        await self.running.stop_all()
        for _ in range(_LAST_LOOKS):
            if not self._open:
                break
            await asyncio.sleep(0.05)  # whoever still watches writes down the last steps
        left = list(self._open.values())
        self._open.clear()
        for user, thread, turn in left:
            turn.ended = turn.ended or "stopped"
            await self.kept.keep(user, thread, turn)

    async def ask(self, session: str, user: str, thread: str, text: str, wanted: Wanted) -> AsyncGenerator[View]:
        """Ask a question in a thread; an empty name begins one."""
        before = View("", [])
        try:
            before = await self.open(user, thread)
            if before.thread and self.service().admission.is_busy(thread_key(user, before.thread)):
                raise BusyError("this conversation is still being answered elsewhere; ask again when it has ended")
            turn = Turn(text, method=wanted.method, changes=dict(wanted.changes), corpus=wanted.corpus)
            settings = self.settings(user, wanted)
            turn.about, stand_in = await self.about(user, wanted)
            turn.stand_in = bool(stand_in)
            opened = before.thread or await self.service().threads.create(user, truncate_line(text, MAX_FIRST_TITLE))
        except HopgraphError as error:
            yield replace(before, problem=str(error))
            return
        given = {"messages": [HumanMessage(text, id=turn.id)]}
        async for view in self._run(session, user, View(opened, [*before.turns, turn]), given, settings):
            yield view

    async def review(
        self, session: str, user: str, thread: str, asked: Sequence[ReviewRequest]
    ) -> AsyncGenerator[View]:
        """Go on with a paused turn when all that it asks is answered; else ask for the rest."""
        before = await self.open(user, thread)
        given = resume_command(asked)
        if given is None or not before.asked:
            yield View(before.thread, before.turns, asked if before.asked else ())
            return
        turn = before.turns[-1]
        turn.ended = ""
        try:
            settings = self.settings(user, Wanted(turn.method, turn.changes, turn.corpus))
        except HopgraphError as error:
            turn.ended, turn.problem = "failed", str(error)
            yield View(before.thread, before.turns)
            return
        async for view in self._run(session, user, View(before.thread, before.turns), given, settings):
            yield view

    async def _run(
        self, session: str, user: str, view: View, given: Any, settings: ChatContext
    ) -> AsyncGenerator[View]:
        service, turn = self.service(), view.turns[-1]
        await self.kept.keep(user, view.thread, turn)
        self._open[turn.id] = user, view.thread, turn
        yield view
        steps = service.run_on_thread(user, view.thread, given, settings)
        interrupts: Sequence[Interrupt] = ()
        try:
            async with aclosing(self.running.watch(session, steps, service.options.turn_seconds, turn)) as watched:
                async for asked in watched:
                    interrupts = asked or interrupts
                    if not turn.ended:  # the end is shown when it is kept: from then on the next question may come
                        yield view
        finally:
            # Where the app keeps documents is nobody's business.
            turn.problem = turn.problem.replace(str(self.documents.folder), "…")
            # Also when the page was closed, so that the thread comes back as it was left.
            if turn.id in self._open:
                try:
                    await self.kept.keep(user, view.thread, turn)
                finally:
                    self._open.pop(turn.id, None)  # only now: the database is closed when none is left
        yield View(view.thread, view.turns, review_requests(interrupts))
