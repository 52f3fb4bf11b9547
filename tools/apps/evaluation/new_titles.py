"""What each name of a corpus is called after renaming: a map of words, and one of titles with common words."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from hopgraph.tools.apps.evaluation.named_titles import (
    TitleFacts,
    TitleKind,
    Vocabulary,
    is_function_word,
    is_generic,
    is_ordinal,
    is_written_as_a_name,
    words_of,
)
from hopgraph.tools.apps.evaluation.new_names import NameKind, candidate_names

Words = tuple[str, ...]
"""Case-folded words."""


class _Title(NamedTuple):
    words: list[str]
    kind: TitleKind
    facts: TitleFacts


@dataclass
class NameMap:
    """Old words and titles to new ones; no two of them get the same."""

    seed: int
    words: dict[str, str] = field(default_factory=dict[str, str])
    """Case-folded name word → new word; holds wherever the word is written with a capital."""
    titles: dict[Words, Words] = field(default_factory=dict[Words, Words])
    """The words of each renamed title, without its aside → as many new ones."""
    written: dict[Words, Words] = field(default_factory=dict[Words, Words])
    """Those of them that the map of words does not make, as they are written in the title."""
    surnames: dict[Words, tuple[str, str]] = field(default_factory=dict[Words, tuple[str, str]])
    """Person → the surname that is a common word (`young`), and its new form."""


def casefold_words(words: Sequence[str]) -> Words:
    """Fold the case of words."""
    return tuple(word.casefold() for word in words)


def build_name_map(vocabulary: Vocabulary, seed: int) -> NameMap:
    """Rename the titles of a corpus that are names of people, places, works and groups.

    A word that is always written with a capital gets one new word in all places, so that a surname alone, a
    family and a place within other names stay consistent. Common words (`Dark` in a film's title) are renamed
    within that title alone. Titles of another kind keep their common words; titles that are no names are left.
    """
    named = [
        _Title(words, vocabulary.kind_of(title), vocabulary.titles[title])
        for title in sorted(vocabulary.titles)
        if is_written_as_a_name(words := words_of(title)) and not title.startswith(("List of", "Outline of"))
    ]
    names = NameMap(seed)
    _rename_words(names, named, vocabulary)
    taken = {casefold_words(words_of(title)) for title in vocabulary.titles}
    common = _CommonWords(names, vocabulary, taken)
    for each in named:
        common.rename(each.words, each.kind)
    return names


def _rename_words(names: NameMap, named: Sequence[_Title], vocabulary: Vocabulary) -> None:
    """Give each name word of the titles a new one of the kind that it most often is."""
    votes: dict[str, Counter[NameKind]] = defaultdict(Counter)
    for each in named:
        if each.kind == "other" and len(each.words) == 1:
            continue  # a religion, a language, a thing
        for place, word in enumerate(each.words):
            if vocabulary.is_name_word(word) and not is_generic(word) and not is_function_word(word):
                votes[word.casefold()][_kind_of_word(each, place)] += 1
    used: set[str] = set()
    for word in sorted(votes):
        kind = max(sorted(votes[word]), key=lambda kind: votes[word][kind])
        new = _unused(kind, word, names.seed, vocabulary, used)
        used.add(new.casefold())
        names.words[word] = new


def _unused(kind: NameKind, key: str, seed: int, vocabulary: Vocabulary, used: set[str]) -> str:
    """Return the first candidate that is no word of the corpus and no other new name; candidates never end."""
    folds = ((each, each.casefold()) for each in candidate_names(kind, key, seed))
    return next(each for each, fold in folds if fold not in vocabulary and fold not in used)


def _kind_of_word(title: _Title, place: int) -> NameKind:
    """Return the kind of a word of a name; in a person's, what follows `of` is a place, the last word a surname."""
    words, kind, facts = title
    if kind == "work" or (kind == "other" and len(words) > 3):
        return "surname"
    if kind in {"place", "group"} or (place and words[place - 1].casefold() == "of"):
        return "place"
    if len(words) > 1 and place == len(words) - 1:
        return "surname"
    return "male" if facts.he > facts.she else "female" if facts.she > facts.he else "given"


class _CommonWords:
    """Renames the common words of titles, each within its title."""

    def __init__(self, names: NameMap, vocabulary: Vocabulary, taken: set[Words]) -> None:
        self.names, self.vocabulary, self.taken = names, vocabulary, taken
        self._surnames: dict[str, str] = {}
        self._used = {word.casefold() for word in names.words.values()}

    def rename(self, words: list[str], kind: TitleKind) -> None:
        """Find a title's new words, and record them if any differs."""
        old = casefold_words(words)
        if old in self.names.titles:
            return
        common = self._to_rename(words, kind)
        start = [self.names.words.get(word, written) for word, written in zip(old, words, strict=True)]
        attempt = 0
        while True:
            new = [
                self._substitute(words, place, kind, attempt) if place in common else word
                for place, word in enumerate(start)
            ]
            if not common or casefold_words(new) not in self.taken:
                break
            attempt += 1
        if casefold_words(new) == old:
            return
        self.taken.add(casefold_words(new))
        self.names.titles[old] = tuple(new)
        if common:
            self.names.written[old] = tuple(words)
            last = len(words) - 1
            if kind == "person" and last in common and last:
                self.names.surnames[old] = (old[last], new[last])

    def _to_rename(self, words: list[str], kind: TitleKind) -> set[int]:
        """Choose the places of the common words that are renamed."""
        free = [n for n, word in enumerate(words) if word.casefold() not in self.names.words and word.isalpha()]
        content = [n for n in free if not is_function_word(words[n]) and not is_ordinal(words[n])]
        if kind == "other" or (kind == "work" and not content):
            return set()
        if kind == "work":
            return set(content)
        chosen = {n for n in content if not is_generic(words[n])}
        if kind == "person":
            single = {n for n in content if len(words[n]) == 1}
            last = {n for n in content if n == len(words) - 1 and n}  # Stephen King, but King Charles
            return (chosen | last) - single
        if not chosen and len(free) == len(words):
            return set(content[:1])  # United States: the first word has to do
        return chosen

    def _substitute(self, words: list[str], place: int, kind: TitleKind, attempt: int) -> str:
        word = words[place].casefold()
        if kind == "work":
            return self._nth("title", f"{' '.join(words)}/{place}/{words[place]}", attempt)
        if kind == "person" and place == len(words) - 1:
            if word not in self._surnames:
                self._surnames[word] = self._coined("surname", word)
            return self._surnames[word]
        return self._coined("given" if kind == "person" else "place", f"{' '.join(words)}/{place}/{attempt}")

    def _nth(self, kind: NameKind, key: str, attempt: int) -> str:
        """Return the candidate of this number; title words are real words, which may occur elsewhere too."""
        return next(islice(candidate_names(kind, key, self.names.seed), attempt, None))

    def _coined(self, kind: NameKind, key: str) -> str:
        """Return the first candidate that is no word of the corpus and no other new name."""
        new = _unused(kind, key, self.names.seed, self.vocabulary, self._used)
        self._used.add(new.casefold())
        return new
