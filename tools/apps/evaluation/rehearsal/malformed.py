"""Replies that are not what was asked for, as models give them now and then."""

from collections.abc import Callable

from pydantic import JsonValue


def _cut(text: str) -> str:
    """Break off inside the first key, as at the end of a model's output limit."""
    return text[: min(len(text) - 1, 6)]


KINDS: tuple[Callable[[dict[str, JsonValue], str], str], ...] = (
    lambda _reply, _text: "I am sorry, but I cannot tell from what I was given.",
    lambda _reply, text: _cut(text),
    lambda _reply, _text: "",
    lambda _reply, _text: '["unusable", null]',
)
"""Each makes such a reply out of a proper one and its text: prose, cut-off JSON, nothing, another type."""
