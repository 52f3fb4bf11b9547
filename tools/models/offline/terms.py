"""Content terms of a text and their weights, and the hand-written word lists: classes, relations, countries."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from math import log
from unicodedata import combining, normalize

from hopgraph.tools.text import content_terms

WORD = re.compile(r"[^\W_]+(?:[-'\u2019.&/][^\W_]+)*")
"""One word; the separators are outside the class of letters, so matching is linear."""


@lru_cache(maxsize=65_536)
def term(word: str) -> str:
    """Return the term that stands for a word: its relation's head or its stem; empty for a function word."""
    low = fold(word).removesuffix("'s")
    if in_class(low, "stop"):
        return ""
    return relations().get(low) or next(iter(content_terms(low)), low)


def terms(text: str) -> frozenset[str]:
    """Return the content terms of a text; the parts of hyphenated words count too."""
    words = WORD.findall(text)
    parts = (part for word in words if "-" in word for part in word.split("-"))
    return frozenset(found for word in (*words, *parts) if (found := term(word)))


@lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """Return a word in lower case without accents."""
    low = word.lower().replace("\u2019", "'")
    return low if low.isascii() else "".join(c for c in normalize("NFKD", low) if not combining(c))


def key(text: str) -> str:
    """Return a text as lower-case words with single spaces, for comparing names."""
    return " ".join(fold(word) for word in WORD.findall(text))


def weigh(question: str, texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """Weigh the question's terms: rare in the terms of the prompt's texts and in English counts more, names most.

    Returns:
        Positive weights by term that add up to 1, in the question's order; empty without content terms.
    """
    counts = Counter(found for text in texts for found in text)
    weights: dict[str, float] = {}
    for position, word in enumerate(WORD.findall(question)):
        if stem := term(word):
            general = 0.4 if in_class(word.lower(), "common") else 1.0
            name = 1.5 if position and word[0].isupper() else 1.0
            rare = log(1 + (len(texts) + 1) / (counts[stem] + 0.5))
            weights[stem] = max(weights.get(stem, 0.0), general * name * rare)
    total = sum(weights.values())
    return {stem: weight / total for stem, weight in weights.items()}


@lru_cache(maxsize=4)
def _rows(name: str) -> dict[str, tuple[str, ...]]:
    """Read `head: word word …` lines; `_` stands for a space inside a word."""
    text = files("hopgraph.tools.models.offline").joinpath(name).read_text(encoding="utf-8")
    lines = (line.partition(":") for line in text.splitlines() if line and not line.startswith("#"))
    return {head: tuple(word.replace("_", " ") for word in tail.split()) for head, _, tail in lines}


@lru_cache(maxsize=64)
def class_words(*names: str) -> frozenset[str]:
    """Return the words of some classes."""
    return frozenset(word for name in names for word in _rows("words.txt")[name])


def in_class(word: str, *names: str) -> bool:
    """Whether a lower-case word, or its plain singular, is in one of the named classes."""
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    return any(not forms.isdisjoint(class_words(name)) for name in names)


@lru_cache(maxsize=1)
def relations() -> dict[str, str]:
    """Map each lower-case word that names a relation to the word that stands for its group."""
    return {word: head for head, words in reversed(_rows("relations.txt").items()) for word in (head, *words)}


@lru_cache(maxsize=1)
def countries() -> dict[str, str]:
    """Map each lower-case country name, demonym and well-known part to the country."""
    rows = _rows("countries.txt").items()
    return {word.lower(): head for head, words in rows for word in (head, *words) if word != "|"}


@lru_cache(maxsize=1)
def country_parts() -> frozenset[str]:
    """Return the lower-case parts of countries, such as states and provinces."""
    rows = (words[words.index("|") + 1 :] for words in _rows("countries.txt").values() if "|" in words)
    return frozenset(word.lower() for words in rows for word in words)
