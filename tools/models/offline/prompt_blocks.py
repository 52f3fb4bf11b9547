"""Read a rendered prompt back: its step, its blocks, its passages and its lists."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

_OPEN = re.compile(r"^<([a-z_]{1,40})>[ \t]*$", re.MULTILINE)
_PASSAGE = re.compile(r'^<passage id="([^"\n]{1,40})" title="([^"\n]*)">[ \t]*\n?', re.MULTILINE)
_ITEM = re.compile(r'^<item id="(\d{1,9})">', re.MULTILINE)
_ROLE = re.compile(r"^Role:[ \t]*(\S{1,200})", re.MULTILINE)
_AT_MOST = re.compile(r"at most (\d{1,3})")
_LONGEST_PASSAGE = 20_000
_LONGEST_ITEM = 2_000
_LONGEST_QUESTION = 3_000
_MOST_PARTS = 250


@dataclass(frozen=True)
class PromptPassage:
    """A passage as the prompt shows it."""

    number: int
    title: str
    text: str


@dataclass(frozen=True)
class Prompt:
    """What the messages ask for."""

    step: str
    """The part of the role after the slash; empty when there is no role line."""
    blocks: dict[str, str]
    at_most: int
    """The limit that the instructions name."""

    @property
    def question(self) -> str:
        """The question, cut to a length that can still be one; empty when there is none."""
        return unescape(self.blocks.get("question", ""))[:_LONGEST_QUESTION].strip()

    @property
    def passages(self) -> list[PromptPassage]:
        """The passages in the prompt's order; very long ones are cut, empty ones left out."""
        parts = _split(_PASSAGE, self.blocks.get("passages", ""), "</passage>", _LONGEST_PASSAGE)
        return [
            PromptPassage(int(match[1]) if match[1].isdecimal() else place, unescape(match[2]).strip(), text)
            for place, (match, text) in enumerate(parts, start=1)
        ]

    def items(self, name: str) -> list[tuple[int, str]]:
        """Return the (id, text) pairs of a list block; empty when it is missing or `(none)`."""
        return [
            (int(match[1]), text) for match, text in _split(_ITEM, self.blocks.get(name, ""), "</item>", _LONGEST_ITEM)
        ]


def unescape(text: str) -> str:
    """Undo the escaping of data inside a block."""
    return text.replace("&lt;", "<").replace("&quot;", '"')


def _split(opening: re.Pattern[str], block: str, closing: str, longest: int) -> list[tuple[re.Match[str], str]]:
    """Return each opening tag with the text up to its closing tag, or up to the next one if that is missing."""
    found = list(islice(opening.finditer(block), _MOST_PARTS))
    ends = [*(match.start() for match in found[1:]), len(block)][: len(found)]
    parts: list[tuple[re.Match[str], str]] = []
    for match, limit in zip(found, ends, strict=True):
        close = block.find(closing, match.end(), limit)
        text = unescape(block[match.end() : close if close >= 0 else limit][:longest]).strip()
        if text:
            parts.append((match, text))
    return parts


def _blocks(text: str) -> dict[str, str]:
    blocks: dict[str, str] = {}
    at = 0
    while match := _OPEN.search(text, at):
        end = text.find(f"</{match[1]}>", match.end())
        end = len(text) if end < 0 else end
        blocks.setdefault(match[1], text[match.end() : end].strip())
        at = end
    return blocks


def role_of(messages: Sequence[BaseMessage]) -> str:
    """Read the role from the line `Role: method/step` of the system message; empty without one."""
    role = _ROLE.search(_system(messages))
    return role[1] if role else ""


def _system(messages: Sequence[BaseMessage]) -> str:
    return next((m.text for m in messages if isinstance(m, SystemMessage)), "")


def read_prompt(messages: Sequence[BaseMessage]) -> Prompt:
    """Read the role from the system message and the blocks from the last human message that has any.

    Demonstrations (earlier human and AI messages) are passed over, and so is what is said after the prompt when a
    reply could not be used. Missing parts are empty.
    """
    system = _system(messages)
    said = (m.text for m in reversed(messages) if isinstance(m, HumanMessage))
    human = next((text for text in said if _OPEN.search(text)), "")
    limit = _AT_MOST.search(system) or _AT_MOST.search(human[:2_000])
    return Prompt(role_of(messages).rpartition("/")[2], _blocks(human), int(limit[1]) if limit else 3)
