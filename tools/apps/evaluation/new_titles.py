"""What each name of a corpus is called after renaming: a map of words, and one of titles with common words.

New names are composed by rule from syllables written for this project, so that no list of real names is needed.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Literal, NamedTuple

from hopgraph.tools.apps.evaluation.named_titles import (
    TitleKind,
    Vocabulary,
    is_function_word,
    is_generic,
    is_ordinal,
    is_written_as_a_name,
    words_of,
)

Words = tuple[str, ...]
"""Case-folded words."""
NameKind = Literal["given", "surname", "place"]

_SYLLABLES: dict[NameKind, tuple[str, str]] = {
    "given": (
        "Al Am Ar Bel Bram Bri Cal Cor Dar Del El Em Fen Fin Gal Gwen Hal Hel Il Jel Jor Kar Kel Lar Lin Mar Mel Nor "
        "Or Pel Quin Ral Ros Sal Ser Tal Ther Val Ver Wil Yor Zan",
        "an ard aris avie bert den dric elise ell emar en eric ett ian ibeth ida iel ilde in ion issa lan mond nard "
        "ola on ora ric ton vin win wyn",
    ),
    "surname": (
        "Ack Ald Ash Bar Bel Birch Black Brack Bram Cald Car Chal Clay Col Crick Dal Den Dray Dun Elm Fal Far Fen "
        "Fern Gar Glen Gran Hales Har Hawk Hazel Hol Hux Ing Kel Ken Kirk Lam Lang Lath Lin Lock Mal Mar Mer Mil Nor "
        "Oak Or Pem Pen Quar Rad Red Roth Row Sel Shel Stan Sut Tam Thorn Tre Up Vin Wad War Wex Whit Win Wool Yar",
        "ber bourne brook by combe cott cross den don ell er ers fell field ford gate ham hurst ing kin land ley low "
        "man mere more ning rick ridge row sby shaw side stead ston ter ton vale ward way well wick wood worth",
    ),
    "place": (
        "Ab Ald Ar Bal Bel Ber Bor Bran Cal Car Cor Cres Dal Dor Dras El Es Fal Fen Gal Gor Hal Hol Il Is Jar Kal "
        "Kel Kor Lor Lun Mal Mar Mol Mor Nar Nor Ol Or Ost Pel Por Quel Ral Ros Sal Sel Tal Tol Tor Ul Val Vel Ver "
        "Vor Wes Yar Zel",
        "adan aden adia aga agne ak alen amar ana and anth ara ard aria avia bury by den dor ea eld en enia eport "
        "era esk eth ford gard grad ham haven holm ia ica ille ina ira is land lin mar mere mont mouth nia oria orn "
        "ova port stad stow ton una ur vale via vik ville wick",
    ),
}
"""Beginnings and ends of names, by kind."""
_PARTS = {kind: (words_of(beginnings), words_of(ends)) for kind, (beginnings, ends) in _SYLLABLES.items()}
_MIDDLES = ("a", "ar", "el", "en", "er", "il", "in", "or", "un")


class _Title(NamedTuple):
    words: list[str]
    kind: TitleKind


def casefold_words(words: Sequence[str]) -> Words:
    """Fold the case of words."""
    return tuple(word.casefold() for word in words)


def _kind_of_word(title: _Title, place: int) -> NameKind:
    """Return the kind of a word of a name; in a person's, what follows `of` is a place, the last word a surname."""
    words, kind = title
    if kind == "work" or (kind == "other" and len(words) > 3):
        return "surname"
    if kind in {"place", "group"} or (place and words[place - 1].casefold() == "of"):
        return "place"
    return "surname" if len(words) > 1 and place == len(words) - 1 else "given"


