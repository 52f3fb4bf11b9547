"""Cutting a text into passages of about so many words, at the ends of sentences and of lines."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from hopgraph.state import SettingsError
from hopgraph.tools.text import split_sentences

PASSAGE_WORDS = 100
"""What a passage aims at, as the passages of DPR's Wikipedia have."""
_MOST_WORDS = 5000
_PIECE_LETTERS = 7  # characters for each word of a piece, of a text without spaces, too


class Block(NamedTuple):
    """A part of a text that belongs together."""

    line: int
    """On which it begins, from 1."""
    text: str
    kind: Literal["prose", "lines", "table"] = "prose"
    """Lines (a list, code, records) keep their line ends, and each part of a table begins with its head, two lines."""


@dataclass(frozen=True)
class Cutting:
    """How long passages are. Raises SettingsError for lengths that make no sense."""

    words: int = PASSAGE_WORDS
    """What a passage aims at. A sentence of more than twice as many (a table, a log) is cut into pieces."""
    overlap: int = 0
    """Words, at most, of the last sentences that the next passage of the same section begins with again."""

    def __post_init__(self) -> None:
        if not 10 <= self.words <= _MOST_WORDS:
            raise SettingsError(f"passage_words is {self.words}; it must be from 10 to {_MOST_WORDS:,}")
        if not 0 <= self.overlap <= self.words // 2:
            raise SettingsError(f"overlap is {self.overlap}; it must be from 0 to half of passage_words ({self.words})")


class _Unit(NamedTuple):
    line: int
    text: str
    words: int
    prose: bool


def cut_passages(blocks: Iterable[Block], cutting: Cutting) -> Iterator[tuple[int, str]]:
    """Yield each passage's line, on which it begins, from 1, and its text, where white space in prose is single spaces.

    Sentences and lines are gathered until another one would lead further away from the length aimed at.
    """
    taken: list[_Unit] = []
    words = new = 0
    for unit in _units(blocks, cutting.words):
        if new and abs(words - cutting.words) <= abs(words + unit.words - cutting.words):
            yield taken[0].line, _join(taken)
            taken = _last_of(taken, cutting.overlap)
            words, new = sum(each.words for each in taken), 0
        taken.append(unit)
        words += unit.words
        new += 1
    if new:
        yield taken[0].line, _join(taken)


def _units(blocks: Iterable[Block], words: int) -> Iterator[_Unit]:
    for block in blocks:
        if block.kind == "prose":
            for start, end in split_sentences(block.text):
                sentence = " ".join(block.text[start:end].split())
                long = count_words(sentence) > 2 * words
                pieces = (found[0] for found in _piece(words).finditer(sentence)) if long else [sentence]
                yield from (_Unit(block.line, piece, count_words(piece), prose=True) for piece in pieces)
        else:
            yield from (_Unit(block.line, piece, count_words(piece), prose=False) for piece in _cut_lines(block, words))


def _cut_lines(block: Block, words: int) -> Iterable[str]:
    """Cut at line ends, a line that is too long between words; each part of a table has the table's head."""
    text = block.text.strip("\n")
    if count_words(text) <= words:
        return [text]
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # with LangChain's models, which take time

    head, body = "", text
    if block.kind == "table":
        first, second, *rows = text.split("\n")
        head, body = f"{first}\n{second}\n", "\n".join(rows)
    room = max(words - count_words(head), words // 2)
    splitter = RecursiveCharacterTextSplitter(
        separators=["\n\n", "\n", " ", ""],
        chunk_size=room,
        chunk_overlap=0,
        length_function=count_words,
        keep_separator="start",
        strip_whitespace=False,
    )
    return [head + part.strip("\n") for part in splitter.split_text(body) if part.strip()]


def _join(units: list[_Unit]) -> str:
    parts = [units[0].text]
    for before, unit in pairwise(units):
        parts += [" " if before.prose and unit.prose else "\n", unit.text]
    return "".join(parts)


def _last_of(units: list[_Unit], overlap: int) -> list[_Unit]:
    """Return the last units that have at most so many words together; never all of them."""
    kept: list[_Unit] = []
    for unit in reversed(units[1:]):
        overlap -= unit.words
        if overlap < 0:
            break
        kept.insert(0, unit)
    return kept


@lru_cache(maxsize=8)
def _piece(words: int) -> re.Pattern[str]:
    letters = _PIECE_LETTERS * words
    return re.compile(rf"\S(?:.{{0,{letters - 2}}}\S)?(?!\S)|\S{{{letters}}}", re.DOTALL)


def count_words(text: str) -> int:
    """Count the words of a text, and a word for every ten letters where it has no spaces."""
    return max(text.count(" ") + text.count("\n") + 1, len(text) // 10)
