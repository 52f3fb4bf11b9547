"""The page's logic: asking, stopping, reviewing, opening threads; `page_events` shows the results."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langgraph.types import Command, Interrupt
from pydantic import JsonValue

from hopgraph.graphs import METHODS
from hopgraph.state import Citation, HopgraphError, SettingsError
from hopgraph.state.chat import AUTO, ChatContext, settings_for_method
from hopgraph.state.context import DEFAULT_RETRIEVER
from hopgraph.tools.apps.runs.narration import is_stand_in, run_header
from hopgraph.tools.apps.server.document_sets import OWN_PREFIX, DocumentChoice
from hopgraph.tools.apps.server.index_upload import document_id
from hopgraph.tools.apps.server.page.document_store import DOCUMENTS, JOINED, SET, UserDocuments, data_folder
from hopgraph.tools.apps.server.page.page_turns import (
    LiveTurn,
    PageTurn,
    ThreadView,
    TurnOptions,
    TurnStore,
    record_run,
)
from hopgraph.tools.apps.server.page.review_form import ReviewRequest
from hopgraph.tools.apps.server.page.served_documents import (
    find_document,
    list_documents,
    place_in_document,
)
from hopgraph.tools.apps.server.page.settings_panel import effective_settings, list_settings
from hopgraph.tools.apps.server.refusal import BusyError
from hopgraph.tools.apps.server.service import MAX_FIRST_TITLE, Service
from hopgraph.tools.apps.server.threads import thread_key
from hopgraph.tools.apps.server.turn import error_line, hide_places
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.index_folder import index_folder
from hopgraph.tools.text.sanitize import truncate_line

_MAX_COMMENT = 2_000  # characters
APP = "app"  # stands for the app's documents in a URL


@dataclass
class ChatSession:
    """The page's logic, without its appearance."""

    service: Callable[[], Service]
    _live: dict[str, LiveTurn] = field(default_factory=dict[str, LiveTurn])  # by thread key
    closed: bool = False
    """True once the app is closing; the service must not be used any more."""

    @property
    def turn_store(self) -> TurnStore:
        """Return the store of turns."""
        return TurnStore(self.service().threads)

    @cached_property
    def documents(self) -> UserDocuments:
        """The users' own documents."""
        options = self.service().options
        return UserDocuments(data_folder(options) / DOCUMENTS, options.max_upload_bytes)

    @property
    def is_owner(self) -> bool:
        """Return whether users may change every setting: without keys only the operator can reach the page."""
        return not self.service().options.has_users

    def known_changes(self, method: str, changes: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the stored changes that the page still has a field for; empty if the method is unusable."""
        with suppress(HopgraphError):  # `describe` reports it
            effective = effective_settings(method, self.service().settings(AUTO, {}))
            names = {each.name for each in list_settings(effective, owner=self.is_owner)}
            return {name: value for name, value in changes.items() if name in names}
        return {}

    def settings(self, options: TurnOptions) -> ChatContext:
        """Build a turn's settings; a SettingsError for an invalid one, or one reserved for the operator."""
        service = self.service()
        # Choosing `auto` here overrides the method that the app was started with.
        changes = {**options.changes, **({"use_method": AUTO} if options.method == AUTO else {})}
        settings = service.settings(options.method, changes, owner=self.is_owner)
        if options.method != AUTO:
            settings_for_method(settings, METHODS[options.method].Context)  # report invalid ones up front
        return settings

    async def find_document(self, user: str, corpus: str, identity: str) -> tuple[Path, str] | None:
        """Return the path and name of a document; None if the user cannot access one with this id.

        `corpus` is one of the user's own, `SET` with the name of one of the app's sets, or empty for the app's.
        """
        if corpus and not corpus.startswith(SET):
            return await asyncio.to_thread(self.documents.file, user, corpus, identity)
        documents, name = self.service().documents, corpus.removeprefix(SET)
        if (documents.sets or name) and name not in await documents.names_for(user):
            return None
        index = index_folder(documents.sets[name] if name else self.settings(TurnOptions()).retriever)
        place = await asyncio.to_thread(find_document, index, identity) if index else None
        return (place, list_documents(index)[identity][1]) if index and place else None

    def document_link(self, user: str, turn: PageTurn, citation: Citation) -> str:
        """Return the URL of a citation's document, relative to the page; empty if it cannot be opened."""
        corpus, key, name = turn.corpus.removesuffix(JOINED), citation["passage_id"], ""
        if turn.corpus.endswith(JOINED):
            corpus, key = (corpus, key.removeprefix(OWN_PREFIX)) if key.startswith(OWN_PREFIX) else ("", key)
        with suppress(HopgraphError):  # the documents are gone
            if corpus and not corpus.startswith(SET):
                named = (each for each in self.documents.names(user, corpus) if key.startswith(f"{each}#"))
                name = max(named, key=len, default="")
            else:
                corpus, retriever, key = self._source_of(key)
                index, name = index_folder(retriever), key.rpartition("#")[0]
                name = name if index and document_id(name) in list_documents(index) else ""
        if not name:
            return ""
        return f"documents/{corpus or APP}/{document_id(name)}{place_in_document(name, citation)}"

    def _source_of(self, key: str) -> tuple[str, object, str]:
        """Return the app's documents that a passage id belongs to (as in a URL), their retriever, and the id there."""
        name, _, rest = key.partition("/")
        if retriever := self.service().documents.sets.get(name):
            return f"{SET}{name}", retriever, rest
        return "", self.settings(TurnOptions()).retriever, key

    def chosen_documents(self, user: str, corpus: str) -> DocumentChoice:
        """Return the documents to search for a chosen corpus; a SettingsError if it was deleted."""
        if corpus.startswith(SET):
            return DocumentChoice(corpus.removeprefix(SET))
        own = self.documents.spec(user, corpus.removesuffix(JOINED)) if corpus else ""
        return DocumentChoice(own=own, alone=bool(corpus) and not corpus.endswith(JOINED))

    async def describe(self, user: str, options: TurnOptions) -> tuple[str, bool]:
        """Return a line with what a question will run with, and whether the rule-based model will answer it.

        A HopgraphError if the question cannot be asked with these options.
        """
        title = "Automatic method" if options.method == AUTO else METHODS[options.method].graph.get_name()
        settings, choice = self.settings(options), self.chosen_documents(user, options.corpus)
        _, sets = await self.service().documents.restrict(settings, user, choice)
        if choice.own:  # do not show the path where the app stores it
            names = {each["id"]: each["name"] for each in await self.documents.list_for(user)}
            apps = ", ".join(sets) or _name_corpus(settings.retriever or DEFAULT_RETRIEVER)
            shown = f"“{names.get(options.corpus.removesuffix(JOINED), '')}”{'' if choice.alone else f' + {apps}'}"
            settings = settings.model_copy(update={"retriever": shown})
        elif sets:
            settings = settings.model_copy(update={"retriever": ", ".join(sets)})
        elif isinstance(settings.retriever, str):
            settings = settings.model_copy(update={"retriever": _name_corpus(settings.retriever)})
        line = run_header(title, settings)
        return line if self.is_owner else hide_places(line), is_stand_in(settings)

    async def open(self, user: str, thread: str) -> ThreadView:
        """Return the view of a thread; a new one if the user has none with this id."""
        service = self.service()
        known = thread in [each["id"] for each in await service.threads.list_for(user)]
        if known:
            try:
                await service.check_open(user, thread)
            except SettingsError as error:  # the user may only delete it
                return ThreadView(thread, [], problem=str(error))
        if live := self.live_turn(user, thread):
            return live.view
        if not known:
            return ThreadView("", [])
        state = await service.chat.aget_state(service.threads.config(user, thread))
        turns = _join_turns(state.values.get("messages", ()), await self.turn_store.load(user, thread))
        if turns and turns[-1].ended == "stopped" and service.admission.is_busy(thread_key(user, thread)):
            turns[-1].ended = "elsewhere"
        waits = bool(turns) and turns[-1].ended == "paused"
        return ThreadView(thread, turns, _requests(state.interrupts) if waits else ())

    async def delete(self, user: str, thread: str) -> None:
        """Delete a thread; a BusyError while it is being answered, since the answer would recreate it."""
        service = self.service()
        with service.admission.exclusive(thread_key(user, thread)):
            await service.threads.delete(user, thread)

    async def close(self) -> None:
        """Stop and store every turn; nothing is read or written afterwards."""
        self.closed = True
        tasks = [live.task for live in self._live.values() if live.task]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def stop(self, user: str, thread: str) -> None:
        """Stop the running turn of a thread, if any."""
        live = self.live_turn(user, thread)
        if live and live.task:
            live.task.cancel()

    async def rate(
        self, user: str, thread: str, turn_id: str, feedback: Literal["", "good", "bad"], comment: str = ""
    ) -> None:
        """Store a user's feedback on a turn's reply, if the turn exists."""
        service = self.service()
        live = self.live_turn(user, thread)
        turns = {each.id: each for each in live.view.turns} if live else await self.turn_store.load(user, thread)
        if turn := turns.get(turn_id):
            if feedback and feedback != turn.feedback:
                service.metrics.feedback.labels(feedback).inc()
            turn.feedback, turn.comment = feedback, comment[:_MAX_COMMENT]
            if service.audit:
                rated: dict[str, JsonValue] = {"user": user, "thread": thread, "turn": turn.id}
                service.audit.write({**rated, "rating": feedback, "comment": redact(turn.comment)})
            await self.turn_store.save(user, thread, turn)

    def live_turn(self, user: str, thread: str) -> LiveTurn | None:
        """Return a thread's running turn, to follow; None if none is running."""
        return self._live.get(thread_key(user, thread)) if thread else None

    async def ask(self, user: str, thread: str, text: str, options: TurnOptions, edited: str = "") -> LiveTurn:
        """Ask a question in a thread (empty: a new one), replacing the `edited` turn and those after it."""
        before = ThreadView("", [])
        try:
            before = await self.open(user, thread)
            if before.problem:
                return LiveTurn(before, over=True)
            if before.thread and self.service().admission.is_busy(thread_key(user, before.thread)):
                raise BusyError("this conversation is still being answered; ask again when the answer is complete")
            turn = PageTurn(text, **vars(options))
            settings, choice = self.settings(options), self.chosen_documents(user, options.corpus)
            turn.about, turn.stand_in = await self.describe(user, options)
            await self.service().check_room(user, before.thread or "new")
            opened = before.thread or await self.service().threads.create(user, truncate_line(text, MAX_FIRST_TITLE))
        except HopgraphError as error:
            return LiveTurn(replace(before, problem=error_line(error)), over=True)
        ids = [each.id for each in before.turns]
        kept = before.turns[: ids.index(edited)] if edited in ids else before.turns
        gone = await self._remove_turns(user, opened, ids[len(kept) :])
        given = {"messages": [*gone, HumanMessage(text, id=turn.id)]}
        return self._start(user, ThreadView(opened, [*kept, turn]), given, settings, choice)

    async def _remove_turns(self, user: str, thread: str, gone: Sequence[str]) -> list[BaseMessage]:
        """Delete the last turns of a thread; return the input that removes their messages."""
        if not gone:
            return []
        await self.turn_store.delete(user, thread, gone)
        state = await self.service().chat.aget_state(self.service().threads.config(user, thread))
        ids = [str(each.id) for each in state.values.get("messages", ())]
        first = next((at for at, each in enumerate(ids) if each in gone), len(ids))
        return [RemoveMessage(id=each) for each in ids[first:]]

    async def resume(self, user: str, thread: str) -> LiveTurn:
        """Continue a stopped or failed last turn with a new deadline; restart it if the thread lacks its question."""
        before = await self.open(user, thread)
        if not before.turns or before.turns[-1].ended not in ("stopped", "failed"):
            return LiveTurn(before, over=True)
        service, turn = self.service(), before.turns[-1]
        state = await service.chat.aget_state(service.threads.config(user, thread))
        asked = [each.id for each in state.values.get("messages", ()) if isinstance(each, HumanMessage)][-1:]
        given, passed = None, 0.0
        if state.next and asked == [turn.id]:
            passed = time.time() - state.values["started_at"]
        else:
            given = {"messages": [HumanMessage(turn.asked, id=turn.id)]}
            turn.lines, turn.events = [], []
        return self._resume(user, before, given, passed)

    async def review(self, user: str, thread: str, asked: Sequence[ReviewRequest]) -> LiveTurn:
        """Resume a paused turn when all its requests are answered; else show the next one."""
        before = await self.open(user, thread)
        if not before.asked or any(each.answer is None for each in asked):
            return LiveTurn(replace(before, asked=asked if before.asked else ()), over=True)
        return self._resume(user, before, Command(resume={each.id: each.answer for each in asked}))

    def _resume(self, user: str, before: ThreadView, given: Any, passed: float = 0) -> LiveTurn:
        """Continue the last turn from its thread's state, with its deadline extended by `passed` seconds."""
        turn = before.turns[-1]
        try:
            settings, choice = self.settings(turn), self.chosen_documents(user, turn.corpus)
        except HopgraphError as error:
            return LiveTurn(replace(before, problem=error_line(error)), over=True)
        if settings.deadline_seconds is not None:
            settings = settings.model_copy(update={"deadline_seconds": settings.deadline_seconds + passed})
        turn.ended, turn.problem, turn.said = "", "", ""
        return self._start(user, replace(before, asked=()), given, settings, choice)

    def _start(
        self, user: str, view: ThreadView, given: Any, settings: ChatContext, choice: DocumentChoice
    ) -> LiveTurn:
        """Run the last turn in a task."""
        service, turn, key = self.service(), view.turns[-1], thread_key(user, view.thread)
        live = self._live[key] = LiveTurn(view)

        async def run() -> None:
            try:
                await self.turn_store.save(user, view.thread, turn)
                steps = service.run_on_thread(user, view.thread, given, settings, choice)
                paused = await record_run(steps, service.options.turn_seconds, turn, live.tell)
                live.view = replace(view, asked=_requests(paused))
            finally:
                turn.ended = turn.ended or "stopped"
                try:
                    # The end is shown only once it is stored, as the next question may follow at once.
                    await self.turn_store.save(user, view.thread, turn)
                finally:
                    del self._live[key]
                    live.tell(over=True)

        live.task = asyncio.create_task(run())
        return live


def _name_corpus(retriever: object) -> str:
    """Return the display name of a retriever's documents: the indexed folders, else its spec or class."""
    index = index_folder(retriever)
    folders = sorted({source.name for source, _ in list_documents(index).values()}) if index else []
    return " + ".join(folders) or (retriever if isinstance(retriever, str) else type(retriever).__name__)


def _requests(interrupts: Sequence[Interrupt]) -> list[ReviewRequest]:
    return [ReviewRequest(each.id, each.value) for each in interrupts]


def _join_turns(messages: Iterable[BaseMessage], stored: dict[str, PageTurn]) -> list[PageTurn]:
    """Return a thread's turns, oldest first, from its messages and the stored turns by id.

    A turn that ended before its question reached the thread is placed by its time.
    """
    turns: list[PageTurn] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            key = message.id or ""
            turns.append(stored.pop(key, None) or PageTurn(message.text, key, asked_at=0, ended="stopped"))
        elif turns:
            turns[-1].record_reply(message)
            turns[-1].ended = "done"
    for turn in sorted(stored.values(), key=lambda each: each.asked_at):
        earlier = [at for at, each in enumerate(turns, start=1) if each.asked_at <= turn.asked_at]
        turns.insert(max(earlier, default=0), turn)
    for turn in turns[:-1]:
        turn.ended = "stopped" if turn.ended == "paused" else turn.ended  # another question was asked instead
    return turns
