"""Content terms of a text and their weights."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from math import log
from unicodedata import combining, normalize

from hopgraph.tools.models.offline.lexicon import class_words, in_class, relations
from hopgraph.tools.text import content_terms

WORD = re.compile(r"[^\W_]+(?:[-'\u2019.&/][^\W_]+)*")
"""One word; the separators are outside the class of letters, so matching is linear."""
_COMMON_WEIGHT = 0.4


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


@lru_cache(maxsize=1)
def _common_terms() -> frozenset[str]:
    return frozenset(term(word) for word in class_words("common"))


def weigh(question: str, texts: Iterable[frozenset[str]]) -> dict[str, float]:
    """Weigh the question's terms: rare in the prompt's texts and in English counts more, names most.

    Args:
        question: The question.
        texts: The terms of each statement or sentence in the prompt.

    Returns:
        Positive weights by term that add up to 1, in the question's order; empty without content terms.
    """
    counts: Counter[str] = Counter()
    size = 0
    for found in texts:
        counts.update(found)
        size += 1
    weights: dict[str, float] = {}
    for position, word in enumerate(WORD.findall(question)):
        if stem := term(word):
            general = _COMMON_WEIGHT if stem in _common_terms() else 1.0
            name = 1.5 if position and word[0].isupper() else 1.0
            rare = log(1 + (size + 1) / (counts[stem] + 0.5))
            weights[stem] = max(weights.get(stem, 0.0), general * name * rare)
    total = sum(weights.values())
    return {stem: weight / total for stem, weight in weights.items()}
