"""The answer on LangGraph's `messages` stream, as a model writes it.

The models' own replies are records that are not meant to be streamed, so their requests are tagged `nostream`. Only
the text of the answer is pushed here.
"""

import re
from collections.abc import Callable
from contextvars import copy_context
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables.config import ensure_config
from langgraph.graph.message import push_message

from hopgraph.state import BudgetState
from hopgraph.tools.io.framework_internals import message_handlers
from hopgraph.tools.models.parse import read_unfinished

MESSAGE_ID = "hopgraph_message"
"""The metadata key under which a chat announces the id of its reply."""
ID_PREFIX = "reply-"
_SIGN = r"[-+\\`*_\[\]<>~$#]"
_UNFINISHED = re.compile(rf"(?<!{_SIGN})(?:\[\d[\d,; ]*\]|{_SIGN})*(?:\[[\d,; ]*|&[\w#]*)?\Z")
"""At the end of the text so far: signs whose meaning depends on what follows, and a possibly incomplete mark."""


def reply_id(turn: BudgetState) -> str:
    """Return the id of a turn's reply, which is known before the reply exists."""
    return f"{ID_PREFIX}{round(turn['started_at'] * 1e6):x}"


def is_streamed(message_id: str) -> bool:
    """Return whether part of a message was already pushed in this run."""
    return any(message_id in each.seen for each in message_handlers(ensure_config()))


def push_text(message_id: str, text: str) -> None:
    """Push a piece of a message; ignore empty text."""
    if text:
        push_message(AIMessageChunk(content=text, id=message_id), state_key=None)


class AnswerStream:
    """Pushes a text field of a reply while it is being written, as far as its final form is certain."""

    def __init__(self, field: str, show: Callable[[str], str], *, by_line: bool = False) -> None:
        """Push it as the message that the chat announced, else as a new one.

        `show` converts the text so far into what is pushed; with `by_line` it only gets whole lines.
        """
        metadata: dict[str, Any] = ensure_config().get("metadata") or {}
        identity = metadata.get(MESSAGE_ID) or f"{ID_PREFIX}{uuid4().hex}"
        # The model's reply may arrive in another thread.
        context = copy_context()
        self._push: Callable[[str], None] = lambda text: context.run(push_text, identity, text)
        self._field, self._show, self._by_line = field, show, by_line
        self._pushed = self._shown = ""

    @staticmethod
    def if_wanted(field: str, show: Callable[[str], str], *, by_line: bool = False) -> "AnswerStream | None":
        """Return a stream; None if the messages of this run are not streamed."""
        return AnswerStream(field, show, by_line=by_line) if message_handlers(ensure_config()) else None

    def feed(self, reply: str) -> None:
        """Push what is new in the reply so far."""
        written = read_unfinished(reply, self._field)
        ready = written[: written.rfind("\n") + 1] if self._by_line else _UNFINISHED.sub("", written)
        if ready != self._shown:
            self._shown = ready
            self._advance(self._show(ready))

    def end(self, text: str) -> None:
        """Push the rest of the final text; all of it, after an empty line, if it begins differently."""
        if not text.startswith(self._pushed):
            self._push("\n\n")
            self._pushed = ""
        self._advance(text)

    def _advance(self, text: str) -> None:
        if text.startswith(self._pushed):
            self._push(text[len(self._pushed) :])
            self._pushed = text
