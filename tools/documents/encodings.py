"""The encoding of a text: UTF-8, what its first bytes or its many zeros say, else a guess."""

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
"""With or without a byte order mark."""
DAMAGED_UTF_8 = "utf-8"
"""Its codec for texts in which a few bytes cannot be decoded."""
_CHUNK, _SAMPLE = 1 << 20, 1 << 16
_MOST_TIMES = 200
_GUESSED = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "iso8859-2"),
    *("iso8859-5", "iso8859-7", "koi8-r", "koi8-u", "cp850", "cp852", "cp866", "mac-roman", "mac-cyrillic"),
    *("gb18030", "big5hkscs", "cp932", "euc_jis_2004", "cp949", "cp500", "iso2022_jp_2"),
    *("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
)
_MIXED, _WORDS = (
    re.compile(each) for each in ("(?<=[a-z])[\u0370-\u1dff]|[\u0370-\u1dff](?=[a-z])", "[\u0370-\u1dff]+")
)
"""Letters of another script within a Latin word, and all of them."""
_NOT_TEXT = frozenset({"Cc", "Cn", "Co", "Cs"})
_SPACES = frozenset("\t\n\r\f\x1b\ufeff")
_LETTER = re.compile("[^\\W\\d_a-zA-Z¹²³¼½¾µ]")
_LIKELY_ENOUGH = 0.75
"""How much less likely than the likeliest encoding the usual one may be: in short texts they differ little."""


class _Unpacked(GzipFile):
    """The content of a packed file; OSError if it is damaged, or far too much."""

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
        if self.tell() > max(16 << 20, _MOST_TIMES * os.fstat(self.fileno()).st_size):
            raise OSError(f"it unpacks to more than {_MOST_TIMES} times its size")
        return count


def open_binary(path: Path) -> BufferedReader:
    """Open a file, and one whose name ends in `.gz` as what is packed in it."""
    file = open_source(path)
    return BufferedReader(cast("RawIOBase", _Unpacked(file))) if path.suffix.lower() == ".gz" else file


def open_text(path: Path, encoding: str) -> TextIOWrapper:
    """Open a text file; line ends become line feeds."""
    return TextIOWrapper(open_binary(path), encoding=encoding, errors="replace")


def detect_encoding(path: Path) -> str:
    """Return the encoding of a text file, as `find_encoding` does of its first part that is not UTF-8."""
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


_NO_TEXT = "it is neither UTF-8 nor text in another known encoding"
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_ISO_2022_JP = b"\x1b$B"
"""What begins Japanese letters in its bytes, all of which are ASCII."""
_LARGER = {"iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "shift_jis": "cp932"} | dict.fromkeys(
    ("gb2312", "gbk"), "gb18030"
)
"""Encodings as what browsers read them, since texts that name one have letters of the other."""


def decode(content: bytes, named: str | None = None) -> str:
    """Return a text that is UTF-8, UTF-16 or UTF-32, or in the encoding that it names, or else in the likeliest."""
    encoding = find_encoding(content)
    if named and not encoding.startswith("utf"):
        with suppress(LookupError, UnicodeDecodeError):  # where it is not what it says
            name = codecs.lookup(named).name
            return content.decode(_LARGER.get(name, name))
    return content.decode(encoding, "replace")


def find_encoding(content: bytes) -> str:
    """Return the encoding of a text: UTF-8, with a few damaged bytes, too, UTF-16 or UTF-32, else a guess.

    UnreadableFileError for what is not text.
    """
    if content.startswith(_MARKS) and len(content) % 2:
        raise UnreadableFileError(_NO_TEXT)
    text = content.decode("utf-8", "replace")
    zeros, damaged = text.count("\0"), text.count("\ufffd")
    if not zeros and not damaged and _ISO_2022_JP not in content:
        return UTF_8
    beyond = sum(map(text.count, set(text) - {"\ufffd"} - set(map(chr, range(128)))))
    if beyond >= damaged > 0 == zeros:
        return DAMAGED_UTF_8
    if guess := guess_encoding(content):
        return guess
    if zeros + damaged <= max(1, 0.01 * len(text)):
        return DAMAGED_UTF_8
    raise UnreadableFileError("it is not text: it has zero bytes" if zeros else _NO_TEXT)


def guess_encoding(content: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8; None for what is not text.

    It is chardet's guess, but cp1252 where that is about as likely, or all beyond ASCII would be signs.
    """
    detect_all = require("chardet", "documents").detect_all
    found = detect_all(content, include_encodings=_GUESSED, compat_names=False, ignore_threshold=True)
    likely: dict[str, float] = {
        name: each["confidence"] for each in found if (name := each["encoding"]) and _is_likely(content[:_SAMPLE], name)
    }
    best = next(iter(likely), None)
    if not best or best.startswith(("utf", "iso2022")):
        return best
    usual = content.decode("cp1252", "replace")
    is_same = not _LETTER.search(usual) or usual == content.decode(best, "replace")
    return "cp1252" if is_same or likely.get("cp1252", 0) >= _LIKELY_ENOUGH * likely[best] else best


def _is_likely(sample: bytes, encoding: str) -> bool:
    """Return whether a sample in this encoding is text whose words are each in one script."""
    text = sample.decode(encoding, "ignore")
    signs = sum(text.count(each) for each in set(text) - _SPACES if unicodedata.category(each) in _NOT_TEXT)
    return signs <= len(text) / 500 and 2 * len(_MIXED.findall(text)) <= len(_WORDS.findall(text))
