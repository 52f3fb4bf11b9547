"""Split documents into passages of a target length, at the ends of sentences, table rows, list items and lines."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from hopgraph.state import SettingsError
from hopgraph.tools.documents.elements import Element, Row, format_table, tidy
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.sentences import LINE_UNIT

PASSAGE_WORDS = 100
"""Target length of a passage, as in DPR's Wikipedia."""
_MAX_WORDS = 5000
_MAX_KEY_WORDS = 20
"""A first cell of up to this many words is repeated in each part of a split row."""
_MAX_LINKS = 100
"""Maximum links of a block or passage; further ones are dropped."""
_CHARACTERS_PER_WORD = 7  # of a piece of an overlong sentence, also in text without spaces


@dataclass(frozen=True)
class ChunkOptions:
    """How documents are split into passages. Raises SettingsError for lengths out of range."""

    words: int = PASSAGE_WORDS
    """Target length of a passage. Sentences of more than twice as many words are split, too."""
    overlap: int = 0
    """Maximum words at the end of a passage that the next passage of the same section repeats."""
    ocr: str = ""
    """Tesseract's codes of the languages of scanned pages, e.g. `eng+deu`; if empty, scanned pages are not read."""

    def __post_init__(self) -> None:
        if not 10 <= self.words <= _MAX_WORDS:
            raise SettingsError(f"chunk_words is {self.words}; it must be from 10 to {_MAX_WORDS:,}")
        if not 0 <= self.overlap <= self.words // 2:
            raise SettingsError(f"overlap is {self.overlap}; it must be from 0 to half of chunk_words ({self.words})")


class _Unit(NamedTuple):
    line: int
    text: str
    words: int
    block: Element
    header: str = ""
    """The header row and delimiter row above a table row."""


class Chunk(NamedTuple):
    """A passage and its location."""

    line: int
    """First line, from 1."""
    last: int
    """Line where its last sentence, row or item (or its block) starts."""
    text: str
    """White space in prose is normalized; blocks are separated by an empty line."""
    links: Sequence[str]
    """Targets of its links."""


def split_blocks(blocks: Iterable[Element], chunking: ChunkOptions) -> Iterator[Chunk]:
    """Yield passages as close to the target length as whole sentences, rows, list items and lines of code allow.

    Units are split only if they have more than twice the target length. A heading stays with the text below it, and
    each part of a table repeats the header row.
    """
    current: list[_Unit] = []
    words = new = 0
    for unit in _units(blocks, chunking.words):
        is_first_row = unit.header and not (current and current[-1].header == unit.header)
        more = unit.words + (count_words(unit.header) if is_first_row else 0)
        is_heading = unit.block.kind == "heading"
        is_full = abs(words - chunking.words) <= abs(words + more - chunking.words)
        if new and (is_full or (is_heading and words > chunking.words / 2)):
            kept = current[-1:] if new > 1 and current[-1].block.kind == "heading" and not is_heading else []
            done = current[:-1] if kept else current
            yield _make_chunk(done)
            current = [*_overlap(done, chunking.overlap), *kept]
            words, new = sum(each.words for each in current), len(kept)
            more = unit.words + count_words(unit.header)
        current.append(unit)
        words += more
        new += 1
    if new:
        yield _make_chunk(current)


def _make_chunk(units: list[_Unit]) -> Chunk:
    links = dict[str, None]()
    for unit in units:
        shown = tidy(unit.text) if unit.block.links else ""
        links |= dict.fromkeys(href for text, href in unit.block.links[:_MAX_LINKS] if text in shown or shown in text)
    return Chunk(units[0].line, max(unit.line for unit in units), _join(units), tuple(links)[:_MAX_LINKS])


