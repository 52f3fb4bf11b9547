"""Start a turn: read the user's latest message, check the settings, clear the last turn's state."""

import time
from collections.abc import Awaitable, Callable, Mapping

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.chat.condense_question import newest_of_user
from hopgraph.nodes.core.human_review import check_resumable
from hopgraph.nodes.finish import total
from hopgraph.nodes.prepare import check_settings, checked_question
from hopgraph.state import Context, QuestionError, SettingsError, Update
from hopgraph.state.chat import AUTO, ChatContext, ChatInput, TurnResult, settings_for_method
from hopgraph.state.fingerprint import record_changes

LEFT_OUT = "(a message of {size:,} characters, left out)"


def prepare_turn(
    contexts: Mapping[str, type[Context]],
) -> Callable[[ChatInput, Runtime[ChatContext]], Awaitable[Update]]:
    """Return the first node of a chat, given the settings class of each method that it can answer with.

    Text that is not a question gets a reply (`said`) instead of an error; one that is too long is
    replaced in the thread by a note of its size, so that later turns do not carry it along.
    """

    async def prepare(state: ChatInput, runtime: Runtime[ChatContext]) -> Update:
        """Check the settings and the message, record the settings, and clear the last turn's state."""
        settings = runtime.context
        newest = newest_of_user(state["messages"])
        if newest < 0:
            raise QuestionError("there is no user message to reply to; send one of type human")
        _check_methods(settings, contexts)
        check_resumable(settings)
        await check_settings(settings)
        return {
            **TurnResult(
                answer="",
                markdown=False,
                explanation="",
                citations=[],
                passages=[],
                stop_reason=None,
                usage=total([], iterations=0),
            ),
            **_read(state["messages"][newest]),
            "chosen": None,
            "calls": Overwrite({}),
            "settings": record_changes(settings),
            "started_at": time.time(),
        }

    return prepare


def _read(message: BaseMessage) -> Update:
    text = message.text
    try:
        return {"question": checked_question(text), "kind": None, "said": ""}
    except QuestionError as error:
        refused = {"question": "", "kind": "refused", "said": f"I cannot read this message: {error}."}
    if not text.strip():
        if any(isinstance(block, dict) and block.get("type") != "text" for block in message.content):
            refused["said"] = (
                "I cannot read this message: it has no text, and I cannot read images or files; please type a question."
            )
        return refused
    note = message.model_copy(update={"content": LEFT_OUT.format(size=len(text))})
    return {**refused, "messages": [note]}


def _check_methods(settings: ChatContext, contexts: Mapping[str, type[Context]]) -> None:
    known = f"a chat has: {', '.join(contexts)}"
    if settings.use_method not in (AUTO, *contexts):
        raise SettingsError(f"use_method: method {settings.use_method!r:.80} is unknown; {known}")
    for name in settings.methods:
        if name not in contexts:
            raise SettingsError(f"methods: method {name!r:.80} is unknown; {known}")
        settings_for_method(settings, contexts[name])
