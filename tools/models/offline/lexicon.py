"""The hand-written word lists of the offline model: word classes, relations, countries."""

from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=4)
def _rows(name: str) -> dict[str, tuple[str, ...]]:
    """Read `head: word word …` lines; `_` stands for a space inside a word."""
    text = files("hopgraph.tools.models.offline").joinpath(name).read_text(encoding="utf-8")
    lines = (line.partition(":") for line in text.splitlines() if line and not line.startswith("#"))
    return {head: tuple(word.replace("_", " ") for word in tail.split()) for head, _, tail in lines}


@lru_cache(maxsize=64)
def class_words(name: str) -> frozenset[str]:
    """Return the words of one class."""
    return frozenset(_rows("words.txt")[name])


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
