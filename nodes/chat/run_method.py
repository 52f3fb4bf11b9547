"""Let a chat run a method: as a drawn node, with the chat's settings, within the rest of the turn's budget."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.runtime import get_runtime

from hopgraph.nodes.core.budget import limits_left
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.human_review import step_start_time
from hopgraph.nodes.core.message_stream import MESSAGE_ID, reply_id
from hopgraph.state import BudgetState, Context
from hopgraph.state.chat import ChatContext, ChosenMethod, settings_for_method
from hopgraph.state.environment import resolve_settings


class MethodNode(CompiledMethod):
    """A method as a node of a chat, with its entry in the chat's `methods`, within the rest of the turn's budget."""

    def stream(  # pyright: ignore[reportIncompatibleMethodOverride] - the overloads are for callers
        self,
        input: ChosenMethod,  # noqa: A002
        config: RunnableConfig | None = None,
        *,
        context: object = None,
        **options: Any,
    ) -> Iterator[Any]:
        """Run the method and yield its steps; `invoke` also comes through here."""
        return super().stream(input, _announcing(config, input), context=self._settings(input), **options)

    def astream(  # pyright: ignore[reportIncompatibleMethodOverride] - the overloads are for callers
        self,
        input: ChosenMethod,  # noqa: A002
        config: RunnableConfig | None = None,
        *,
        context: object = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """Run the method and yield its steps; `ainvoke` also comes through here."""
        return super().astream(input, _announcing(config, input), context=self._settings(input), **options)

    def _settings(self, state: ChosenMethod) -> Context:
        runtime = get_runtime()
        chat = resolve_settings(runtime.context, ChatContext)
        # A method that waited for a reviewer resumes with the time limit that it started with.
        now = step_start_time(runtime)
        return limits_left(settings_for_method(chat, cast("type[Context]", self.context_schema)), state, now)


def _announcing(config: RunnableConfig | None, turn: BudgetState) -> RunnableConfig:
    """Add the id of the turn's reply, since the method's answer may be streamed as part of it."""
    chosen = ensure_config(config)
    return {**chosen, "metadata": {**(chosen.get("metadata") or {}), MESSAGE_ID: reply_id(turn)}}
