"""Which titles of a corpus are names of people, places, works or groups, and what each of their words is."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from hopgraph.tools.models.offline.terms import countries, country_parts, in_class
from hopgraph.tools.retrieval.corpora import SourceRecord
from hopgraph.tools.text.common_words import COMMON_WORDS, FUNCTION_WORDS

TitleKind = Literal["person", "place", "work", "group", "other"]

WORD = re.compile(r"[^\W_]+")
SENTENCE_END = re.compile(r"[.!?:;\"“”\n]|^\s*$")


def words_of(text: str) -> list[str]:
    """Split a text into its words and numbers."""
    return WORD.findall(text)


_ASIDE = re.compile(r"(?<!\s)\s*\([^()]*\)\s*$")
_LEAD = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of)\s+(?P<what>[^.;]{1,160})")
_LEAD_ENDS = re.compile(r"\b(?:by|that|which|who|whose|in|from|for|to|on|at|with|directed|written|located|set|of)\b|,")
_BORN = re.compile(r"\((?:[^()]*\b)?(?:born|b\.|\d{4}\s*[-\u2013\u2014]\s*(?:\d|\w+ \d|\d+ \w+ \d))")
_ROMAN = re.compile(r"[ivxlc]+")
_LEAD_LENGTH = 400
_FEWER = 0.05
"""A word is a name when at most this share of its occurrences is in lower case."""
_NO_NAMES = frozenset(
    words_of(
        "monday tuesday wednesday thursday friday saturday sunday january february march april may june july "
        "august september october november december christmas easter latin arabic hindi hebrew urdu tamil "
        "telugu bengali punjabi malayalam kannada marathi jewish christian catholic protestant orthodox "
        "anglican muslim islamic islam hindu buddhist sikh roman european asian african celtic persian "
        "victorian saint st mount mt fort god jr sr dr republican democrat democratic communist socialist "
        "internet english"
    )
)
_GENERIC = ("place", "place_name", "group", "organisation", "person", "date", "month", "number", "digit", "ordinal")
_FUNCTION = frozenset({*FUNCTION_WORDS.split(), "s", "t", "ll", "re", "ve", "d", "m", "n"})
"""With what stands behind an apostrophe."""
_COMMON = frozenset(COMMON_WORDS.split())
_IN = frozenset({"in", "near", "from", "at", "to"})
_PLACE_SHARE = 0.15
"""A title of one word, whose kind no passage states, is a place when it follows `in` or `near` this often."""
_KIND_WORDS: dict[TitleKind, str] = {
    "person": "actor cyclist wrestler weightlifter cricketer rower swimmer boxer skier golfer rapper "
    "baronet nobleman diplomat officer general admiral soldier activist economist",
    "place": "commune comune hamlet locality community waterfall archipelago oblast rayon township "
    "cemetery neighbourhood reservoir glacier canal monastery abbey cathedral",
    "work": "ep sitcom miniseries musical ballet symphony sculpture franchise serial remake",
    "group": "chain retailer manufacturer airline brewery firm conglomerate subsidiary business "
    "orchestra choir regiment charity duo trio quartet supermarket broadcaster",
}
"""Words beyond those of the lexicon."""
_KIND_OF_WORD: dict[str, TitleKind] = {word: kind for kind, words in _KIND_WORDS.items() for word in words.split()}
_CLASSES: dict[str, TitleKind] = {
    "person": "person",
    "work": "work",
    "place": "place",
    "place_name": "place",
    "group": "group",
}
"""Classes of the lexicon with their kinds, in the order in which they are tried."""


def base_of(title: str) -> str:
    """Return a title without its aside: `Heat (1995 film)` is `Heat`; a title that is all aside stays."""
    return _ASIDE.sub("", title) or title


class Vocabulary:
    """The words of a corpus, and its titles without asides; not its texts."""

    def __init__(self, records: Iterable[SourceRecord]) -> None:
        """Read the corpus once."""
        self.lower: Counter[str] = Counter()
        """Occurrences that begin with a small letter, by case-folded word; of other words 0."""
        self.capital: Counter[str] = Counter()
        self.after_in: Counter[str] = Counter()
        """Occurrences with a capital after `in` and the like."""
        self.titles: dict[str, Counter[TitleKind]] = {}
        """What the passages under each title say that it is, in the order of the corpus."""
        for record in records:
            self._add(record.title, record.text)

    def _add(self, title: str, text: str) -> None:
        before = ""
        for word in words_of(f"{title} {text}"):
            folded = word.casefold()
            (self.lower if word[0].islower() else self.capital)[folded] += 1
            if before in _IN and not word[0].islower():
                self.after_in[folded] += 1
            before = word
        if title.strip():
            kinds = self.titles.setdefault(base_of(title), Counter())
            if kind := _kind_of(title, text):
                kinds[kind] += 1

    def kind_of(self, title: str) -> TitleKind:
        """Return the kind of a title without its aside, by its passages, else by how texts use it."""
        if kinds := self.titles[title]:
            return kinds.most_common(1)[0][0]
        first, *more = map(str.casefold, words_of(title))
        is_place = first in countries() or self.after_in[first] > _PLACE_SHARE * self.capital[first] + 1
        return "place" if is_place and not more else "other"

    def __contains__(self, word: str) -> bool:
        """Whether a case-folded word occurs."""
        return word in self.capital or word in self.lower

    def is_name_word(self, word: str) -> bool:
        """Whether a word is written with a capital nearly always, and is no number, title or demonym."""
        folded = word.casefold()
        if len(folded) < 3 or not folded.isalpha() or (word.isupper() and len(word) <= 5) or _ROMAN.fullmatch(folded):
            return False
        if folded in _NO_NAMES or folded in _COMMON or folded in _FUNCTION or is_demonym(folded):
            return False
        return self.lower[folded] <= _FEWER * self.capital[folded]


def is_demonym(folded: str) -> bool:
    """Whether a word names people of a country, or its language."""
    country = countries().get(folded)
    if country is not None:
        return folded != country.lower() and folded not in country_parts()
    return len(folded) > 6 and folded.endswith(("ian", "ese", "ish"))


def is_function_word(word: str) -> bool:
    """Whether a word has no content, as `of` or `von`, or is a number."""
    folded = word.casefold()
    return folded in _FUNCTION or in_class(folded, "inner") or not folded.isalpha()


def is_generic(word: str) -> bool:
    """Whether a word names a kind of thing, as `Lake`, `University` and `North` do."""
    folded = word.casefold()
    return folded in _COMMON or folded in _NO_NAMES or is_demonym(folded) or in_class(folded, *_GENERIC)


def is_ordinal(word: str) -> bool:
    """Whether a word counts, as in `Charles III` and `Second`."""
    folded = word.casefold()
    return bool(_ROMAN.fullmatch(folded)) or in_class(folded, "ordinal", "digit")


def is_written_as_a_name(words: list[str]) -> bool:
    """Whether all words with content begin with a capital, and there is one."""
    content = [word for word in words if not is_function_word(word)]
    return bool(content) and all(not word[0].islower() for word in content)


def _kind_of(title: str, text: str) -> TitleKind | None:
    if (aside := _ASIDE.search(title)) and (kind := _last_kind(aside[0])):
        return kind
    start = text[:_LEAD_LENGTH]
    if _BORN.search(start[:200]):
        return "person"
    lead = _LEAD.search(start)
    if not lead:
        return None
    first, *rest = _LEAD_ENDS.split(lead["what"], maxsplit=1)
    return _last_kind(first) or (_last_kind(rest[0].split(",")[0]) if rest and not first.strip() else None)


def _last_kind(phrase: str) -> TitleKind | None:
    """Return the kind of the last word that has one: a film director is a person."""
    found: TitleKind | None = None
    for word in words_of(phrase.casefold()):
        in_lexicon: list[TitleKind] = [kind for name, kind in _CLASSES.items() if in_class(word, name)]
        found = _KIND_OF_WORD.get(word) or (in_lexicon[0] if in_lexicon else found)
    return found
