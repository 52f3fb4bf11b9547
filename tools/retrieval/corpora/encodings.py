"""How a text that is not UTF-8 is encoded."""

import re
from collections import Counter
from typing import NamedTuple

from hopgraph.tools.io.optional_packages import require

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


class _Fit(NamedTuple):
    """How well a text fits one of the languages."""

    share: float
    """Of its letters beyond ASCII, those that the best fitting language has."""
    western: float
    """Those that any Western language has."""
    letters: int
    """How many there are."""


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
