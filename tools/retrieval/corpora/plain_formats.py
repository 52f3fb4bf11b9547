"""Text files other than Markdown as sections: tables of values, JSON, reStructuredText; and how any text is encoded."""

import codecs
import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from hopgraph.tools.io.document_conversion import UnreadableFileError
from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.retrieval.corpora.cutting import Block
from hopgraph.tools.retrieval.corpora.markdown_sections import Section
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading

UTF_8 = "utf-8-sig"
"""With or without a byte order mark."""
_CHUNK = 1 << 20
_LONGEST_JSON = 1 << 26  # bytes of a file with one JSON value, which is read whole
_TITLE_KEYS = ("title", "name")
TEXT_KEYS = ("text", "content", "body", "page_content")
"""The keys under which an object may have its text."""
_RULE = re.compile(r"""([=\-`:.'"~^_*+#<>])\1+$""")
"""What stands below, and perhaps above, a heading of reStructuredText."""
_WESTERN = (
    *("àâæçéèêëîïôœùûü", "äöüß", "áéíñóúüªº", "áâãàçéêíóôõúüªº", "àèéìíîòóùú", "àçèéíïòóúü"),
    *("åäöé", "æøåé", "áæðéíóúýþö", "äöõü"),
)
"""The letters beyond ASCII of French, German, Spanish, Portuguese, Italian, Catalan, Swedish, Danish, Icelandic and
Estonian, in lower case."""
_EASTERN = (
    *("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ", "ăâîșț"),
    *("çğıöşü", "ąčęėįšųūž", "āčēģīķļņšūž"),
)
"""Those of Polish, Czech, Slovak, Hungarian, Slovenian and Croatian, Romanian, Turkish, Lithuanian and Latvian."""
_OTHER_SCRIPT = re.compile("[\u0370-\u1dff\u1f00-\u1fff\u2e80-\uffff]")
_FRACTIONS = "¹²³¼½¾"
_WITHIN_WORDS = "\u2018\u2019\u2013—·\xad\xa0"
_LETTER = re.compile(
    rf"[^\W\d_a-zA-Z{_FRACTIONS}]"
    rf"|(?<=[^\W\d_])(?:[{_FRACTIONS}]|[^\w\x00-\x7f{_WITHIN_WORDS}])(?=[a-z])|(?<=[a-z])\u201a|[\xa1-\xbf]{{2}}"
)
"""A letter beyond ASCII, or a symbol as it is in a text only if that is read in a wrong encoding."""


def open_text(path: Path, encoding: str) -> TextIOWrapper:
    """Open a text file; line ends become line feeds."""
    return TextIOWrapper(open_source(path), encoding=encoding, errors="replace")


def detect_encoding(path: Path) -> str:
    """Return the encoding of a text file: UTF-8, else what `guess_encoding` finds; UnreadableFileError for no text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    chunk = b""
    try:
        with open_source(path) as file:
            for chunk in iter(partial(file.read, _CHUNK), b""):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        guess = guess_encoding(chunk)
        if guess is None:
            raise UnreadableFileError("it is not UTF-8, nor text in another known encoding") from None
        return guess
    return UTF_8


class _Fit(NamedTuple):
    """How well a text fits the languages: of its `letters` beyond ASCII, the share that the best fitting one has."""

    share: float
    western: float
    """The share that any Western language has."""
    letters: int


def guess_encoding(content: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8; None for what is no text.

    It is charset-normalizer's guess, but cp1252 where another Latin code page does not fit clearly better: short texts
    fit several, and charset-normalizer prefers others.
    """
    matches = require("charset_normalizer", "documents").from_bytes(content)
    best = matches.best()
    western = _fit(content, "cp1252")
    is_other = best is None or _OTHER_SCRIPT.search(str(best))
    if western is None or (is_other and western.share < 0.9):
        return str(best.encoding) if best else None
    rivals = dict.fromkeys([*(str(match.encoding) for match in matches), "cp1250", "iso8859_2"])
    fits = [(name, fit) for name in rivals if (fit := _fit(content, name))]
    name, fit = max(fits, key=lambda each: each[1].share, default=("cp1252", western))
    gained = fit.share * fit.letters - western.share * western.letters
    is_much = gained > 2.5 and fit.letters >= 0.03 * len(content)
    clearly = fit.share > western.share + 0.05 and (western.western < 0.9 or is_much)
    return name if clearly else "cp1252"


