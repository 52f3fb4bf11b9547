"""From text to terms: the one way in which indexes, queries and lexical comparisons see words."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache, partial, wraps
from importlib import import_module
from threading import Lock
from typing import Literal, TypeVar

from pydantic import JsonValue

from hopgraph.tools.text.unspaced import SPACED_WORD, UNSPACED, make_splitter, tokeniser_version

_DISTINCT_WORDS = 1 << 17
_LONGEST_CACHED = 4096
"""Characters of a text whose results are cached: those of a passage, so that the caches stay small."""
ResultT = TypeVar("ResultT")


def once_per_passage(work: Callable[[str], ResultT], most: int = 2048) -> Callable[[str], ResultT]:
    """Cache the results of a function for the `most` latest texts that are no longer than passages."""
    cached = lru_cache(maxsize=most)(work)

    @wraps(work)
    def run(text: str) -> ResultT:
        return cached(text) if len(text) <= _LONGEST_CACHED else work(text)

    return run


ENGLISH_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these"
    " they this to was will with"
)
"""Lucene's English stop words, which bm25s calls `en`."""


@dataclass(frozen=True)
class Analyser:
    """Lower-case, split into words of two or more letters or digits, drop stop words, stem.

    The defaults are the steps that `bm25s.tokenize` takes with `stopwords="en"` and PyStemmer's English
    (Snowball) stemmer. `hopgraph.tools.text.languages` has the analysers of other languages.
    """

    language: str = "english"
    stemmer: Literal["snowball", "none"] = "snowball"
    stop_words: tuple[str, ...] = tuple(ENGLISH_STOP_WORDS.split())
    word_pattern: str = r"(?u)\b\w\w+\b"
    normal_form: Literal["none", "NFC", "NFKC"] = "none"
    """The Unicode form that a text is brought to first, so that `é` is one letter however it was typed."""
    lower_case: Literal["unicode", "turkish"] = "unicode"
    """Turkish has two letters i, with a dot and without, each with a capital of its own."""
    tokeniser: str = "none"
    """What splits stretches of writing without spaces: `bigrams` or a package; see `unspaced`."""

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in its order, repeated ones included; empty when it has none."""
        stem = self._stem
        stop_words = self._stop_words
        return [stem(word) for word in self.words(text) if word not in stop_words]

    def words(self, text: str) -> list[str]:
        """Return the lower-case words of a text in its order, stop words included, not stemmed.

        Raises:
            SpecError: the tokeniser's package is not installed.
        """
        return self._split(text)

    def term(self, word: str) -> str | None:
        """Return the term of one lower-case word; None for a stop word."""
        return None if word in self._stop_words else self._stem(word)

    def describe(self) -> dict[str, JsonValue]:
        """Return what an index records of its analyser, as plain JSON data.

        The versions are those that may change terms: Snowball's without its last part, and the package's
        that splits unspaced writing, with its dictionary's.

        Raises:
            SpecError: the tokeniser's package is not installed.
        """
        snowball: str = import_module("Stemmer").version() if self.stemmer == "snowball" else ""
        return {
            **asdict(self),
            "stop_words": list(self.stop_words),
            "stemmer_version": ".".join(snowball.split(".")[:2]),
            "tokeniser_version": tokeniser_version(self.tokeniser),
        }

    @cached_property
    def _split(self) -> Callable[[str], list[str]]:
        lower = _turkish_lower if self.lower_case == "turkish" else str.lower
        if self.tokeniser != "none":
            split = make_splitter(self.tokeniser, self.word_pattern)
        else:
            split: Callable[[str], list[str]] = re.compile(self.word_pattern).findall
        if (form := self.normal_form) == "none":
            return lambda text: split(lower(text))
        return lambda text: split(lower(unicodedata.normalize(form, text)))

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return frozenset(self.stop_words)

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        if self.stemmer == "none":
            return str
        # PyStemmer has no type stubs.
        stem_word: Callable[[str], str] = import_module("Stemmer").Stemmer(self.language).stemWord
        lock = Lock()

        @lru_cache(maxsize=_DISTINCT_WORDS)
        def stem(word: str) -> str:
            with lock:  # a PyStemmer object must not be used by two threads at once
                return stem_word(word)

        return stem


def _turkish_lower(text: str) -> str:
    return text.replace("I", "\u0131").replace("\u0130", "i").lower()


DEFAULT_ANALYSER = Analyser()
"""English: the analyser of an index unless it was built for another language."""

_WITH_BIGRAMS = Analyser(word_pattern=SPACED_WORD, normal_form="NFKC", tokeniser="bigrams")
_unspaced = re.compile(f"[{UNSPACED}]").search


def content_terms(text: str) -> list[str]:
    """Return the terms of a text to compare it with other texts, in order, repeated ones included.

    They are those of an English index, but pairs of characters for Chinese, Japanese, Korean and Thai. The most recent
    texts are remembered: a step compares the same sentences with many queries. Single letters and digits are
    no terms.
    """
    return list(_terms(text))


@partial(once_per_passage, most=1 << 13)
def _terms(text: str) -> tuple[str, ...]:
    unspaced = not text.isascii() and _unspaced(text) is not None
    return tuple((_WITH_BIGRAMS if unspaced else DEFAULT_ANALYSER).terms(text))
