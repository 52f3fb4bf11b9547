"""Parts of requests that a server refuses, apart from the structured-output mode, and requests without them."""

import re
from dataclasses import dataclass, replace
from itertools import permutations

SYSTEM, WHOLE = "system", "stream=false"
"""The names under which refused system messages and refusals to reply in one piece count as parameters."""
STREAM_OPTIONS = "stream_options"
_NAMED = re.compile(
    r"(?i)(?P<mode>response.?format|json.?schema|\btools?\b(?! roles?)|tool_choice|functions?\b|guided|grammar)"
    r"|(?P<system>\b(?:system|developer)\b\W{0,4}(?:role|message|prompt|instruction)|\broles?\b(?!\W{0,3}tool)"
    r"|start with a user|first message)"
    r"|(?P<whole>only supports? stream|non.?stream|\bstream\W{0,3}(?:=|must be|is required)|enable (?:the )?stream)"
    r"|(?P<sampling>\b(?:temperature|top_p|seed|stream_options)\b)"
    r"|(?P<limit>max(?:imum)?(?: number of)?[ _]?(?:completion|output|new)?[ _]?tokens|num_predict)"
)
_COUNT = re.compile(r"(?<![\w.-])(?:\d{1,3}(?:,\d{3})+|\d{2,7})(?![\w-])")
_CONTEXT = re.compile("context|prompt|input|messages", re.IGNORECASE)
_SHORTEST = 16
"""Tokens; within fewer there is no reply."""


@dataclass(frozen=True)
class Refusals:
    """Parameters that a model's server refused, and so are no longer sent."""

    parameters: frozenset[str] = frozenset()
    """`max_tokens`, `max_completion_tokens`, `temperature`, `top_p`, `seed`, `STREAM_OPTIONS`, `SYSTEM` and `WHOLE`."""
    most_tokens: int | None = None
    """The highest limit of a reply that it takes; None: not known."""

    def learn(self, said: str, limit: int, name: str | None, *, final: bool) -> tuple["Refusals", str] | None:
        """Return what is refused in view of an error, and that in words; None if it names nothing new.

        `limit` is the limit that was sent, under `name`. What an error names first is what it is about: one that is
        `final` by its words may still be about the limit, but only a limit that it names helps.
        """
        named = _NAMED.search(said)
        kind, which = (named.lastgroup, named[0].lower()) if named else (None, "")
        if kind == "limit" and name:
            lower = max((each for each in _counts(said) if _SHORTEST <= each < limit), default=0)
            if lower and not (final and named and _CONTEXT.search(said[: named.start()])):
                return replace(self, most_tokens=lower), f"replies have at most {lower} tokens"
            return None if final else (self._without(name), f"{name} is not sent")
        if final:
            return None
        if kind == "system" and SYSTEM not in self.parameters:
            return self._without(SYSTEM), "what system messages say begins the first user message"
        if kind == "whole" and WHOLE not in self.parameters:
            return self._without(WHOLE), "replies are streamed"
        if kind == "sampling" and which not in self.parameters:
            return self._without(which), f"{which} is not sent"
        return None

    def _without(self, name: str) -> "Refusals":
        return replace(self, parameters=self.parameters | {name})


def is_about_request(said: str) -> bool:
    """Return whether an error is about system messages or a sampling parameter."""
    named = _NAMED.search(said)
    return named is not None and named.lastgroup in ("system", "sampling")


def tokens_left_for_reply(said: str, limit: int) -> int | None:
    """Return how many tokens an error says are left for a reply of `limit`; None if it does not.

    The numbers in it decide, whatever the wording: a context length with room for the prompt, but not for the reply.
    One token less than sent says only that the prompt has more tokens than a server counted (vLLM): then it is half.
    """
    counts = _counts(said)
    left = [
        context - prompt
        for prompt, context in permutations(counts, 2)
        if limit not in (prompt, context) and context - limit not in counts
        if _SHORTEST <= context - prompt < limit and (limit in counts or prompt + limit in counts)
    ]
    most = max(left, default=0) if _CONTEXT.search(said) else 0
    most = limit // 2 if most == limit - 1 else most
    return most if most >= _SHORTEST else None


def _counts(said: str) -> list[int]:
    return [int(each.replace(",", "")) for each in _COUNT.findall(said)]
