"""Comparison of the languages of two texts, by their scripts and function words."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import NamedTuple

from hopgraph.tools.text.common_words import FUNCTION_WORDS
from hopgraph.tools.text.languages import get_analyser

_LISTED = ["da", "nl", "fr", "de", "it", "no", "pt", "ru", "es", "sv", "tr"]
"""Languages other than English with a list of function words."""
_FEWEST = 2
_AHEAD = 1.5  # how many times as many function words a language must have as the next one
_LETTERS_READ = 400
_EAST_ASIAN = {"HIRAGANA", "KATAKANA", "HANGUL", "KATAKANA-HIRAGANA"}


class LanguageSigns(NamedTuple):
    """The signs that identify the language of a text."""

    script: str
    """That of most letters, such as LATIN; empty without letters."""
    language: str
    """A code, such as de; empty where no language's function words stand out."""


def read_language_signs(text: str, words: Iterable[str]) -> LanguageSigns:
    """Read the signs of a text, given its words; one with a capital may be a name, and does not count."""
    letters = islice((each for each in text if each.isalpha()), _LETTERS_READ)
    scripts = Counter("CJK" if name in _EAST_ASIAN else name for name in map(_script, letters))
    [(script, _)] = scripts.most_common(1) or [("", 0)]
    known = _languages_by_word()
    found = Counter(code for word in words if word.islower() for code in known.get(fold_letters(word), ()))
    (language, most), (_, next_most) = [*found.most_common(2), ("", 0), ("", 0)][:2]
    return LanguageSigns(script, language if most >= max(_FEWEST, _AHEAD * next_most) else "")


def are_in_different_languages(first: LanguageSigns, second: LanguageSigns) -> bool:
    """Return whether two texts are surely in different languages; False where the signs of one do not tell."""
    scripts, languages = {first.script, second.script}, {first.language, second.language}
    return any("" not in signs and len(signs) > 1 for signs in (scripts, languages))


def fold_letters(word: str) -> str:
    """Return a word without case and accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).casefold()


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


@cache
def _languages_by_word() -> dict[str, tuple[str, ...]]:
    lists = {"en": FUNCTION_WORDS.split(), **{code: get_analyser(code).stop_words for code in _LISTED}}
    found: dict[str, dict[str, None]] = {}
    for code, words in lists.items():
        for word in words:
            found.setdefault(fold_letters(word), {})[code] = None
    return {word: tuple(codes) for word, codes in found.items()}
