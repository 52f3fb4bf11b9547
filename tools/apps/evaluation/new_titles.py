"""What each name of a corpus is called after renaming: a map of words, and one of titles with common words."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, islice
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
    surnames: dict[Words, dict[str, str]] = field(default_factory=dict[Words, dict[str, str]])
    """Person → the surname that is a common word (`young`) with its new form."""


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
    maker = _NameMaker(vocabulary, seed)
    maker.rename_words(named)
    for each in named:
        maker.rename_title(each.words, each.kind)
    return maker.names


def _kind_of_word(title: _Title, place: int) -> NameKind:
    """Return the kind of a word of a name; in a person's, what follows `of` is a place, the last word a surname."""
    words, kind, facts = title
    if kind == "work" or (kind == "other" and len(words) > 3):
        return "surname"
    if kind in {"place", "group"} or (place and words[place - 1].casefold() == "of"):
        return "place"
    if len(words) > 1 and place == len(words) - 1:
        return "surname"
    he, she = facts.pronouns["he"], facts.pronouns["she"]
    return "male" if he > she else "female" if she > he else "given"


class _NameMaker:
    """Finds new words and titles, and records them; no new name is a word of the corpus or another new name."""

    def __init__(self, vocabulary: Vocabulary, seed: int) -> None:
        self.names, self.vocabulary = NameMap(seed), vocabulary
        self._taken = {casefold_words(words_of(title)) for title in vocabulary.titles}
        self._used: set[str] = set()
        self._surnames: dict[str, str] = {}

    def _coin(self, kind: NameKind, key: str) -> str:
        folds = ((each, each.casefold()) for each in candidate_names(kind, key, self.names.seed))
        new, fold = next((each, fold) for each, fold in folds if fold not in self.vocabulary and fold not in self._used)
        self._used.add(fold)
        return new

    def rename_words(self, named: Sequence[_Title]) -> None:
        """Give each name word of the titles a new one of the kind that it most often is."""
        votes: dict[str, Counter[NameKind]] = defaultdict(Counter)
        for each in named:
            if each.kind == "other" and len(each.words) == 1:
                continue  # a religion, a language, a thing
            for place, word in enumerate(each.words):
                if self.vocabulary.is_name_word(word) and not is_generic(word) and not is_function_word(word):
                    votes[word.casefold()][_kind_of_word(each, place)] += 1
        for word in sorted(votes):
            kind = max(sorted(votes[word]), key=lambda kind: votes[word][kind])
            self.names.words[word] = self._coin(kind, word)

    def rename_title(self, words: list[str], kind: TitleKind) -> None:
        """Find a title's new words, those for its common words too, and record them if any differs."""
        old = casefold_words(words)
        if old in self.names.titles:
            return
        common = self._common_words(words, kind)
        new = [self.names.words.get(word, written) for word, written in zip(old, words, strict=True)]
        for attempt in count():
            for place in common:
                new[place] = self._substitute(words, place, kind, attempt)
            if not common or casefold_words(new) not in self._taken:
                break
        if casefold_words(new) == old:
            return
        self._taken.add(casefold_words(new))
        self.names.titles[old] = tuple(new)
        if common:
            self.names.written[old] = tuple(words)
        if kind == "person" and len(words) - 1 in common and len(words) > 1:
            self.names.surnames[old] = {old[-1]: new[-1]}

    def _common_words(self, words: list[str], kind: TitleKind) -> list[int]:
        """Choose the places of the common words that are renamed."""
        free = [n for n, word in enumerate(words) if word.casefold() not in self.names.words and word.isalpha()]
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
            case _:  # United States: the first word has to do
                return chosen or (content[:1] if len(free) == len(words) else [])

    def _substitute(self, words: list[str], place: int, kind: TitleKind, attempt: int) -> str:
        key = f"{' '.join(words)}/{place}"
        if kind == "work":  # real words, which may occur elsewhere too
            return next(islice(candidate_names("title", f"{key}/{words[place]}", self.names.seed), attempt, None))
        word = words[place].casefold()
        if kind != "person" or place < len(words) - 1:
            return self._coin("given" if kind == "person" else "place", f"{key}/{attempt}")
        if word not in self._surnames:
            self._surnames[word] = self._coin("surname", word)
        return self._surnames[word]
