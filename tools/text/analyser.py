"""From text to terms: the one way in which indexes, queries and lexical comparisons see words."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from threading import Lock

from pydantic import JsonValue

_DISTINCT_WORDS = 1 << 17
_DISTINCT_TEXTS = 1 << 13
_LONGEST_REMEMBERED = 4096
"""Characters; what is remembered must stay small."""

ENGLISH_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these"
    " they this to was will with"
)
"""Lucene's English stop words, which bm25s calls `en`."""


@dataclass(frozen=True)
class Analyser:
    """Lower-case, split into words of two or more letters or digits, drop stop words, stem.

    The same steps as `bm25s.tokenize` takes with `stopwords="en"` and PyStemmer's English (Snowball) stemmer.
    """

    language: str = "english"
    stemmer: str = "snowball"
    stop_words: tuple[str, ...] = tuple(ENGLISH_STOP_WORDS.split())
    word_pattern: str = r"(?u)\b\w\w+\b"

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in its order, repeated ones included; empty when it has none."""
        stem = self._stem
        stop_words = self._stop_words
        return [stem(word) for word in self.words(text) if word not in stop_words]

    def words(self, text: str) -> list[str]:
        """Return the lower-case words of a text in its order, stop words included, not stemmed."""
        return self._split(text.lower())

    def term(self, word: str) -> str | None:
        """Return the term of one lower-case word; None for a stop word."""
        return None if word in self._stop_words else self._stem(word)

    def describe(self) -> dict[str, JsonValue]:
        """Return what an index records of its analyser, as plain JSON data."""
        return {
            "language": self.language,
            "stemmer": self.stemmer,
            "stop_words": list(self.stop_words),
            "word_pattern": self.word_pattern,
            "lower_case": True,
        }

    @cached_property
    def _split(self) -> Callable[[str], list[str]]:
        return re.compile(self.word_pattern).findall

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return frozenset(self.stop_words)

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        # PyStemmer has no type stubs.
        stem_word: Callable[[str], str] = import_module("Stemmer").Stemmer(self.language).stemWord
        lock = Lock()

        @lru_cache(maxsize=_DISTINCT_WORDS)
        def stem(word: str) -> str:
            with lock:  # a PyStemmer object must not be used by two threads at once
                return stem_word(word)

        return stem


DEFAULT_ANALYSER = Analyser()
"""The analyser of every index, and so of every query."""


def content_terms(text: str) -> list[str]:
    """Return the terms of a text as the default index sees them, in order, repeated ones included.

    The most recent texts are remembered: a step compares the same sentences with many queries. Single
    letters and digits are no terms.
    """
    return list(_remembered(text)) if len(text) <= _LONGEST_REMEMBERED else DEFAULT_ANALYSER.terms(text)


@lru_cache(maxsize=_DISTINCT_TEXTS)
def _remembered(text: str) -> tuple[str, ...]:
    return tuple(DEFAULT_ANALYSER.terms(text))