class NameMap:
    """Old words and titles of a corpus to new ones; no new name is a word of the corpus or another new name.

    Renamed are titles that are names of people, places, works and groups. A word that is always written with a capital
    gets one new word in all places, so that a surname alone, a family and a place within other names stay consistent.
    Common words (`Dark` in a film's title) are renamed within that title alone. Titles of another kind keep their
    common words; titles that are no names are left.
    """

    def __init__(self, vocabulary: Vocabulary, seed: int) -> None:
        self.seed, self._vocabulary = seed, vocabulary
        self.words: dict[str, str] = {}
        """Case-folded name word → new word; holds wherever the word is written with a capital."""
        self.titles: dict[Words, Words] = {}
        """The words of each renamed title, without its aside → as many new ones."""
        self.written: dict[Words, Words] = {}
        """Those of them that the map of words does not make, as they are written in the title."""
        self.surnames: dict[Words, dict[str, str]] = {}
        """Person → the surname that is a common word (`young`) with its new form."""
        self._used: set[str] = set()
        self._new_surnames: dict[str, str] = {}
        named = [
            _Title(words, vocabulary.kind_of(title))
            for title in sorted(vocabulary.titles)
            if is_written_as_a_name(words := words_of(title)) and not title.startswith(("List of", "Outline of"))
        ]
        self._rename_words(named)
        for each in named:
            self._rename_title(each.words, each.kind)

    def _coin(self, kind: NameKind, key: str) -> str:
        folds = ((each, each.casefold()) for each in candidate_names(kind, key, self.seed))
        new, fold = next(
            (each, fold) for each, fold in folds if fold not in self._vocabulary and fold not in self._used
        )
        self._used.add(fold)
        return new

    def _rename_words(self, named: Sequence[_Title]) -> None:
        """Give each name word of the titles a new one of the kind that it most often is."""
        votes: dict[str, Counter[NameKind]] = defaultdict(Counter)
        for each in named:
            if each.kind == "other" and len(each.words) == 1:
                continue  # a religion, a language, a thing
            for place, word in enumerate(each.words):
                if self._vocabulary.is_name_word(word) and not is_generic(word) and not is_function_word(word):
                    votes[word.casefold()][_kind_of_word(each, place)] += 1
        for word in sorted(votes):
            kind = max(sorted(votes[word]), key=lambda kind: votes[word][kind])
            self.words[word] = self._coin(kind, word)

    def _rename_title(self, words: list[str], kind: TitleKind) -> None:
        """Find a title's new words, those for its common words too, and record them if any differs."""
        old = casefold_words(words)
        if old in self.titles:
            return
        common = self._common_words(words, kind)
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

    def _common_words(self, words: list[str], kind: TitleKind) -> list[int]:
        """Choose the places of the common words that are renamed."""
        free = [n for n, word in enumerate(words) if word.casefold() not in self.words and word.isalpha()]
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

    def _substitute(self, words: list[str], place: int, kind: TitleKind) -> str:
        word, is_person = words[place].casefold(), kind == "person"
        if not is_person or place < len(words) - 1:
            coined: NameKind = "surname" if kind == "work" else "given" if is_person else "place"
            return self._coin(coined, f"{' '.join(words)}/{place}")
        if word not in self._new_surnames:
            self._new_surnames[word] = self._coin("surname", word)
        return self._new_surnames[word]


def candidate_names(kind: NameKind, old: str, seed: int) -> Iterator[str]:
    """Suggest new words for one, without end: plausible ones first, then longer ones.

    The same kind, word and seed always give the same words in the same order.
    """
    beginnings, ends = _PARTS[kind]
    for number in count():
        draw = int.from_bytes(hashlib.blake2b(f"{seed}:{kind}:{old}:{number}".encode(), digest_size=8).digest())
        draw, first = divmod(draw, len(beginnings))
        draw, last = divmod(draw, len(ends))
        middle = ""
        for _ in range(number // 12):  # nearly all plain ones are taken
            draw, part = divmod(draw, len(_MIDDLES))
            middle += _MIDDLES[part]
        yield re.sub(r"(.)\1\1+", r"\1\1", beginnings[first] + middle + ends[last])  # no three equal letters in a row
