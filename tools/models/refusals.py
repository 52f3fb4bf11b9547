"""Parts of requests that a server refuses, apart from the structured-output mode, and requests without them."""

import re
from dataclasses import dataclass, replace

SYSTEM = "system"
"""The name under which refused system messages count as a parameter."""
_NAMED = re.compile(
    r"(?P<mode>response.?format|json.?schema|\btools?\b|tool_choice|functions?\b|guided|grammar)"
    r"|(?P<system>\b(?:system|developer)\b\W{0,4}(?:role|message|prompt|instruction)"
    r"|\broles?\b[^.]{0,60}\b(?:system|developer)\b|roles? must alternate|only user and assistant roles)"
    r"|(?P<sampling>\b(?:temperature|top_p|seed)\b)"
    r"|(?P<limit>max(?:imum)?[ _]?(?:completion|output|new)?[ _]?tokens|num_predict)",
    re.IGNORECASE,
)
_COUNT = re.compile(r"(?<![\w.-])(?:\d{1,3}(?:,\d{3})+|\d{2,7})(?![\w-])")
_CONTEXT = re.compile(r"(?:context.?(?:length|window|size)\D{0,20}|must be <= )(\d{1,8})", re.IGNORECASE)
_PROMPT = re.compile(r"(\d{1,8}) (?:input tokens|prompt tokens|in (?:the|your) (?:messages|prompt)|.inputs. tokens)")
_SHORTEST = 16
"""Tokens; within fewer there is no reply."""


@dataclass(frozen=True)
class Refusals:
    """Parameters that a model's server refused, and so are no longer sent."""

    parameters: frozenset[str] = frozenset()
    """`max_tokens`, `max_completion_tokens`, `temperature`, `top_p` and `seed`; `SYSTEM`."""
    most_tokens: int | None = None
    """The highest limit of a reply that it takes; None: not known."""

    def learn(self, said: str, limit: int, name: str | None) -> tuple["Refusals", str] | None:
        """Return what is refused in view of an error, and that in words; None where it names nothing new.

        `limit` is the limit that was sent, under `name`. What an error names first is what it is about.
        """
        named = _NAMED.search(said)
        kind, which = (named.lastgroup, named[0].lower()) if named else (None, "")
        if kind == "limit" and name:
            counts = [int(each.replace(",", "")) for each in _COUNT.findall(said)]
            if lower := max((each for each in counts if _SHORTEST <= each < limit), default=0):
                return replace(self, most_tokens=lower), f"replies have at most {lower} tokens"
            return self._without(name), f"{name} is not sent"
        if kind == "system" and SYSTEM not in self.parameters:
            return self._without(SYSTEM), "what system messages say begins the first user message"
        if kind == "sampling" and which not in self.parameters:
            return self._without(which), f"{which} is not sent"
        return None

    def _without(self, name: str) -> "Refusals":
        return replace(self, parameters=self.parameters | {name})


def refuses_system_messages(said: str) -> bool:
    """Return whether an error is about system messages."""
    named = _NAMED.search(said)
    return named is not None and named.lastgroup == "system"


def tokens_left_for_reply(said: str) -> int | None:
    """Return how many tokens an error says are left for the reply after the prompt; None where none is said to be."""
    context, prompt = _CONTEXT.search(said), _PROMPT.search(said)
    left = int(context[1]) - int(prompt[1]) if context and prompt else 0
    return left if left >= _SHORTEST else None
