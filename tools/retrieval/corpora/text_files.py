"""Folders of `.txt` and `.md` files, cut into passages of about 100 words at sentence ends."""

import errno
import os
import re
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path

from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading, SourceRecord, read_lines
from hopgraph.tools.text import split_sentences

SUFFIXES = frozenset({".txt", ".md"})
PASSAGE_WORDS = 100
"""What a passage aims at, as the passages of DPR's Wikipedia have."""
_LONGEST_SENTENCE = 200
"""Words; a longer one (a table, a list, a log) is cut into pieces."""
_LONGEST_BLOCK = 1 << 16
"""Characters; a longer paragraph is taken in parts, so that a file may be of any size."""
_HEADING = re.compile(r"#{1,6}\s")
_CLOSING_MARKS = re.compile(r"(?:^|\s)#+$")
_LONGEST_TITLE = 200
"""Characters; each passage of a file repeats its title."""
_PIECE = re.compile(r"\S(?:.{0,698}\S)?(?!\S)|\S{700}", re.DOTALL)
"""About 100 words, or 700 characters of a text without spaces."""

Block = tuple[int, str]
"""A paragraph with the line on which it begins."""


def list_files(source: Path, *, follow_links: bool = True) -> list[Path]:
    """List the files of a folder and its sub-folders by path, but hidden ones.

    OSError: a link, unless they are followed: in a foreign folder it may lead to any file of this machine.
    """
    found, seen = list[Path](), set[tuple[int, int]]()
    for folder, subfolders, names in os.walk(source, onerror=_refuse, followlinks=follow_links):
        here = os.stat(folder)
        new = (here.st_dev, here.st_ino) not in seen  # else a link leads back to it
        seen.add((here.st_dev, here.st_ino))
        subfolders[:] = sorted(name for name in subfolders if new and not name.startswith("."))
        inside = [Path(folder, name) for name in names if new and not name.startswith(".")]
        if not follow_links:
            texts = (path for path in inside if path.suffix.lower() in SUFFIXES)
            refuse_link(*texts, *(Path(folder, name) for name in subfolders))
        found += inside
    return sorted(found)


def refuse_link(*paths: Path) -> None:
    """Raise OSError for a link."""
    for path in paths:
        if path.is_symlink():
            raise OSError(errno.ELOOP, "this is a link; follow it with --follow-links, or remove it", str(path))


def _refuse(error: OSError) -> None:
    raise error


def read_text_files(source: Path, reading: CorpusReading) -> Iterator[SourceRecord]:
    """Cut every text file into passages, with `path#number` for an id.

    The title is the file's first heading, up to 200 characters, else its name. White space within a
    passage is made single spaces.
    """
    single = source.is_file()
    for path in [source] if single else [path for path in list_files(source) if path.suffix.lower() in SUFFIXES]:
        if reading.only is not None and path not in reading.only:
            continue
        name = path.name if single else path.relative_to(source).as_posix()
        title = _title(path)
        for number, (line, text) in enumerate(_passages(_blocks(path, reading)), 1):
            yield SourceRecord(f"{name}#{number}", title, text, path, line)


def _title(path: Path) -> str:
    with TextIOWrapper(open_source(path), encoding="utf-8-sig", errors="replace") as file:
        lines = (line.lstrip("#").strip() for line in file if _HEADING.match(line))
        headings = (_CLOSING_MARKS.sub("", line).strip() for line in lines)
        return next((heading[:_LONGEST_TITLE] for heading in headings if heading), path.stem)


def _blocks(path: Path, reading: CorpusReading) -> Iterator[Block]:
    """Yield the paragraphs of a file; headings and blank lines part them."""
    lines: list[str] = []
    start, length = 1, 0
    for number, line in read_lines(path, reading):
        is_break = not line.strip() or _HEADING.match(line) is not None
        if lines and (is_break or length > _LONGEST_BLOCK):
            yield start, "".join(lines)
            lines, length = [], 0
        if not is_break:
            start = start if lines else number
            lines.append(line)
            length += len(line)
    if lines:
        yield start, "".join(lines)


def _passages(blocks: Iterable[Block]) -> Iterator[Block]:
    """Gather sentences until another one would lead further away from 100 words."""
    sentences: list[str] = []
    start, words = 1, 0
    for line, sentence in _sentences(blocks):
        more = _words(sentence)
        if sentences and abs(words - PASSAGE_WORDS) <= abs(words + more - PASSAGE_WORDS):
            yield start, " ".join(sentences)
            sentences, words = [], 0
        start = start if sentences else line
        sentences.append(sentence)
        words += more
    if sentences:
        yield start, " ".join(sentences)


def _sentences(blocks: Iterable[Block]) -> Iterator[Block]:
    for line, text in blocks:
        for start, end in split_sentences(text):
            sentence = " ".join(text[start:end].split())
            if _words(sentence) <= _LONGEST_SENTENCE:
                yield line, sentence
            else:
                yield from ((line, piece[0]) for piece in _PIECE.finditer(sentence))


def _words(text: str) -> int:
    """Count the words of a text, and a word for every ten letters where it has no spaces."""
    return max(text.count(" ") + 1, len(text) // 10)
