"""Parse a rendered prompt into its role and blocks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from hopgraph.tools.prompts import escape, unescape

_OPEN = re.compile(r"^<([a-z_]{1,40})>[ \t]*$", re.MULTILINE)
_PASSAGE = re.compile(r'^<passage id="(\d{1,9})" title="([^"\n]*)">', re.MULTILINE)
_ITEM = re.compile(r'^<item id="(\d{1,9})">', re.MULTILINE)
_ROLE = re.compile(r"^Role:[ \t]*(\S{1,200})", re.MULTILINE)
_AT_MOST = re.compile(r"at most (\d{1,3})")
_MAX_PASSAGE = 20_000
_MAX_ITEM = 2_000
_MAX_QUESTION = 3_000
_MAX_PARTS = 250


@dataclass(frozen=True)
class PromptPassage:
    """A passage in a prompt."""

    number: int
    title: str
    text: str


@dataclass(frozen=True)
class ParsedPrompt:
    """The parsed messages of a prompt."""

    role: str
    """Role, e.g. `migres/decide`; empty if there is no role line."""
    instructions: str
    blocks: dict[str, str]
    at_most: int
    """Limit in the instructions, e.g. of queries; by default 3."""

    @property
    def step(self) -> str:
        """The part of the role after the slash."""
        return self.role.rpartition("/")[2]

    @property
    def question(self) -> str:
        """The question, truncated; empty if there is none."""
        return self.text("question")[:_MAX_QUESTION].strip()

    def with_question(self, question: str) -> Self:
        """Return the same prompt with another question."""
        return replace(self, blocks={**self.blocks, "question": escape(question)})

    def text(self, name: str) -> str:
        """Return a block as plain text; empty if it is missing."""
        return unescape(self.blocks.get(name, ""))

    @cached_property
    def passages(self) -> list[PromptPassage]:
        """The non-empty passages in order; very long ones are truncated."""
        _, *parts = _PASSAGE.split(self.blocks.get("passages", ""), _MAX_PARTS)
        texts = (_content(text, "</passage>", _MAX_PASSAGE) for text in parts[2::3])
        rows = zip(parts[::3], parts[1::3], texts, strict=True)
        return [PromptPassage(int(number), unescape(title).strip(), text) for number, title, text in rows if text]

    def items(self, name: str) -> list[tuple[int, str]]:
        """Return (id, text) for each item of a block, or its plain text as one item; empty if missing or `(none)`."""
        block = self.blocks.get(name, "")
        first, *parts = _ITEM.split(block, _MAX_PARTS)
        if not parts:
            return [] if first in ("", "(none)") else [(1, unescape(first)[:_MAX_PASSAGE])]
        texts = (_content(text, "</item>", _MAX_ITEM) for text in parts[1::2])
        return [(int(number), text) for number, text in zip(parts[::2], texts, strict=True) if text]


def _content(text: str, closing: str, length: int) -> str:
    return unescape(text.partition(closing)[0][:length]).strip()


def _blocks(text: str) -> dict[str, str]:
    blocks: dict[str, str] = {}
    at = 0
    while match := _OPEN.search(text, at):
        end = text.find(f"</{match[1]}>", match.end())
        at = len(text) if end < 0 else end
        blocks.setdefault(match[1], text[match.end() : at].strip())
    return blocks


def parse_request(messages: Sequence[BaseMessage]) -> ParsedPrompt:
    """Parse the role in the system message and the blocks of the last human message that has any.

    Demonstrations (earlier human and AI messages) and retry messages (after the prompt) are skipped.
    """
    system = next((m.text for m in messages if isinstance(m, SystemMessage)), "")
    texts = (m.text for m in reversed(messages) if isinstance(m, HumanMessage))
    human = next((text for text in texts if _OPEN.search(text)), "")
    limit = _AT_MOST.search(system) or _AT_MOST.search(human[:2_000])
    role = _ROLE.search(system)
    return ParsedPrompt(role[1] if role else "", system, _blocks(human), int(limit[1]) if limit else 3)
