"""The service behind every endpoint of the web app: the chat, its threads and settings, and the limit on turns."""

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from hopgraph.graphs import METHODS, chat, list_methods
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.prepare import check_settings
from hopgraph.state import HopgraphError, SettingsError
from hopgraph.state.chat import AUTO, METHOD_ALIASES, ChatContext
from hopgraph.state.context import MAX_STYLE, make_settings
from hopgraph.state.environment import with_environment
from hopgraph.tools.apps.server.caller_settings import check_caller_settings, with_limits
from hopgraph.tools.apps.server.document_sets import ALL_DOCUMENTS, DocumentChoice, DocumentSets
from hopgraph.tools.apps.server.guards import DailyCalls
from hopgraph.tools.apps.server.monitoring import AuditLog, HealthCheck, QuestionMetrics, QuestionRecord
from hopgraph.tools.apps.server.refusal import BusyError
from hopgraph.tools.apps.server.server_options import OWNER, ServingOptions
from hopgraph.tools.apps.server.threads import Threads, open_threads, thread_key
from hopgraph.tools.apps.server.turn import TurnEnd, TurnStep, run_turn
from hopgraph.tools.text.sanitize import truncate_line

_USERS_PART = 4
_CLEANING_SECONDS = 3600.0
MAX_FIRST_TITLE = 60  # characters of a thread's first question
_log = logging.getLogger(__name__)


class UnknownMethodError(SettingsError):
    """A caller named a method that does not exist."""

    param = "model"  # as OpenAI's API calls it


def model_names() -> list[str]:
    """Return the names that callers can use for a model or a tool: `auto`, and the methods by name, never by path."""
    return [AUTO, *chat.chat_methods()]


def resolve_name(name: str) -> str:
    """Return the name in `model_names` that a name or alias stands for; an UnknownMethodError if there is none."""
    resolved, methods = METHOD_ALIASES.get(name, name), list_methods()
    if resolved != AUTO and not (resolved in methods and chat.takes_questions(methods[resolved])):
        raise UnknownMethodError(f"method {name!r:.80} is unknown; available: {', '.join(model_names())}")
    return resolved


