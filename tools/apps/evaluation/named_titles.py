"""Find the titles of a corpus that name people, places, works or groups, and choose a new name for each.

New names are composed by rule from parts written for this project, so no list of real names is needed.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import count
from typing import Any, Literal

import yaml

from hopgraph.tools.retrieval.corpora import SourceRecord
from hopgraph.tools.text.common_words import COMMON_WORDS, FUNCTION_WORDS

TitleKind = Literal["person", "place", "work", "group", "other"]
NameKind = Literal["given", "surname", "place"]
Words = tuple[str, ...]
"""Case-folded words."""

TITLE_WORD = re.compile(r"[^\W_]+")
"""A word or a number."""
_ASIDE = re.compile(r"(?<!\s)\s*\([^()]*\)\s*$")
_LEAD = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of)\s+(?P<what>[^.;]{1,160})")
_LEAD_ENDS = re.compile(r"\b(?:by|that|which|who|whose|in|from|for|to|on|at|with|directed|written|located|set|of)\b|,")
_BORN = re.compile(r"\((?:[^()]*\b)?(?:born|b\.|\d{4}\s*[-\u2013\u2014]\s*(?:\d|\w+ \d|\d+ \w+ \d))")
_ROMAN = re.compile(r"[ivxlc]+")
_LEAD_LENGTH = 400
_MAX_LOWER = 0.05  # largest share of lower-case occurrences for a word to be a name
_WORDS: Any = yaml.safe_load(files(__package__ or "").joinpath("renaming_words.yaml").read_text(encoding="utf-8"))
_NO_NAMES = frozenset(_WORDS["no_names"].split())
_COUNTRIES = frozenset(_WORDS["countries"].split())
_DEMONYMS = frozenset(_WORDS["demonyms"].split())
_CLASS_WORDS = {name: frozenset(words.split()) for name, words in _WORDS["classes"].items()}
_GENERIC = ("place", "place_name", "group", "organisation", "person", "date", "month", "number", "digit", "ordinal")
_FUNCTION = frozenset({*FUNCTION_WORDS.split(), "s", "t", "ll", "re", "ve", "d", "m", "n"})
"""Including the parts after an apostrophe."""
_COMMON = frozenset(COMMON_WORDS.split())
_IN = frozenset({"in", "near", "from", "at", "to"})
_PLACE_SHARE = 0.15
"""A one-word title whose kind no passage states is a place if this share of its occurrences follows `in` or `near`."""
_KIND_OF_WORD: dict[str, TitleKind] = {
    word: kind for kind, words in _WORDS["kind_words"].items() for word in words.split()
}
_PARTS: dict[NameKind, tuple[list[str], list[str]]] = {
    kind: (beginnings.split(), ends.split()) for kind, (beginnings, ends) in _WORDS["name_parts"].items()
}
_MIDDLES = ("a", "ar", "el", "en", "er", "il", "in", "or", "un")
_CLASSES: dict[str, TitleKind] = {
    "person": "person",
    "work": "work",
    "place": "place",
    "place_name": "place",
    "group": "group",
}
"""Word class → kind, in the order in which they are tried."""


def _in_class(word: str, *names: str) -> bool:
    """Return whether a lower-case word or its regular singular is in one of the classes."""
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    return any(not forms.isdisjoint(_CLASS_WORDS[name]) for name in names)


def base_of(title: str) -> str:
    """Return a title without its qualifier: `Heat` for `Heat (1995 film)`; a title that is only a qualifier stays."""
    return _ASIDE.sub("", title) or title


class Vocabulary:
    """The word counts of a corpus, and its titles without qualifiers."""

    def __init__(self, records: Iterable[SourceRecord]) -> None:
        self.lower: Counter[str] = Counter()
        """Case-folded word → occurrences that begin with a lower-case letter."""
        self.capital: Counter[str] = Counter()
        self.after_in: Counter[str] = Counter()
        """Capitalized occurrences after `in` and similar prepositions."""
        self.titles: dict[str, Counter[TitleKind]] = {}
        """Title → kinds that its passages state, in corpus order."""
        for record in records:
            self._add(record.title, record.text)

    def _add(self, title: str, text: str) -> None:
        before = ""
        for word in split_words(f"{title} {text}"):
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
        """Return the kind of a title without its qualifier, by its passages, else by its use in texts."""
        if kinds := self.titles[title]:
            return kinds.most_common(1)[0][0]
        first, *more = map(str.casefold, split_words(title))
        is_place = first in _COUNTRIES | _DEMONYMS or self.after_in[first] > _PLACE_SHARE * self.capital[first] + 1
        return "place" if is_place and not more else "other"

    def is_name_word(self, word: str) -> bool:
        """Return whether a word is nearly always capitalized, and is not a number, form of address or demonym."""
        folded = word.casefold()
        if len(folded) < 3 or not folded.isalpha() or (word.isupper() and len(word) <= 5) or _ROMAN.fullmatch(folded):
            return False
        if folded in _NO_NAMES or folded in _COMMON or folded in _FUNCTION or is_demonym(folded):
            return False
        return self.lower[folded] <= _MAX_LOWER * self.capital[folded]


def is_demonym(folded: str) -> bool:
    """Return whether a word names the people or language of a country."""
    if folded in _COUNTRIES:
        return False
    return folded in _DEMONYMS or (len(folded) > 6 and folded.endswith(("ian", "ese", "ish")))


def is_function_word(folded: str) -> bool:
    """Return whether a case-folded word has no content, e.g. `of` or `von`, or is a number."""
    return folded in _FUNCTION or _in_class(folded, "inner") or not folded.isalpha()


def is_generic(folded: str) -> bool:
    """Return whether a case-folded word is generic within a name, e.g. `Lake`, `University` or `North`."""
    return folded in _COMMON or folded in _NO_NAMES or is_demonym(folded) or _in_class(folded, *_GENERIC)


def is_ordinal(folded: str) -> bool:
    """Return whether a case-folded word is an ordinal, as in `Charles III` and `Second`."""
    return bool(_ROMAN.fullmatch(folded)) or _in_class(folded, "ordinal", "digit")


def is_written_as_a_name(words: list[str]) -> bool:
    """Return whether there are content words and all of them are capitalized."""
    content = [word for word in words if not is_function_word(word.casefold())]
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
    """Return the kind of the last word with a known kind: a film director is a person."""
    found: TitleKind | None = None
    for word in split_words(phrase.casefold()):
        in_lexicon: list[TitleKind] = [kind for name, kind in _CLASSES.items() if _in_class(word, name)]
        found = _KIND_OF_WORD.get(word) or (in_lexicon[0] if in_lexicon else found)
    return found


def split_words(text: str) -> list[str]:
    """Split a text into its words and numbers."""
    return TITLE_WORD.findall(text)


def casefold_words(words: Sequence[str]) -> Words:
    """Return the words case-folded."""
    return tuple(word.casefold() for word in words)


def _kind_of_word(words: list[str], kind: TitleKind, place: int) -> NameKind:
    """Return the kind of a word in a name; in a person's, a place after `of`, and the last word is the surname."""
    if kind == "work" or (kind == "other" and len(words) > 3):
        return "surname"
    if kind in {"place", "group"} or (place and words[place - 1].casefold() == "of"):
        return "place"
    return "surname" if len(words) > 1 and place == len(words) - 1 else "given"


