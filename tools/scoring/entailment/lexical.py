"""Entailment without a model: does the premise contain the words, names and values of the statement?

It compares words, names, numbers and negation. It does not see who did what to whom, antonyms ("lost" for "won"),
paraphrases, or other forms of a name ("Italian" for "Italy", "NBC"); it errs on the side of "no". A statement in
another language than its premise is accepted without a check. `docs/models.md` has its accuracy on human judgements.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from hopgraph.tools.scoring.pair_scorers import score_by_code
from hopgraph.tools.text import DEFAULT_ANALYZER, split_sentences
from hopgraph.tools.text.analyzer import once_per_passage
from hopgraph.tools.text.common_words import FUNCTION_WORDS
from hopgraph.tools.text.languages import get_analyzer

_WRITTEN = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBER = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<decade>(?: ?['\u2019])?s\b)?"
    rf"|\b(?P<word>{'|'.join(_WRITTEN)})\b",
    re.IGNORECASE,
)


def numbers_in(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the numbers that a text states, and those that it supports in another text.

    Numbers are digits, or words up to twelve; a decade is returned as `1980s`. A text supports its numbers and the
    decades of its years. `one`, mostly a pronoun, supports a number but states none.
    """
    named: set[str] = set()
    supported: set[str] = set()
    for match in _NUMBER.finditer(text):
        if word := match["word"]:
            (supported if word.lower() == "one" else named).add(str(_WRITTEN.index(word.lower())))
            continue
        value = match["digits"].replace(",", "")
        named.add(f"{value}s" if match["decade"] else value)
        if len(match["digits"]) == 4:
            supported.add(f"{value[:3]}0s")
    return frozenset(named), frozenset(named | supported)


_LANGUAGES = ["da", "nl", "fr", "de", "it", "no", "pt", "ru", "es", "sv", "tr"]
"""Languages other than English with a list of function words."""
_MIN_FUNCTION_WORDS = 2
_MIN_RATIO = 1.5  # of a language's function words to those of the next one
_LETTERS_READ = 400
_EAST_ASIAN = {"HIRAGANA", "KATAKANA", "HANGUL", "KATAKANA-HIRAGANA"}


class LanguageSigns(NamedTuple):
    """Evidence of a text's language."""

    script: str
    """That of most letters, e.g. LATIN; empty without letters."""
    language: str
    """A code, e.g. de; empty if no language's function words stand out."""


def read_language_signs(text: str, words: Iterable[str]) -> LanguageSigns:
    """Return the evidence in a text, given its words; capitalized words may be names and are ignored."""
    letters = islice((each for each in text if each.isalpha()), _LETTERS_READ)
    scripts = Counter("CJK" if name in _EAST_ASIAN else name for name in map(_script, letters))
    [(script, _)] = scripts.most_common(1) or [("", 0)]
    known = _languages_by_word()
    found = Counter(code for word in words if word.islower() for code in known.get(fold_letters(word), ()))
    (language, most), (_, next_most) = [*found.most_common(2), ("", 0), ("", 0)][:2]
    return LanguageSigns(script, language if most >= max(_MIN_FUNCTION_WORDS, _MIN_RATIO * next_most) else "")


def are_in_different_languages(first: LanguageSigns, second: LanguageSigns) -> bool:
    """Return whether two texts are surely in different languages; False without enough evidence."""
    scripts, languages = {first.script, second.script}, {first.language, second.language}
    return any("" not in signs and len(signs) > 1 for signs in (scripts, languages))


