"""Detect text encodings (UTF-8, UTF-16 and UTF-32, else chardet's guess), and decode and open text files."""

import codecs
import os
import re
import unicodedata
import zlib
from contextlib import suppress
from functools import partial
from gzip import GzipFile
from io import BufferedReader, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing_extensions import Buffer

from hopgraph.tools.documents.elements import UnreadableFileError
from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.io.optional_packages import require

UTF_8 = "utf-8-sig"
"""UTF-8 with or without a byte order mark."""
DAMAGED_UTF_8 = "utf-8"
"""The codec for UTF-8 text with a few undecodable bytes."""
_CHUNK, _SAMPLE = 1 << 20, 1 << 16
_MAX_RATIO = 200
_CANDIDATES = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "iso8859-2"),
    *("iso8859-5", "iso8859-7", "koi8-r", "koi8-u", "cp850", "cp852", "cp866", "mac-roman", "mac-cyrillic"),
    *("gb18030", "big5hkscs", "cp932", "euc_jis_2004", "cp949", "cp500", "iso2022_jp_2"),
    *("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
)
_MIXED, _WORDS = (
    re.compile(each) for each in ("(?<=[a-z])[\u0370-\u1dff]|[\u0370-\u1dff](?=[a-z])", "[\u0370-\u1dff]+")
)
"""Letters of another script inside a Latin word; words in another script."""
_NOT_TEXT = frozenset({"Cc", "Cn", "Co", "Cs"})
_SPACES = frozenset("\t\n\r\f\x1b\ufeff")
_LETTER = re.compile("[^\\W\\d_a-zA-Z¹²³¼½¾µ]")
_CP1252_MARGIN = 0.75
"""cp1252 is chosen from this share of the best candidate's confidence on: in short texts they differ little."""


class _BoundedGzipFile(GzipFile):
    """A gzip file; reading raises OSError if it is damaged or unpacks to too much."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        super().__init__(fileobj=file)

    def close(self) -> None:
        super().close()
        self._file.close()

    def readinto(self, buffer: "Buffer") -> int:
        try:
            count = super().readinto(buffer)
        except (EOFError, zlib.error) as error:
            raise OSError(str(error)) from None
        if self.tell() > max(16 << 20, _MAX_RATIO * os.fstat(self.fileno()).st_size):
            raise OSError(f"it unpacks to more than {_MAX_RATIO} times its size")
        return count


def open_binary(path: Path) -> BufferedReader:
    """Open a file for reading bytes; a `.gz` file is decompressed."""
    file = open_source(path)
    return BufferedReader(cast("RawIOBase", _BoundedGzipFile(file))) if path.suffix.lower() == ".gz" else file


def open_text(path: Path, encoding: str) -> TextIOWrapper:
    """Open a text file with universal newlines; undecodable bytes are replaced."""
    return TextIOWrapper(open_binary(path), encoding=encoding, errors="replace")


def detect_encoding(path: Path) -> str:
    """Return the encoding of a text file: UTF-8, or what `find_encoding` returns for its first chunk that is not."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    chunk, is_first = b"", True
    try:
        with open_binary(path) as file:
            for chunk in iter(partial(file.read, _CHUNK), b""):
                if is_first and (b"\0" in chunk or _ISO_2022_JP in chunk or chunk.startswith(_MARKS)):
                    return find_encoding(chunk)
                decoder.decode(chunk)
                is_first = False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return find_encoding(chunk)
    return UTF_8


_UNKNOWN = "it is neither UTF-8 nor text in another known encoding"
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_ISO_2022_JP = b"\x1b$B"
"""The escape sequence that starts Japanese text; all bytes of this encoding are ASCII."""
_ALIASES = {"iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "shift_jis": "cp932"} | dict.fromkeys(
    ("gb2312", "gbk"), "gb18030"
)
"""Declared encoding → superset that browsers decode it as, since such texts contain its additional characters."""


def decode(content: bytes, declared: str | None = None) -> str:
    """Decode a text: a Unicode encoding if detected, else the declared one, else the most likely one."""
    encoding = find_encoding(content)
    if declared and not encoding.startswith("utf"):
        with suppress(LookupError, UnicodeDecodeError):  # the declaration is wrong
            name = codecs.lookup(declared).name
            return content.decode(_ALIASES.get(name, name))
    return content.decode(encoding, "replace")


def find_encoding(content: bytes) -> str:
    """Return the encoding of a text: UTF-8 (perhaps with a few damaged bytes), UTF-16 or UTF-32, else a guess.

    Raises UnreadableFileError if it is not text.
    """
    if content.startswith(_MARKS) and len(content) % 2:
        raise UnreadableFileError(_UNKNOWN)
    text = content.decode("utf-8", "replace")
    zeros, damaged = text.count("\0"), text.count("\ufffd")
    if not zeros and not damaged and _ISO_2022_JP not in content:
        return UTF_8
    non_ascii = sum(map(text.count, set(text) - {"\ufffd"} - set(map(chr, range(128)))))
    if non_ascii >= damaged > 0 == zeros:
        return DAMAGED_UTF_8
    if guess := guess_encoding(content):
        return guess
    if zeros + damaged <= max(1, 0.01 * len(text)):
        return DAMAGED_UTF_8
    raise UnreadableFileError("it is not text: it has zero bytes" if zeros else _UNKNOWN)


def guess_encoding(content: bytes) -> str | None:
    """Guess the encoding of a text that is not UTF-8; None if it does not look like text.

    This is chardet's best guess, or cp1252 if that is about as likely or has no letters beyond ASCII.
    """
    detect_all = require("chardet", "documents").detect_all
    found = detect_all(content, include_encodings=_CANDIDATES, compat_names=False, ignore_threshold=True)
    likely: dict[str, float] = {
        name: each["confidence"] for each in found if (name := each["encoding"]) and _is_likely(content[:_SAMPLE], name)
    }
    best = next(iter(likely), None)
    if not best or best.startswith(("utf", "iso2022")):
        return best
    western = content.decode("cp1252", "replace")
    is_same = not _LETTER.search(western) or western == content.decode(best, "replace")
    return "cp1252" if is_same or likely.get("cp1252", 0) >= _CP1252_MARGIN * likely[best] else best


def _is_likely(sample: bytes, encoding: str) -> bool:
    """Return whether a sample decodes to printable text, and its words are not in mixed scripts."""
    text = sample.decode(encoding, "ignore")
    unprintable = sum(text.count(each) for each in set(text) - _SPACES if unicodedata.category(each) in _NOT_TEXT)
    return unprintable <= len(text) / 500 and 2 * len(_MIXED.findall(text)) <= len(_WORDS.findall(text))