class Admission:
    """Lets some turns run and some wait, and refuses the rest; one turn at a time per thread.

    If it is `shared`, each user has at most a quarter of both; further questions wait for the user's own turns.
    """

    def __init__(self, running: int, waiting: int, *, shared: bool = False) -> None:
        part = _USERS_PART if shared else 1
        self._slots, self._limit = asyncio.Semaphore(running), running + waiting
        self._own_slots = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(max(1, running // part)))
        self._own_limit, self._own_active = max(1, self._limit // part), Counter[str]()
        self._threads = set[str]()
        self.active = 0  # turns running or waiting

    def is_busy(self, thread: str) -> bool:
        """Return whether a turn of a thread is running or waiting, or the thread is otherwise in use."""
        return thread in self._threads

    @contextmanager
    def exclusive(self, thread: str) -> Generator[None]:
        """Hold a thread against other turns, without taking a slot; a BusyError if it is in use."""
        if thread in self._threads:
            raise BusyError("this thread is still being answered; wait for its reply, or stop it")
        self._threads.add(thread)
        try:
            yield
        finally:
            self._threads.discard(thread)

    @asynccontextmanager
    async def reserve(self, user: str, thread: str = "") -> AsyncGenerator[None]:
        """Reserve a slot, and a thread unless its key is empty; a BusyError if it is in use or too many turns wait."""
        with self.exclusive(thread) if thread else nullcontext():
            if self.active >= self._limit:
                raise BusyError(f"{self.active} questions are being answered or waiting; try again in a moment")
            if self._own_active[user] >= self._own_limit:
                raise BusyError(
                    f"{self._own_limit} of your questions are being answered or waiting; try again in a moment"
                )
            self.active += 1
            self._own_active[user] += 1
            try:
                async with self._own_slots[user], self._slots:
                    yield
            finally:
                self.active -= 1
                self._own_active[user] -= 1


@dataclass(frozen=True)
class Service:
    """An open service; `open_service` creates it."""

    options: ServingOptions
    threads: Threads
    chat: CompiledMethod  # with the threads' checkpointer
    admission: Admission
    metrics: QuestionMetrics
    health: HealthCheck
    documents: DocumentSets = field(default_factory=DocumentSets)
    calls: DailyCalls | None = None  # None if users are not distinguished
    audit: AuditLog | None = None
    threadless_chat: CompiledMethod = field(default_factory=lambda: chat.graph)  # for callers who send the conversation

    def settings(
        self, name: str, changes: Mapping[str, JsonValue], *, system: str = "", owner: bool = False
    ) -> ChatContext:
        """Build the settings of a turn, with a caller's `changes` for the chat or the named method.

        With the name `auto` the caller's or the app's `use_method` applies. The text of `system` messages is the
        `answer_instructions`, unless `changes` has any. A SettingsError for an unknown method or setting, a value out
        of range, or, unless `owner`, a setting reserved for the operator.
        """
        name = resolve_name(name)
        if system.strip():
            changes = {"answer_instructions": system[:MAX_STYLE], **changes}
        if not owner:
            check_caller_settings(changes, with_limits(self.options.chat_settings))
        of_method = {key: value for key, value in changes.items() if key not in ChatContext.model_fields}
        given = {**self.options.settings, **{key: value for key, value in changes.items() if key not in of_method}}
        if of_method and name == AUTO:
            raise SettingsError(f"setting {min(of_method)!r:.80} is unknown for the chat; name the method that has it")
        if of_method:
            # Report invalid ones before anything runs.
            make_settings(METHODS[name].Context, of_method)
            methods = make_settings(ChatContext, given).methods
            given["methods"] = {**methods, name: {**methods.get(name, {}), **of_method}}
        named = {} if name == AUTO else {"use_method": name}
        settings = with_limits(with_environment(make_settings(ChatContext, {**given, **named})))
        resolve_name(settings.use_method)
        return settings

    def answer_messages(
        self,
        messages: Sequence[BaseMessage],
        settings: ChatContext,
        user: str = OWNER,
        documents: DocumentChoice = ALL_DOCUMENTS,
    ) -> AsyncGenerator[TurnStep]:
        """Answer the last message without a thread, as the caller sends the conversation; may raise a BusyError."""
        asked = messages[-1].text if messages else ""
        return self._run(user, "", asked, {"messages": messages}, settings, documents)

    def run_on_thread(
        self,
        user: str,
        thread: str,
        given: Any,
        settings: ChatContext,
        documents: DocumentChoice = ALL_DOCUMENTS,
    ) -> AsyncGenerator[TurnStep]:
        """Run the chat on a user's thread, which stores the conversation and is created if it does not exist.

        `given` is `{"messages": […]}`, a `Command(resume=…)`, or None to resume an interrupted turn.

        A BusyError if too many questions are asked at once, or the thread is being answered; a SettingsError for a
        malformed name, or documents that the user may not query; a StorageError if the threads' database fails.
        """
        thread_key(user, thread)  # raises for a malformed or empty name
        messages = cast("Mapping[str, Sequence[Any]]", given)["messages"] if isinstance(given, Mapping) else ()
        asked = next((each.text for each in messages if isinstance(each, HumanMessage)), "")
        return self._run(user, thread, asked, given, settings, documents)

    async def _run(
        self, user: str, thread: str, asked: str, given: Any, settings: ChatContext, documents: DocumentChoice
    ) -> AsyncGenerator[TurnStep]:
        record = QuestionRecord(user, settings.use_method, asked, self.metrics, self.calls, self.audit, thread)
        graph, config = self.threadless_chat, RunnableConfig()
        with record.watch():
            settings, names = await self.documents.restrict(settings, user, documents)
            record.documents = names
            if self.calls:  # at most the model calls left for today
                most = min(self.calls.left(user), settings.max_llm_calls or self.calls.limit)
                settings = settings.model_copy(update={"max_llm_calls": most})
            key = thread_key(user, thread) if thread else ""
            locked = self.threads.lock(user, thread) if thread else nullcontext(True)
            async with self.admission.reserve(user, key), locked as acquired:
                if not acquired:
                    raise BusyError("this thread is being answered by another process; wait for its reply")
                if thread:
                    await self.check_room(user, thread)
                    await self.check_open(user, thread)
                    await self.threads.create(user, truncate_line(asked, MAX_FIRST_TITLE), thread=thread)
                    await self.threads.note_documents(user, thread, names)
                    graph, config = self.chat, self.threads.config(user, thread)
                config["callbacks"] = [record]
                async with aclosing(run_turn(graph, given, config, settings)) as run:
                    async for step in run:
                        record.end = step if isinstance(step, TurnEnd) else None
                        yield step
                if thread:
                    await self._prune(user, thread)

    async def check_room(self, user: str, thread: str) -> None:
        """Raise a NoRoomError if a user has reached a storage limit, before a thread grows or is added."""
        if self.options.has_users:
            await self.threads.check_room(user, thread)

    async def delete_old(self) -> None:
        """Delete threads unchanged for `keep_days`, now and every hour, except those in use."""
        while True:
            before = time.time() - (self.options.keep_days or 0) * 24 * 3600
            try:
                for user, thread in await self.threads.list_old(before):
                    with suppress(BusyError), self.admission.exclusive(thread_key(user, thread)):
                        async with self.threads.lock(user, thread) as acquired:
                            if acquired and await self.threads.is_older(user, thread, before):  # still
                                await self.threads.delete(user, thread)
            except HopgraphError as error:
                _log.warning("old conversations were not deleted: %s", error)
            await asyncio.sleep(_CLEANING_SECONDS)

    async def check_open(self, user: str, thread: str) -> None:
        """Raise a SettingsError if a thread searched documents that its user can no longer access."""
        if self.documents.sets:
            asked = await self.threads.documents_of(user, thread)
            if asked.difference(await self.documents.names_for(user)):
                raise SettingsError("this conversation uses documents that you can no longer access; start another one")

    async def _prune(self, user: str, thread: str) -> None:
        try:
            await self.threads.prune(user, thread)
        except Exception:  # noqa: BLE001 - the answer is not affected; the next turn tries again
            _log.warning("thread %s was answered, but its old checkpoints were not deleted", thread, exc_info=True)


async def check_options(options: ServingOptions) -> None:
    """Check that the models and retrievers resolve and the threads open; raise their errors."""
    settings = options.chat_settings
    for each in options.retrievers:
        await check_settings(settings.model_copy(update={"retriever": each}) if options.documents else settings)
    async with open_threads(options.threads):
        pass


@asynccontextmanager
async def open_service(options: ServingOptions) -> AsyncGenerator[Service]:
    """Open the threads and compile the chat; a SettingsError for invalid settings or threads that cannot be opened."""
    settings = options.chat_settings
    resolve_name(settings.use_method)
    async with open_threads(options.threads) as threads:
        builder = chat.build()  # only now, to include methods named on the command line
        graph, threadless = builder.compile(checkpointer=threads.saver, name="Chat"), builder.compile(name="Chat")
        calls = DailyCalls() if options.has_users else None
        shared = len(set(options.keys.values())) > 1 or options.user_of is not None
        admission = Admission(options.max_running, options.max_waiting, shared=shared)
        metrics = QuestionMetrics(lambda: admission.active)
        health = HealthCheck(settings, options.retrievers)
        with closing(AuditLog(options.audit_log)) if options.audit_log else nullcontext() as audit:
            sets = options.document_sets
            service = Service(options, threads, graph, admission, metrics, health, sets, calls, audit, threadless)
            cleaning = asyncio.create_task(service.delete_old()) if options.keep_days else None
            try:
                yield service
            finally:
                if cleaning:
                    cleaning.cancel()
                    await asyncio.wait([cleaning])