def _units(blocks: Iterable[Element], words: int) -> Iterator[_Unit]:
    for block in blocks:
        if block.kind == "table":
            yield from _rows(block, words)
        elif block.kind == "code":
            yield from (_Unit(block.number, piece, count_words(piece), block) for piece in _split_code(block, words))
        elif block.kind == "item":
            for item in LINE_UNIT.split(block.text.strip("\n")):
                is_short = count_words(item) <= 2 * words
                for piece in [item] if is_short else _sentences(item, words):
                    yield _Unit(block.number, piece, count_words(piece), block)
        else:
            yield from (_Unit(block.number, each, count_words(each), block) for each in _sentences(block.text, words))


def _sentences(text: str, words: int) -> Iterator[str]:
    for start, end in split_sentences(text):
        sentence = tidy(text[start:end])
        is_long = count_words(sentence) > 2 * words
        yield from (found[0] for found in _piece_pattern(words).finditer(sentence)) if is_long else [sentence]


def _rows(block: Element, words: int) -> Iterator[_Unit]:
    names, *rows = block.rows
    line = block.number + any(name.strip() for name in names)
    if max(map(count_words, names)) > _MAX_KEY_WORDS:  # too long for a header
        names, rows, line = [""] * len(names), block.rows, block.number
    groups = _group_columns(names, words)
    for number, row in enumerate(rows, line):
        for group in groups:
            group_names, cells = ([each[at] for at in group] for each in (names, row))
            is_shown = group is groups[0] or any(cells[1:])
            for part_names, part in _split_row(group_names, cells, words) if is_shown else ():
                header, _, text = format_table([part_names, part]).rpartition("\n")
                yield _Unit(number, text, count_words(text), block, header)


def _group_columns(names: Row, words: int) -> list[list[int]]:
    """Group columns so that no header row gets too long; the first column is in each group."""
    groups, size = [[0]], 0
    for at, name in enumerate(names[1:], 1):
        size += count_words(name)
        if size > words / 2 and len(groups[-1]) > 1:
            groups.append([0])
            size = count_words(name)
        groups[-1].append(at)
    return groups


def _split_row(names: Row, row: Row, words: int) -> Iterator[tuple[Row, Row]]:
    """Yield a row with its header; an overlong row in parts, each with the first cell and some others or sentences."""
    if sum(map(count_words, row)) <= 2 * words:
        yield names, row
        return
    keys = 1 if count_words(row[0]) <= _MAX_KEY_WORDS else 0
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
"""File suffix → LangChain's name of the language, if they differ."""


def _split_code(block: Element, words: int) -> Iterable[str]:
    """Split code before functions and classes, at empty lines, else at line ends, or between words."""
    text = block.text.strip("\n")
    if count_words(text) <= words:
        return [text]
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter  # slow to import

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
        if before.block is unit.block or (unit.header and unit.header == before.header):
            is_prose = unit.block.kind in ("text", "heading")
            space = " " if before.text[-1:] < "\u3000" else ""  # none in Chinese
            parts += [space if is_prose else "\n", unit.text if unit.header == before.header else f"\n{_headed(unit)}"]
        else:
            is_list = before.block.kind == unit.block.kind == "item"
            parts += ["\n" if is_list else "\n\n", _headed(unit)]
    return "".join(parts)


def _headed(unit: _Unit) -> str:
    return f"{unit.header}\n{unit.text}" if unit.header else unit.text


def _overlap(units: list[_Unit], words: int) -> list[_Unit]:
    """Return the last units with at most `words` words in total; never all of them."""
    kept: list[_Unit] = []
    for unit in reversed(units[1:]):
        words -= unit.words
        if words < 0:
            break
        kept.insert(0, unit)
    return kept


@lru_cache(maxsize=8)
def _piece_pattern(words: int) -> re.Pattern[str]:
    length = _CHARACTERS_PER_WORD * words
    return re.compile(rf"\S(?:.{{0,{length - 2}}}\S)?(?!\S)|\S{{{length}}}", re.DOTALL)


_TOKEN = re.compile(r"(?<!\S)[^\w\s]*+\w\S*+")


def count_words(text: str) -> int:
    """Count the words of a text, at least one per ten characters; punctuation alone does not count."""
    words = _TOKEN.findall(text)
    return max(len(words), sum(map(len, words)) // 10)
