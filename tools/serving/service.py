"""What every door of the web app shares: the chat and its threads, the settings, and the limit of turns at once."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import JsonValue

from hopgraph.graphs import METHODS, chat
from hopgraph.nodes.machine import CompiledMethod
from hopgraph.state import SettingsError
from hopgraph.state.chat import METHOD_NAMES, ChatContext
from hopgraph.state.context import ContextT, settings_from, with_environment
from hopgraph.tools.serving.admission import Admission
from hopgraph.tools.serving.options import ServingOptions
from hopgraph.tools.serving.turn import TurnStep, run_turn
from hopgraph.tools.threads import Threads, open_threads, thread_key

AUTO = "auto"
"""The name under which the chat itself is offered: it chooses the method by the question."""

OFFERED: tuple[str, ...] = (AUTO, *METHOD_NAMES)
"""What a caller can name as a model or a tool."""

_OWNERS = frozenset(
    {"model", "models", "retriever", "reranker", "entailment", "prompts_dir", "passages", "methods", "request_timeout"}
)
"""The settings that only who starts the app may choose: they name files, addresses and paid models."""


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
            name: one of `OFFERED`.
            changes: a caller's own settings: of the chat, or of the named method.
            owner: whether the caller may choose everything.

        Raises:
            SettingsError: an unknown method or setting, a value out of range, or a setting that is not the caller's.
        """
        if name not in OFFERED:
            raise SettingsError(f"model {name!r:.80} is unknown; there are: {', '.join(OFFERED)}")
        refused = [] if owner else sorted(changes.keys() & _OWNERS)
        if refused:
            raise SettingsError(f"setting {refused[0]!r} is chosen by who runs this server, not by the caller")
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
        return with_environment(settings_from(ChatContext, {**given, "use_method": name}))

    def method_settings(self, cls: type[ContextT], changes: Mapping[str, JsonValue]) -> ContextT:
        """Make the settings of a method that is run by itself, outside the chat; errors as of `settings`."""
        refused = sorted(changes.keys() & _OWNERS)
        if refused:
            raise SettingsError(f"setting {refused[0]!r} is chosen by who runs this server, not by the caller")
        of_chat = {key: value for key, value in self.options.settings.items() if key in cls.model_fields}
        return with_environment(settings_from(cls, {**of_chat, **changes}))

    async def once(self, messages: Sequence[BaseMessage], settings: ChatContext) -> AsyncGenerator[TurnStep]:
        """Answer the last of the messages; the caller keeps the conversation.

        Raises:
            BusyError: too much is asked at once.
        """
        async with (
            self.admission.place(),
            aclosing(run_turn(chat.graph, {"messages": messages}, None, settings)) as run,
        ):
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
        """
        config = self.threads.config(user, thread)
        async with self.admission.place(thread_key(user, thread)):
            await self.threads.create(user, thread=thread)
            await self.threads.touch(user, thread)
            async with aclosing(run_turn(self.chat, given, config, settings)) as run:
                async for step in run:
                    yield step
            await self.threads.tidy(user, thread)


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