def _fit(content: bytes, encoding: str) -> _Fit | None:
    """Return None for what is no Latin text in this encoding."""
    try:
        text = content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    counts = Counter(_LETTER.findall(text.replace("İ", "\u0131").lower()))
    total = counts.total()
    if "\0" in text or _OTHER_SCRIPT.search(text) or total > len(text) / 2:
        return None
    if not total:
        return _Fit(1, 1, 0)
    shares = [
        sum(counts[letter] for letter in letters) / total for letters in (*_WESTERN, *_EASTERN, {*"".join(_WESTERN)})
    ]
    return _Fit(max(shares[:-1]), shares[-1], total)


def read_table(path: Path, encoding: str) -> Iterator[Block]:
    """Read CSV or tab-separated values: a line for each row, each value with its column's name."""
    with open_text(path, encoding) as file:
        sample = file.read(8192)
        file.seek(0)
        try:
            dialect = csv.Sniffer().sniff(sample, delimiters=",;\t|")
        except csv.Error:
            dialect = csv.excel
        rows = csv.reader(file, dialect)
        try:
            columns = next(rows, list[str]())
            for row in rows:
                cells = (f"{name}: {cell}" for name, cell in zip(columns, row, strict=False) if cell.strip())
                if line := ", ".join(" ".join(cell.split()) for cell in cells):
                    yield Block(rows.line_num, line, "lines")
        except csv.Error as error:
            raise UnreadableFileError(f"line {rows.line_num}: {error}") from None


def read_json(path: Path, encoding: str, reading: CorpusReading) -> Iterator[Section]:
    """Read JSON, or JSON lines: a section for each object of the list, under its `title` or `name` if it has one.

    Its text is one of TEXT_KEYS, and the rest metadata; else it has a line for each value.
    """
    for line, value in _json_values(path, encoding, reading):
        fields: Mapping[str, JsonValue] = value if isinstance(value, dict) else {}
        title = next((str(fields[key]) for key in _TITLE_KEYS if isinstance(fields.get(key), str)), "")
        texts = [text for key in TEXT_KEYS if isinstance(text := fields.get(key), str) and text.strip()]
        try:
            block = Block(line, texts[0]) if texts else Block(line, "\n".join(_flatten(value)), "lines")
        except RecursionError:
            raise UnreadableFileError(f"line {line}: it is nested too deeply") from None
        others = {key: each for key, each in fields.items() if texts and key not in (*_TITLE_KEYS, *TEXT_KEYS)}
        if block.text.strip():
            yield Section((title,) if title else (), line, None, [block], others)


def _json_values(path: Path, encoding: str, reading: CorpusReading) -> Iterator[tuple[int, JsonValue]]:
    with open_text(path, encoding) as file:
        if path.suffix.lower() == ".jsonl":
            for number, line in enumerate(file, 1):
                try:
                    if line.strip():
                        yield number, json.loads(line)
                except (ValueError, RecursionError) as error:
                    reading.skip(path, number, f"not usable JSON: {error}")
            return
        if path.stat().st_size > _LONGEST_JSON:
            raise UnreadableFileError(f"one JSON value of more than {_LONGEST_JSON >> 20} MiB; write it as .jsonl")
        try:
            value: JsonValue = json.load(file)
        except (ValueError, RecursionError) as error:
            raise UnreadableFileError(f"not usable JSON: {error}") from None
    yield from ((1, each) for each in (value if isinstance(value, list) else [value]))


def _flatten(value: JsonValue, keys: str = "") -> Iterator[str]:
    if isinstance(value, dict | list):
        named = value if isinstance(value, dict) else dict(zip(map(str, range(1, len(value) + 1)), value, strict=True))
        for key, each in named.items():
            yield from _flatten(each, f"{keys} {key}".strip())
    elif value not in (None, ""):
        yield f"{keys}: {' '.join(str(value).split())}" if keys else str(value)


def rst_to_markdown(text: str) -> str:
    """Write the headings of reStructuredText as Markdown's; their order of appearance gives their levels."""
    lines, levels = text.split("\n"), list[tuple[str, bool]]()
    for number in range(1, len(lines)):
        title, rule = lines[number - 1].strip(), lines[number].rstrip()
        if not (_RULE.fullmatch(rule) and title and not _RULE.fullmatch(title) and len(rule) >= len(title)):
            continue
        above = number > 1 and lines[number - 2].rstrip() == rule
        if (style := (rule[0], above)) not in levels:
            levels.append(style)
        lines[number - 1], lines[number] = f"{'#' * min(levels.index(style) + 1, 6)} {title}", ""
        if above:
            lines[number - 2] = ""
    return "\n".join(lines)
