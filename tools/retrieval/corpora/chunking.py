"""Cutting a text into passages of about so many words, at the ends of sentences, rows, list items and lines."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from hopgraph.state import SettingsError
from hopgraph.tools.documents.elements import Element, Row, tidy, write_table
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.sentences import LINE_UNIT

PASSAGE_WORDS = 100
"""Target length of a passage, that of DPR's Wikipedia."""
_MOST_WORDS = 5000
_LONGEST_KEY = 20
"""Words of a row's first cell that stands in each part of the row."""
_MOST_LINKS = 100
"""Of a block, or a passage; in longer tables of links the last ones are not followed."""
_PIECE_LETTERS = 7  # characters for each word of a piece, of a text without spaces, too


@dataclass(frozen=True)
class ChunkOptions:
    """How documents become passages. Raises SettingsError for lengths that make no sense."""

    words: int = PASSAGE_WORDS
    """Target length of a passage. A sentence of more than twice as many (a table, a log) is cut into pieces."""
    overlap: int = 0
    """Words, at most, of the last sentences that the next passage of the same section begins with again."""
    ocr: str = ""
    """The languages of scanned pages, as Tesseract names them (`eng+deu`), which are then read; empty: they are not."""

    def __post_init__(self) -> None:
        if not 10 <= self.words <= _MOST_WORDS:
            raise SettingsError(f"chunk_words is {self.words}; it must be from 10 to {_MOST_WORDS:,}")
        if not 0 <= self.overlap <= self.words // 2:
            raise SettingsError(f"overlap is {self.overlap}; it must be from 0 to half of chunk_words ({self.words})")


class _Unit(NamedTuple):
    line: int
    text: str
    words: int
    block: Element
    head: str = ""
    """The column names above a row, and a rule."""


class CutPassage(NamedTuple):
    """A passage and where it stands."""

    line: int
    """On which it begins, from 1."""
    last: int
    """The last line on which a sentence, row or item of it begins, or its block."""
    text: str
    """White space in prose is single spaces; an empty line parts blocks."""
    links: Sequence[str]
    """Addresses of the links in it."""


def cut_passages(blocks: Iterable[Element], chunking: ChunkOptions) -> Iterator[CutPassage]:
    """Yield passages: sentences, rows, items and lines, gathered until another one would lead further from the length.

    None of them is cut, unless it is more than twice as long; a heading within a text stands with what follows it.
    A list is cut at its items, code at the ends of its lines, and each part of a table has its column names.
    """
    taken: list[_Unit] = []
    words = new = 0
    for unit in _units(blocks, chunking.words):
        more = unit.words + (count_words(unit.head) if unit.head and not (taken and taken[-1].head == unit.head) else 0)
        is_heading = unit.block.kind == "heading"
        far = abs(words - chunking.words) <= abs(words + more - chunking.words)
        if new and (far or (is_heading and words > chunking.words / 2)):
            held = taken[-1:] if new > 1 and taken[-1].block.kind == "heading" and not is_heading else []
            full = taken[:-1] if held else taken
            yield _passage_of(full)
            taken = [*_last_of(full, chunking.overlap), *held]
            words, new = sum(each.words for each in taken), len(held)
            more = unit.words + count_words(unit.head)
        taken.append(unit)
        words += more
        new += 1
    if new:
        yield _passage_of(taken)


def _passage_of(units: list[_Unit]) -> CutPassage:
    linked = dict[str, None]()
    for unit in units:
        shown = tidy(unit.text) if unit.block.links else ""
        linked |= dict.fromkeys(href for text, href in unit.block.links[:_MOST_LINKS] if text in shown or shown in text)
    return CutPassage(units[0].line, max(unit.line for unit in units), _join(units), tuple(linked)[:_MOST_LINKS])


def _units(blocks: Iterable[Element], words: int) -> Iterator[_Unit]:
    for block in blocks:
        if block.kind == "table":
            yield from _rows(block, words)
        elif block.kind == "code":
            yield from (_Unit(block.number, piece, count_words(piece), block) for piece in _cut_lines(block, words))
        elif block.kind == "item":
            for item in LINE_UNIT.split(block.text.strip("\n")):
                short = count_words(item) <= 2 * words
                for piece in [item] if short else _sentences(item, words):
                    yield _Unit(block.number, piece, count_words(piece), block)
        else:
            yield from (_Unit(block.number, each, count_words(each), block) for each in _sentences(block.text, words))


