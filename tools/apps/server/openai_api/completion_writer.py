"""Writing a chat completion: whole, or in chunks as the steps happen."""

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from hopgraph.nodes.chat.reply import escape_markup
from hopgraph.state import Citation, Usage
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.narration import Narrator
from hopgraph.tools.apps.server.turn import (
    AnswerPayload,
    TurnEnd,
    TurnStep,
    answer_payload,
    replace_surrogates,
    step_lines,
)

_MARKS = {"•": "", "-": "✗"}
"""Replacements for marks that Markdown would read as lists."""


def write_reasoning(step: TurnStep, narrator: Narrator) -> str:
    """Return the Markdown lines, as reasoning, that a step adds to what the narrator told; may be empty."""
    return replace_surrogates("".join(_markdown(line) for line in step_lines(step, narrator)))


def _markdown(line: Line) -> str:
    """Write a line so that a client shows untrusted text in it literally."""
    if line.style == "heading":
        return f"\n**{escape_markup(line.text)}**\n\n"
    text = f"{_MARKS.get(line.mark, line.mark)} {escape_markup(line.text)}".strip()
    return f"- **{escape_markup(line.label)}** {text}\n" if line.label else f"  - {text}\n"


@dataclass(frozen=True)
class CompletionWriter:
    """Writes the answer to one request."""

    model: str
    identity: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, end: TurnEnd, reasoning: str) -> dict[str, Any]:
        """Write the completion of a turn that has ended."""
        text, found = _reply(end)
        message = {
            "role": "assistant",
            "content": text,
            "refusal": None,
            "annotations": citation_annotations(text, found["citations"]),
            "reasoning_content": reasoning,
        }
        return {**self._body("chat.completion", {"message": message}, found), "usage": _usage(found["usage"])}

    def chunk(self, delta: Mapping[str, Any], found: AnswerPayload | None = None) -> dict[str, Any]:
        """Write a piece of a stream; the last one of a choice has the finish reason, and what was found."""
        return self._body("chat.completion.chunk", {"delta": delta}, found)

    def last_chunks(self, end: TurnEnd, *, include_usage: bool) -> Iterable[dict[str, Any]]:
        """Write the end of a stream: the text with its citations, the finish reason, and the usage if requested."""
        text, found = _reply(end)
        cited = citation_annotations(text, found["citations"])
        yield self.chunk({"content": text, **({"annotations": cited} if cited else {})})
        yield self.chunk({}, found)
        if include_usage:
            yield {**self.chunk({}), "choices": [], "usage": _usage(found["usage"])}

    def _body(self, kind: str, content: Mapping[str, Any], found: AnswerPayload | None) -> dict[str, Any]:
        reason = ("length" if found["stop_reason"] == "budget" else "stop") if found else None
        choice = {"index": 0, **content, "logprobs": None, "finish_reason": reason}
        head = {"id": self.identity, "object": kind, "created": self.created, "model": self.model}
        return {**head, "choices": [choice], **({"hopgraph": found} if found else {})}


def _reply(end: TurnEnd) -> tuple[str, AnswerPayload]:
    return replace_surrogates(end.state["messages"][-1].text), answer_payload(end.state, end.state["chosen"] or "")


def _usage(usage: Usage) -> dict[str, int]:
    prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def citation_annotations(text: str, citations: Sequence[Citation]) -> list[dict[str, Any]]:
    """Write citations as OpenAI does, with the passage's id and the quoted sentence added.

    Offsets are those of the mark `[1]`, `[2]`, … after the answer, in code points. A passage that has no address
    gets a `passage:` one that only distinguishes it.
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