def fold_letters(word: str) -> str:
    """Return a word without case and accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).casefold()


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


@cache
def _languages_by_word() -> dict[str, tuple[str, ...]]:
    lists = {"en": FUNCTION_WORDS.split(), **{code: get_analyzer(code).stop_words for code in _LANGUAGES}}
    found: dict[str, dict[str, None]] = {}
    for code, words in lists.items():
        for word in words:
            found.setdefault(fold_letters(word), {})[code] = None
    return {word: tuple(codes) for word, codes in found.items()}


_FUNCTION_WORDS = frozenset(FUNCTION_WORDS.split())
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NOT_NAMES = _FUNCTION_WORDS | frozenset(_DAYS.split())
_MONTHS = "january february march april june july august september october november december"
_SHORT_MONTHS = {"sept": "september", **{month[:3]: month for month in _MONTHS.split()}}
_NEGATORS = frozenset({"not", "no", "never", "none", "neither", "nor", "without", "cannot", "nobody", "nothing"})
_NOT_NEGATING = re.compile(r"\bnot only\b|\bno\b\.?(?= ?\d)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['\u2019.&-][^\W_]+)*")
_PARTS = re.compile(r"['\u2019&-]")
_TOKEN = re.compile(r"\w+(?:['\u2019]\w+)*|[,;:.!?()\n]")
NEGATION_REACH = 3
"""Content words after a negator that it negates, within its clause."""


@dataclass(frozen=True, slots=True)
class _Text:
    """An analyzed premise or statement. Terms are the stems of all words but function words."""

    names: frozenset[str]
    """Capitalized words of at least two letters, folded, except the first of each sentence."""
    words: frozenset[str]
    """All words, folded, and the parts of those with a hyphen or an apostrophe."""
    affirmed: frozenset[str]
    """Terms that occur outside the scope of a negator."""
    negated: frozenset[str]
    """Terms that occur within the scope of a negator."""
    numbers: frozenset[str]
    supported_numbers: frozenset[str]
    language: LanguageSigns

    @property
    def terms(self) -> frozenset[str]:
        return self.affirmed | self.negated

    def has_name(self, name: str) -> bool:
        """Return whether the text contains a name, or all its parts or their stems."""
        parts = filter(None, _PARTS.split(name))
        return name in self.words or all(p in self.words or DEFAULT_ANALYZER.term(p) in self.terms for p in parts)


class LexicalEntailment:
    """Scores how much of a statement a premise covers: 0.0 if something essential is missing."""

    name: str = "lexical"
    threshold: float = 0.6

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score (premise, statement) pairs, each on its own; one value in [0, 1] per pair, in order.

        A premise is one or more passages separated by blank lines, each with its title on the first line. The score is
        0.0 if a side is blank, the premise lacks a name, number or date of the statement, or one side negates what the
        other affirms; else the share of the statement's content words in the premise. If the two are surely in
        different languages, it is the threshold.
        """
        return [self._score(_read(premise), _read(statement)) for premise, statement in pairs]

    def _score(self, premise: _Text, statement: _Text) -> float:
        wanted, shared = statement.terms, len(statement.terms & premise.terms)
        if wanted and premise.terms and are_in_different_languages(premise.language, statement.language):
            return self.threshold
        if not shared or not statement.numbers <= premise.supported_numbers or _contradicts(premise, statement):
            return 0.0
        return shared / len(wanted) if all(map(premise.has_name, statement.names)) else 0.0

    async def ascore(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score pairs as `score` does."""
        return await score_by_code(self.score, pairs)


def _contradicts(premise: _Text, statement: _Text) -> bool:
    """Return whether the statement negates what the premise does not, or affirms what it only negates."""
    negates = statement.negated and statement.negated.isdisjoint(premise.negated)
    return bool(negates) or not statement.affirmed.isdisjoint(premise.negated - premise.affirmed)


@partial(once_per_passage, maxsize=512)
def _read(text: str) -> _Text:
    # Titles end at a line break, which a sentence splitter would ignore.
    sentences = [line[start:end] for line in text.split("\n") for start, end in split_sentences(line)]
    words = [_WORD.findall(sentence) for sentence in sentences]
    folded = {_fold(word) for sentence in words for word in sentence}
    names = (_fold(word) for sentence in words for word in sentence[1:] if word[0].isupper())
    numbers, supported = numbers_in(text)
    affirmed, negated = _negation(text)
    every = (word for sentence in words for word in sentence)
    return _Text(
        names=frozenset(name for name in names if len(name) > 1 and name not in _NOT_NAMES),
        words=frozenset(folded.union(*map(_PARTS.split, folded))),
        affirmed=affirmed,
        negated=negated,
        numbers=numbers,
        supported_numbers=supported,
        language=read_language_signs(text, every),
    )


def _fold(word: str) -> str:
    """Return a word folded, without periods and possessive ending; short months are written out."""
    low = re.sub(r"['\u2019]s?$", "", fold_letters(word).replace(".", ""))
    return _SHORT_MONTHS.get(low, low)


def _negation(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms outside and inside the scope of a negator."""
    affirmed: set[str] = set()
    negated: set[str] = set()
    reach = 0
    for token in _TOKEN.findall(_NOT_NEGATING.sub(" ", text)):
        word = token.lower().replace("\u2019", "'")
        if not word[0].isalnum():
            reach = 0
        elif word in _NEGATORS or word.endswith("n't"):
            reach = NEGATION_REACH
        elif word not in _FUNCTION_WORDS and (terms := DEFAULT_ANALYZER.terms(word)):
            (negated if reach else affirmed).update(terms)
            reach = max(0, reach - 1)
    return frozenset(affirmed), frozenset(negated)