class NameMap:
    """A map from old words and titles of a corpus to new ones; no new name occurs in the corpus or twice in the map.

    A word that is always capitalized is renamed the same way everywhere, so that surnames, families and places within
    other names stay consistent. Common words (`Dark` in a film's title) are renamed only within that title, and only
    if it names a person, place, work or group. Other titles stay.
    """

    def __init__(self, vocabulary: Vocabulary, seed: int) -> None:
        self.seed, self._vocabulary = seed, vocabulary
        self.words: dict[str, str] = {}
        """Case-folded name word → new word, wherever it is capitalized."""
        self.titles: dict[Words, Words] = {}
        """Words of a renamed title without its qualifier → as many new words."""
        self.written: dict[Words, Words] = {}
        """Renamed titles with common words → their words as written in the title."""
        self.surnames: dict[Words, dict[str, str]] = {}
        """Person → a surname that is a common word (`young`) → its new form."""
        self._used = {*vocabulary.lower, *vocabulary.capital}
        self._new_surnames: dict[str, str] = {}
        named: list[tuple[list[str], TitleKind]] = [
            (words, vocabulary.kind_of(title))
            for title in sorted(vocabulary.titles)
            if is_written_as_a_name(words := split_words(title)) and not title.startswith(("List of", "Outline of"))
        ]
        self._rename_words(named)
        for words, kind in named:
            self._rename_title(words, kind)

    def _coin(self, kind: NameKind, key: str) -> str:
        new = next(each for each in candidate_names(kind, key, self.seed) if each.casefold() not in self._used)
        self._used.add(new.casefold())
        return new

    def _rename_words(self, named: Sequence[tuple[list[str], TitleKind]]) -> None:
        """Coin a new word for each name word of the titles, of its most frequent kind."""
        votes: dict[str, Counter[NameKind]] = defaultdict(Counter)
        for words, kind in named:
            if kind == "other" and len(words) == 1:
                continue  # a religion, a language, a thing
            for place, word in enumerate(words):
                folded = word.casefold()
                if self._vocabulary.is_name_word(word) and not is_generic(folded) and not is_function_word(folded):
                    votes[folded][_kind_of_word(words, kind, place)] += 1
        for word in sorted(votes):
            self.words[word] = self._coin(max(sorted(votes[word]), key=votes[word].__getitem__), word)

    def _rename_title(self, words: list[str], kind: TitleKind) -> None:
        """Record a title's new words, including those for its common words, if any word changes."""
        old = casefold_words(words)
        if old in self.titles:
            return
        common = self._common_words(old, kind)
        new = [self.words.get(word, written) for word, written in zip(old, words, strict=True)]
        for place in common:
            new[place] = self._substitute(words, place, kind)
        if casefold_words(new) == old:
            return
        self.titles[old] = tuple(new)
        if common:
            self.written[old] = tuple(words)
        if kind == "person" and len(words) - 1 in common and len(words) > 1:
            self.surnames[old] = {old[-1]: new[-1]}

    def _common_words(self, words: Words, kind: TitleKind) -> list[int]:
        """Return the positions of the common words to rename."""
        free = [n for n, word in enumerate(words) if word not in self.words and word.isalpha()]
        content = [n for n in free if not is_function_word(words[n]) and not is_ordinal(words[n])]
        chosen = [n for n in content if not is_generic(words[n])]
        match kind:
            case "other":
                return []
            case "work":
                return content
            case "person":  # Stephen King, but King Charles
                last = len(words) - 1
                return [n for n in content if (n in chosen or n == last > 0) and len(words[n]) > 1]
            case _:  # United States: only the first word
                return chosen or (content[:1] if len(free) == len(words) else [])

    def _substitute(self, words: list[str], place: int, kind: TitleKind) -> str:
        word, is_person = words[place].casefold(), kind == "person"
        if not is_person or place < len(words) - 1:
            coined: NameKind = "surname" if kind == "work" else "given" if is_person else "place"
            return self._coin(coined, f"{' '.join(words)}/{place}")
        if word not in self._new_surnames:
            self._new_surnames[word] = self._coin("surname", word)
        return self._new_surnames[word]


def candidate_names(kind: NameKind, old: str, seed: int) -> Iterator[str]:
    """Yield an endless, deterministic sequence of new words for an old one: plausible ones first, then longer ones."""
    beginnings, ends = _PARTS[kind]
    for number in count():
        draw = int.from_bytes(hashlib.blake2b(f"{seed}:{kind}:{old}:{number}".encode(), digest_size=8).digest())
        draw, first = divmod(draw, len(beginnings))
        draw, last = divmod(draw, len(ends))
        middle = ""
        for _ in range(number // 12):  # once nearly all short ones are taken
            draw, part = divmod(draw, len(_MIDDLES))
            middle += _MIDDLES[part]
        yield re.sub(r"(.)\1\1+", r"\1\1", beginnings[first] + middle + ends[last])  # no three equal letters
