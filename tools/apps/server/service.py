"""What every door of the web app shares: the chat and its threads, the settings, and the limit of turns at once."""

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import JsonValue

from hopgraph.graphs import METHODS, chat
from hopgraph.nodes.core.method_graph import CompiledMethod
from hopgraph.state import Context, SettingsError
from hopgraph.state.chat import METHOD_ALIASES, METHOD_NAMES, ChatContext, settings_for_method
from hopgraph.state.context import settings_from, with_environment
from hopgraph.tools.apps.server.admission import Admission, BusyError
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.apps.server.threads import Threads, open_threads, thread_key
from hopgraph.tools.apps.server.turn import TurnStep, run_turn
from hopgraph.tools.text.sanitize import truncate_line

AUTO = "auto"
"""The name under which the chat itself is offered: it chooses the method by the question."""

OFFERED: tuple[str, ...] = (AUTO, *METHOD_NAMES)
"""What a caller can name as a model or a tool."""

OWNER_SETTINGS = frozenset(
    {
        *("model", "models", "retriever", "second_retriever", "reranker", "entailment"),
        *("prompts_dir", "demonstrations", "cache_dir", "passages", "methods"),
        *("request_timeout", "request_retries", "max_parallel_calls"),
    }
)
"""The settings that only who starts the app may choose: files, addresses, paid models, and how hard a server of models
is worked."""
TITLE = 60
"""Characters of its first question that name a thread."""
LIMITS = ("max_llm_calls", "max_tokens", "deadline_seconds")
"""The settings that a caller may lower, but not raise above what the app was started with."""

_log = logging.getLogger(__name__)


def full_name(name: str) -> str:
    """Give the name in `OFFERED` of what a caller names by a short one, as `tor`; any other stays as it is."""
    return METHOD_ALIASES.get(name, name)


@dataclass(frozen=True)
class Service:
    """An open service; `open_service` makes it."""

    options: ServingOptions
    threads: Threads
    chat: CompiledMethod
    """The chat graph, keeping its threads."""
    admission: Admission

    def settings(self, name: str, changes: Mapping[str, JsonValue], *, owner: bool = False) -> ChatContext:
        """Make the settings of a turn.

        Args:
            name: one of `OFFERED`, or the short name of one; with `auto` the `use_method` holds that was set, by the
                caller or at the start.
            changes: a caller's own settings: of the chat, or of the named method.
            owner: whether the caller may choose everything.

        Raises:
            SettingsError: an unknown method or setting, a value out of range, or a setting that is not the caller's.
        """
        name = full_name(name)
        if name not in OFFERED:
            raise SettingsError(f"model {name!r:.80} is unknown; there are: {', '.join(OFFERED)}")
        if not owner:
            self._check_caller(changes)
        own = {key: value for key, value in changes.items() if key not in ChatContext.model_fields}
        given = {**self.options.settings, **{key: value for key, value in changes.items() if key not in own}}
        if own and name == AUTO:
            raise SettingsError(f"setting {min(own)!r:.80} is unknown for the chat; name the method that has it")
        if own:
            # Checked under the method's own name, before anything runs.
            settings_from(METHODS[name].Context, own)
            methods = given.get("methods")
            before = methods if isinstance(methods, Mapping) else {}
            of_method = before.get(name)
            given["methods"] = {**before, name: {**(of_method if isinstance(of_method, Mapping) else {}), **own}}
        named = {} if name == AUTO else {"use_method": name}
        return with_environment(settings_from(ChatContext, {**given, **named}))

    def _check_caller(self, changes: Mapping[str, JsonValue]) -> None:
        refused = sorted(changes.keys() & OWNER_SETTINGS)
        if refused:
            raise SettingsError(f"setting {refused[0]!r} is chosen by who runs this server, not by the caller")
        allowed = with_environment(settings_from(ChatContext, self.options.settings))
        for name in LIMITS:
            most, asked = getattr(allowed, name), changes.get(name, 0)
            if most is not None and (not isinstance(asked, int | float) or asked > most):
                raise SettingsError(f"setting {name!r} may be at most {most:g} here")

    def once(self, messages: Sequence[BaseMessage], settings: ChatContext) -> AsyncGenerator[TurnStep]:
        """Answer the last of the messages; the caller keeps the conversation.

        Raises:
            BusyError: at the first step: too much is asked at once.
        """
        return self._unkept(chat.graph, {"messages": messages}, settings)

    def alone(self, name: str, question: str) -> AsyncGenerator[TurnStep]:
        """Answer a question by one method, outside the chat: no history, and nothing is routed.

        Raises:
            SettingsError: there is no such method. BusyError: at the first step: too much is asked at once.
        """
        settings = settings_for_method(self.settings(name, {}), METHODS[name].Context)
        return self._unkept(METHODS[name].graph, {"question": question}, settings)

    async def _unkept(self, graph: CompiledMethod, given: Any, settings: Context) -> AsyncGenerator[TurnStep]:
        async with self.admission.place(), aclosing(run_turn(graph, given, None, settings)) as run:
            async for step in run:
                yield step

    async def on_thread(self, user: str, thread: str, given: Any, settings: ChatContext) -> AsyncGenerator[TurnStep]:
        """Run the chat on a thread, which keeps the conversation.

        Args:
            user: whose thread it is.
            thread: its id; it is created if it is not there.
            given: `{"messages": […]}`, a `Command(resume=…)`, or None to go on with a turn that was broken off.
            settings: the turn's.

        Raises:
            BusyError: too much is asked at once, or the thread is being answered. SettingsError: a bad name.
            StorageError: the threads' database fails before the turn has come to its end.
        """
        config = self.threads.config(user, thread)
        async with self.admission.place(thread_key(user, thread)), self.threads.held(user, thread) as ours:
            if not ours:
                raise BusyError("this thread is being answered by another process; wait for its reply")
            await self.threads.create(user, _title(given), thread=thread)
            await self.threads.touch(user, thread)
            async with aclosing(run_turn(self.chat, given, config, settings)) as run:
                async for step in run:
                    yield step
            await self._tidy(user, thread)

    async def _tidy(self, user: str, thread: str) -> None:
        """Tidy a thread up; where that fails the answer stands, and the next turn tries it again."""
        try:
            await self.threads.tidy(user, thread)
        except Exception:  # noqa: BLE001 - whatever it is, it must not take the answer away; it is logged
            _log.warning("thread %s was answered, but not tidied up", thread, exc_info=True)


def _title(given: Any) -> str:
    """Name a thread after its first question; a thread that is there keeps its name."""
    messages = cast("Mapping[str, Sequence[Any]]", given)["messages"] if isinstance(given, Mapping) else ()
    return next((truncate_line(each.text, TITLE) for each in messages if isinstance(each, HumanMessage)), "")


@asynccontextmanager
async def open_service(options: ServingOptions) -> AsyncGenerator[Service]:
    """Open the threads and make the chat ready.

    Raises:
        SettingsError: the settings are wrong, or threads cannot be kept where they should.
    """
    with_environment(settings_from(ChatContext, options.settings))
    async with open_threads(options.threads) as threads:
        graph = chat.build().compile(checkpointer=threads.saver, name="Chat")
        yield Service(options, threads, graph, Admission(options.max_running, options.max_waiting))
