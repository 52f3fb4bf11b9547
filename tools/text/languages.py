"""The analyser of each language: Snowball's stemmers, bm25s's stop words, and bigrams where no spaces are.

A language without a list of stop words keeps all its words; BM25 gives those that are everywhere next to no weight.
"""

from functools import cache
from importlib import import_module

from hopgraph.state import SettingsError
from hopgraph.tools.text.analyser import ANY_WORD, Analyser

_SNOWBALL = (
    "ar arabic, hy armenian, eu basque, ca catalan, cs czech, da danish, nl dutch, en english, eo esperanto, "
    "et estonian, fi finnish, fr french, de german, el greek, hi hindi, hu hungarian, id indonesian, ga irish, "
    "it italian, lt lithuanian, ne nepali, no norwegian, fa persian, pl polish, pt portuguese, ro romanian, "
    "ru russian, sr serbian, st sesotho, es spanish, sv swedish, ta tamil, tr turkish, yi yiddish"
)
_UNSPACED = "zh chinese, ja japanese, ko korean, th thai"
_TOKENISERS = {"chinese-words": "rjieba", "japanese-words": "sudachipy", "thai-words": "pythainlp"}
"""Languages with words from a dictionary, which need the extra `languages`."""

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0903\u093a-\u094f"
    "\u0962\u0963\u0b82\u0bbe-\u0bcd\u200c\u200d"
)
"""Vowel signs, accents and joiners of the languages above: parts of words that `\\w` leaves out."""
_WORD = rf"[^\W_](?:[^\W_]|[{_MARKS}])*"


def _named(pairs: str) -> dict[str, str]:
    return {code: name for code, _, name in (pair.partition(" ") for pair in pairs.split(", "))}


_CODES = _named(_SNOWBALL) | _named(_UNSPACED) | {"zh-words": "chinese-words", "ja-words": "japanese-words"}
_CODES["th-words"] = "thai-words"
_KNOWN = frozenset(_CODES.values())
_WITHOUT_SPACES = frozenset(_named(_UNSPACED).values())


def list_language_codes() -> list[str]:
    """List the codes of all languages, sorted: ISO 639-1, some with `-words`."""
    return sorted(_CODES)


def list_language_names() -> list[str]:
    """List the English names of the languages that need no extra package, sorted."""
    return sorted(_named(f"{_SNOWBALL}, {_UNSPACED}").values())


def get_analyser(language: str) -> Analyser:
    """Return the one analyser of a language, a code (`de`, `zh-words`) or English name; else SettingsError."""
    name = _CODES.get(language.lower(), language.lower())
    if name not in _KNOWN:
        raise SettingsError(f"language {language!r:.40} is unknown; known: {', '.join(list_language_codes())}")
    return _analyser(name)


@cache
def _analyser(name: str) -> Analyser:
    if name == "english":
        return Analyser(
            word_pattern=ANY_WORD, normal_form="NFKC", tokeniser="bigrams", compounds=True, folds_accents=True
        )
    if name in _WITHOUT_SPACES or name in _TOKENISERS:
        return Analyser(
            language=name,
            stemmer="none",
            word_pattern=ANY_WORD,
            compounds=True,
            normal_form="NFC" if name.startswith("thai") else "NFKC",  # NFKC tears a Thai vowel in two
            tokeniser=_TOKENISERS.get(name, "bigrams"),
        )
    return Analyser(
        language=name,
        stop_words=tuple(getattr(import_module("bm25s.stopwords"), f"STOPWORDS_{name.upper()}", ())),
        word_pattern=_WORD,
        normal_form="NFKC",
        compounds=True,
        lower_case="turkish" if name == "turkish" else "unicode",
    )
