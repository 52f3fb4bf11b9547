"""Writing a chat completion: whole, or in chunks as the steps happen."""

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from hopgraph.nodes.chat.reply import plain
from hopgraph.nodes.finish import total
from hopgraph.state import Citation, Usage
from hopgraph.tools.apps.runs.telling import Line
from hopgraph.tools.apps.runs.telling.watch import Watcher
from hopgraph.tools.apps.server.turn import TurnEnd, TurnStep, told
from hopgraph.tools.apps.server.turn_result import Answered, answered, encodable

_SIGNS = {"•": "", "-": "✗"}
"""What stands for the marks that Markdown would take for lists of their own."""


@dataclass
class Steps:
    """Tells the steps of a turn in words, as reasoning."""

    _watcher: Watcher = field(default_factory=Watcher)

    def told(self, step: TurnStep) -> str:
        """Tell what a step says about the steps before and itself: Markdown lines, or nothing yet."""
        return encodable("".join(_markdown(line) for line in told(step, self._watcher)))


def _markdown(line: Line) -> str:
    """Write a line so that a client shows foreign text in it as it is."""
    if line.style == "heading":
        return f"\n**{plain(line.text)}**\n\n"
    text = f"{_SIGNS.get(line.mark, line.mark)} {plain(line.text)}".strip()
    return f"- **{plain(line.label)}** {text}\n" if line.label else f"  - {text}\n"


@dataclass(frozen=True)
class Ended:
    """What a turn came to."""

    text: str
    found: Answered

    @classmethod
    def of(cls, end: TurnEnd) -> "Ended":
        """Read the last state of the chat."""
        return cls(encodable(end.state["messages"][-1].text), answered(end.state, end.state["chosen"] or ""))

    @classmethod
    def said(cls, text: str) -> "Ended":
        """Make what only says something."""
        usage = total([], iterations=0)
        return cls(text, Answered(answer="", explanation="", citations=[], method="", stop_reason=None, usage=usage))


@dataclass(frozen=True)
class Completion:
    """Writes the answer to one request."""

    model: str
    identity: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, ended: Ended, reasoning: str) -> dict[str, Any]:
        """Write the completion of a turn that has ended."""
        message = {
            "role": "assistant",
            "content": ended.text,
            "refusal": None,
            "annotations": annotations(ended.text, ended.found["citations"]),
            "reasoning_content": reasoning,
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(ended.found)}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(ended.found["usage"]),
            "hopgraph": ended.found,
        }

    def chunk(self, delta: Mapping[str, Any], ended: Ended | None = None) -> dict[str, Any]:
        """Write a piece of a stream; the last one of a choice says why it ended, and what was found."""
        reason = _finish_reason(ended.found) if ended else None
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        found = {"hopgraph": ended.found} if ended else {}
        return {**self._head("chat.completion.chunk"), "choices": [choice], **found}

    def last_chunks(self, ended: Ended, *, include_usage: bool) -> Iterable[dict[str, Any]]:
        """Write what ends a stream: the text with its citations, why it ended, and the usage if it is asked for."""
        cited = annotations(ended.text, ended.found["citations"])
        yield self.chunk({"content": ended.text, **({"annotations": cited} if cited else {})})
        yield self.chunk({}, ended)
        if include_usage:
            usage = _usage(ended.found["usage"])
            yield {**self._head("chat.completion.chunk"), "choices": [], "usage": usage}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.identity, "object": kind, "created": self.created, "model": self.model}


def _finish_reason(found: Answered) -> str:
    return "length" if found["stop_reason"] == "budget" else "stop"


def _usage(usage: Usage) -> dict[str, int]:
    prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def annotations(text: str, citations: Sequence[Citation]) -> list[dict[str, Any]]:
    """Write citations as OpenAI does, with the passage and its sentence beside them.

    Offsets are those of the mark `[1]`, `[2]`, … after the answer, in code points. A passage that has no address
    gets one that only tells it from others.
    """
    answer = text.partition("\n\n")[0]
    written: list[dict[str, Any]] = []
    end = len(answer)
    for number, citation in reversed(list(enumerate(citations, start=1))):
        start = end - len(f"[{number}]")
        cited = {"start_index": start, "end_index": end, "url": _address(citation), "title": citation["title"]}
        own = {name: citation[name] for name in ("passage_id", "quote", "kind")}
        written.append({"type": "url_citation", "url_citation": cited, **own, "title": citation["title"]})
        end = start
    return written[::-1]


def _address(citation: Citation) -> str:
    key = citation["passage_id"]
    return key if key.startswith(("https://", "http://")) else f"passage:{quote(key, safe='')}"
