"""Whether a text contains another word for word, however both are written."""

import re
import unicodedata

from hopgraph.tools.text.unspaced import UNSPACED

_BETWEEN = re.compile(r"[\W_]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def contains(text: str, part: str) -> bool:
    """Whether a text contains the words of another, in sequence.

    Case, punctuation, white space and the Unicode form do not count. Words are compared whole, but where
    writing has no spaces between them. Nothing contains a part without words.
    """
    words = _words_of(part)
    if not words:
        return False
    before = "" if _UNSPACED.match(words[0]) else " "
    after = "" if _UNSPACED.match(words[-1]) else " "
    return f"{before}{words}{after}" in f" {_words_of(text)} "


def _words_of(text: str) -> str:
    return _BETWEEN.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
