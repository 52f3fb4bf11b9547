"""The hand-written word lists of the offline model: word classes, relations, countries."""

from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=8)
def _lines(name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Read `head: word word …` lines; `_` stands for a space inside a word."""
    text = files("hopgraph.tools.models.offline").joinpath(name).read_text(encoding="utf-8")
    rows = (line.partition(":") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple((head, tuple(word.replace("_", " ") for word in tail.split())) for head, _, tail in rows)


@lru_cache(maxsize=1)
def _classes() -> dict[str, frozenset[str]]:
    return {head: frozenset(words) for head, words in _lines("words.txt")}


def in_class(word: str, *names: str) -> bool:
    """Say whether a lower-case word, or its plain singular, is in one of the named classes."""
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    return any(not forms.isdisjoint(_classes()[name]) for name in names)


def class_words(name: str) -> frozenset[str]:
    """Return the words of one class."""
    return _classes()[name]


@lru_cache(maxsize=1)
def relations() -> dict[str, str]:
    """Map each lower-case word that names a relation to the word that stands for its group."""
    return {word: head for head, words in reversed(_lines("relations.txt")) for word in (head, *words)}


@lru_cache(maxsize=1)
def countries() -> dict[str, str]:
    """Map each lower-case country name, demonym and well-known part to the country."""
    rows = _lines("countries.txt")
    return {word.lower(): head for head, words in rows for word in (head, *words) if word != "|"}


@lru_cache(maxsize=1)
def country_parts() -> frozenset[str]:
    """Return the lower-case parts of countries, such as states and provinces."""
    rows = (words for _, words in _lines("countries.txt") if "|" in words)
    return frozenset(word.lower() for words in rows for word in words[words.index("|") + 1 :])
