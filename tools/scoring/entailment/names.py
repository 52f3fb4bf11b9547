"""Names of a text: what counts as one, and when another text has it under another form."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from hopgraph.tools.scoring.entailment.values import MONTHS
from hopgraph.tools.text import DEFAULT_ANALYSER
from hopgraph.tools.text.common_words import FUNCTION_WORDS

_WORD = re.compile(r"[^\W_]+(?:['\u2019.&-][^\W_]+)*")
_PARTS = re.compile(r"['\u2019&-]")
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NO_NAMES = frozenset([*FUNCTION_WORDS.split(), *MONTHS, *_DAYS.split()])
_ROMAN = frozenset("IVX")
_LINKS = frozenset({"of", "the", "and", "for", "de", "la"})
"""Small words inside a name, left out of its initials."""

_PEOPLE = ("egian", "uese", "ian", "ean", "ese", "ish", "an", "i")
_PLACES = ("land", "way", "ain", "and", "ia", "al", "as", "en", "ay", "a", "e", "o", "y", "")
"""Endings of a people and of its place: Ital-ian and Ital-y, Swed-ish and Swed-en."""
_IRREGULAR = {
    "danish": "denmark",
    "dutch": "netherlands",
    "finnish": "finland",
    "french": "france",
    "german": "germany",
    "greek": "greece",
    "irish": "ireland",
    "scottish": "scotland",
    "spanish": "spain",
    "swiss": "switzerland",
    "thai": "thailand",
    "turkish": "turkey",
    "welsh": "wales",
}
_SHORTEST_ROOT = 3


@dataclass(frozen=True, slots=True)
class Names:
    """What a text offers to match names against."""

    words: frozenset[str]
    """All its words, folded; the parts of those with a hyphen or an apostrophe too."""
    peoples: frozenset[str]
    places: frozenset[str]
    """Roots of its capitalised words, taken as a people's and as a place's name."""
    acronyms: frozenset[str]
    """Its words of capitals alone, Roman numerals apart."""
    initials: frozenset[str]
    """Those of its runs of capitalised words."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, with the hyphens, apostrophes and periods inside them."""
    return _WORD.findall(text)


def fold(word: str) -> str:
    """Take away case, accents, periods and a possessive ending."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return re.sub(r"['\u2019]s?$", "", plain.casefold().replace(".", ""))


def read_names(words: Sequence[str]) -> Names:
    """Read what a text offers, from its words."""
    folded = {fold(word) for word in words}
    capitalised = {fold(word) for word in words if word[0].isupper()}
    capitals = {word.replace(".", "") for word in words if word.isupper()}
    return Names(
        words=frozenset(folded.union(*(_PARTS.split(word) for word in folded))),
        peoples=frozenset(root for word in capitalised for root in _roots(word, _PEOPLE)),
        places=frozenset(root for word in capitalised for root in _roots(word, _PLACES)),
        acronyms=frozenset(word for word in capitals if len(word) > 1 and not _ROMAN.issuperset(word)),
        initials=frozenset(_initials(run) for run in _runs(words)),
    )


def missing_names(sentence: Sequence[str], names: Names, terms: frozenset[str]) -> list[str]:
    """List the names of a sentence, given by its words, that a text lacks.

    A name is a capitalised word of two letters or more. The first word of a sentence is none, since it is
    capitalised anyway. A text has a name if it has the word, its stem, the people for the place or the
    place for the people, or an acronym for the run of names or the run for the acronym.
    """
    spelt_out = {word for run in _runs(sentence) for word in _spelt_out(run, names.acronyms)}
    return [word for word in sentence[1:] if _is_name(word) and word not in spelt_out and not _has(word, names, terms)]


def _is_name(word: str) -> bool:
    return word[0].isupper() and len(fold(word)) > 1 and word.casefold() not in _NO_NAMES


def _has(name: str, names: Names, terms: frozenset[str]) -> bool:
    word = fold(name)
    parts = [part for part in _PARTS.split(word) if part]
    return (
        word in names.words
        or all(part in names.words or DEFAULT_ANALYSER.term(part) in terms for part in parts)
        or not names.places.isdisjoint(_roots(word, _PEOPLE))
        or not names.peoples.isdisjoint(_roots(word, _PLACES))
        or (name.isupper() and any(name.replace(".", "") in initials for initials in names.initials))
    )


def _roots(word: str, endings: tuple[str, ...]) -> Iterator[str]:
    if endings is _PEOPLE and word in _IRREGULAR:
        yield _IRREGULAR[word]
    for ending in endings:
        root = word.removesuffix(ending)
        if len(root) >= _SHORTEST_ROOT and (root != word or not ending):
            yield root


def _runs(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the stretches of two and more capitalised words, without the small words inside them."""
    linked = [word for word in words if word not in _LINKS]
    for capitalised, run in groupby(linked, key=lambda word: word[0].isupper()):
        members = list(run)
        if capitalised and len(members) > 1:
            yield members


def _initials(run: list[str]) -> str:
    return "".join(word[0] for word in run)


def _spelt_out(run: list[str], acronyms: frozenset[str]) -> Iterator[str]:
    """Yield the words of a run for which the other text has an acronym."""
    initials = _initials(run)
    for acronym in acronyms:
        start = initials.find(acronym)
        if start >= 0:
            yield from run[start : start + len(acronym)]
