"""An entailment check without weights: does the premise hold the words, names and values of the statement?

It sees words, names, numbers, dates and negation. It does not see who did what to whom, opposites ("lost"
for "won"), paraphrase, or a name in another form ("Italian" for "Italy", "NBC"); it errs on the side of "no".
At the threshold of 0.6, on public sets of human judgements for which nothing was trained, all examples,
"supported" against the rest:

    set             examples  supported  accuracy  precision  recall  false positive rate
    WiCE dev        1,043     33 %       0.766     0.686      0.529   0.118 (0.000 where nothing is supported)
    FEVER-symmetric 708       50 %       0.677     0.727      0.565   0.212

WiCE's other false positives are claims of which only a part is supported; FEVER-symmetric's are opposites.
A lower threshold finds more and errs more: 0.4 gives recall 0.646 at a false positive rate of 0.187 on WiCE,
0.8 gives 0.322 at 0.031.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hopgraph.tools.scoring.entailment.names import folded_words, missing_names, words_of
from hopgraph.tools.scoring.entailment.values import Values, read_values, union
from hopgraph.tools.text import DEFAULT_ANALYSER, split_sentences
from hopgraph.tools.text.common_words import FUNCTION_WORDS

_FUNCTION_WORDS = frozenset(FUNCTION_WORDS.split())
_NEGATORS = frozenset({"not", "no", "never", "none", "neither", "nor", "without", "cannot", "nobody", "nothing"})
_BLANK_LINE = re.compile(r"\n\s*\n")
_NOT_NEGATING = re.compile(r"\bnot only\b|\bno\b\.?(?= ?\d)", re.IGNORECASE)
_TOKEN = re.compile(r"\w+(?:['\u2019]\w+)*|[,;:.!?()]")
NEGATION_REACH = 3
"""Content words after a negator that it turns around, within its clause."""

MAX_CACHED_CHARACTERS = 20_000
"""Characters; longer texts are not cached, to bound the memory."""


@dataclass(frozen=True, slots=True)
class _Text:
    """What a premise or a statement is made of. Terms are the stems of all but function words."""

    sentences: tuple[tuple[str, ...], ...]
    """The words of each."""
    affirmed: frozenset[str]
    """Terms that stand outside the reach of negators somewhere."""
    negated: frozenset[str]
    """Terms that a negator turns around somewhere."""
    negates: bool
    words: frozenset[str]
    """All its words, folded."""
    values: Values

    @property
    def terms(self) -> frozenset[str]:
        return self.affirmed | self.negated


class LexicalEntailment:
    """Score how much of a statement a premise covers: 0.0 where something essential is missing."""

    name: str = "lexical"
    threshold: float = 0.6

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score (premise, statement) pairs, each on its own.

        A premise is one or several passages separated by blank lines, each with its title on the first line.

        Returns:
            One value in [0, 1] per pair, in order. 0.0 for a blank side, and where the premise lacks a name,
            number or date of the statement, or where one of them negates what the other affirms; else
            the share of the statement's content words that the premise has.
        """
        return [_score(_read(premise), _read(statement)) for premise, statement in pairs]


def _score(premise: _Text, statement: _Text) -> float:
    wanted, known = statement.terms, premise.terms
    shared = len(wanted & known)
    if not shared or statement.values.missing_from(premise.values) or _contradicts(premise, statement):
        return 0.0
    if any(missing_names(words, premise.words, known) for words in statement.sentences):
        return 0.0
    return shared / len(wanted)


def _contradicts(premise: _Text, statement: _Text) -> bool:
    """Whether the statement negates what the premise does not, or affirms what it only negates."""
    if statement.negates and not premise.negates:
        return True
    if statement.negated and statement.negated.isdisjoint(premise.negated):
        return True
    return not statement.affirmed.isdisjoint(premise.negated - premise.affirmed)


def _read(text: str) -> _Text:
    return _analyse_cached(text) if len(text) <= MAX_CACHED_CHARACTERS else _analyse(text)


@lru_cache(maxsize=512)
def _analyse_cached(text: str) -> _Text:
    return _analyse(text)


def _analyse(text: str) -> _Text:
    sentences = [part[start:end] for part in _parts(text) for start, end in split_sentences(part)]
    readings = [_negation(sentence) for sentence in sentences]
    words = tuple(tuple(words_of(sentence)) for sentence in sentences)
    return _Text(
        sentences=words,
        affirmed=frozenset(term for affirmed, _, _ in readings for term in affirmed),
        negated=frozenset(term for _, negated, _ in readings for term in negated),
        negates=any(negates for _, _, negates in readings),
        words=folded_words([word for sentence in words for word in sentence]),
        values=union(map(read_values, sentences)),
    )


def _parts(text: str) -> Iterator[str]:
    """Yield the title and the text of each passage, which a sentence splitter would not separate."""
    for passage in _BLANK_LINE.split(text):
        title, _, rest = passage.strip().partition("\n")
        yield from (title, rest)


def _negation(sentence: str) -> tuple[set[str], set[str], bool]:
    """Return the terms outside and inside the reach of a negator, and whether there is a negator at all."""
    affirmed: set[str] = set()
    negated: set[str] = set()
    negates, reach = False, 0
    for token in _TOKEN.findall(_NOT_NEGATING.sub(" ", sentence)):
        word = token.lower().replace("\u2019", "'")
        if not word[0].isalnum():
            reach = 0
        elif word in _NEGATORS or word.endswith("n't"):
            negates, reach = True, NEGATION_REACH
        elif terms := _terms(word):
            (negated if reach else affirmed).update(terms)
            reach = max(0, reach - 1)
    return affirmed, negated, negates


def _terms(word: str) -> list[str]:
    terms = (DEFAULT_ANALYSER.term(part) for part in DEFAULT_ANALYSER.words(word) if part not in _FUNCTION_WORDS)
    return [term for term in terms if term]