def _sentences(text: str, words: int) -> Iterator[str]:
    for start, end in split_sentences(text):
        sentence = tidy(text[start:end])
        long = count_words(sentence) > 2 * words
        yield from (found[0] for found in _piece(words).finditer(sentence)) if long else [sentence]


def _rows(block: Element, words: int) -> Iterator[_Unit]:
    names, *rows = block.rows
    line = block.number + any(name.strip() for name in names)
    if max(map(count_words, names)) > _LONGEST_KEY:  # they are not names
        names, rows, line = [""] * len(names), block.rows, block.number
    groups = _group_columns(names, words)
    for number, row in enumerate(rows, line):
        for group in groups:
            some, cells = ([each[at] for at in group] for each in (names, row))
            for some_names, part in _parts_of_row(some, cells, words) if group is groups[0] or any(cells[1:]) else ():
                head, _, text = write_table([some_names, part]).rpartition("\n")
                yield _Unit(number, text, count_words(text), block, head)


def _group_columns(names: Row, words: int) -> list[list[int]]:
    """Return the columns that stand together, so that their names are not too long; the first one stands in each."""
    groups, size = [[0]], 0
    for at, name in enumerate(names[1:], 1):
        size += count_words(name)
        if size > words / 2 and len(groups[-1]) > 1:
            groups.append([0])
            size = count_words(name)
        groups[-1].append(at)
    return groups


def _parts_of_row(names: Row, row: Row, words: int) -> Iterator[tuple[Row, Row]]:
    """Yield a row, one that is too long in parts: whole cells, or their sentences, each beside the row's first cell."""
    if sum(map(count_words, row)) <= 2 * words:
        yield names, row
        return
    keys = 1 if count_words(row[0]) <= _LONGEST_KEY else 0
    part, size = dict[int, list[str]](), 0

    def join() -> tuple[Row, Row]:
        cells = [" ".join(pieces) for pieces in part.values()]
        return [*names[:keys], *(names[at] for at in part)], [*row[:keys], *cells]

    for at in range(keys, len(row)):
        for piece in _sentences(row[at], words):
            more = count_words(piece)
            if part and size + more > words:
                yield join()
                part, size = {}, 0
            part.setdefault(at, []).append(piece)
            size += more
    if part:
        yield join()


_LANGUAGES = {"py": "python", "rs": "rust", "rb": "ruby", "h": "cpp", "cs": "csharp", "kt": "kotlin"}
"""Suffix → the language by whose functions and classes code is cut, where that has another name."""


def _cut_lines(block: Element, words: int) -> Iterable[str]:
    """Cut at functions, empty lines, else at line ends, a line that is too long between words."""
    text = block.text.strip("\n")
    if count_words(text) <= words:
        return [text]
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter  # with LangChain, which takes time

    language = _LANGUAGES.get(block.mark, block.mark)
    known = language in {each.value for each in Language}
    separators = RecursiveCharacterTextSplitter.get_separators_for_language(Language(language)) if known else []
    splitter = RecursiveCharacterTextSplitter(
        separators=[*(each for each in separators if each.strip()), "\n\n", "\n", " ", ""],
        chunk_size=words,
        chunk_overlap=0,
        length_function=count_words,
        keep_separator="start",
        strip_whitespace=False,
    )
    return [part.strip("\n") for part in splitter.split_text(text) if part.strip()]


def _join(units: list[_Unit]) -> str:
    parts = [_headed(units[0])]
    for before, unit in pairwise(units):
        if before.block is unit.block or (unit.head and unit.head == before.head):
            is_prose = unit.block.kind in ("text", "heading")
            space = " " if before.text[-1:] < "\u3000" else ""  # Chinese has none
            parts += [space if is_prose else "\n", unit.text if unit.head == before.head else f"\n{_headed(unit)}"]
        else:
            together = before.block.kind == unit.block.kind == "item"
            parts += ["\n" if together else "\n\n", _headed(unit)]
    return "".join(parts)


def _headed(unit: _Unit) -> str:
    return f"{unit.head}\n{unit.text}" if unit.head else unit.text


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


_WITH_WORD = re.compile(r"(?<!\S)[^\w\s]*+\w\S*+")


def count_words(text: str) -> int:
    """Count the words of a text, and a word for every ten letters where it has no spaces; marks alone are none."""
    words = _WITH_WORD.findall(text)
    return max(len(words), sum(map(len, words)) // 10)
