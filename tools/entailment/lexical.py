"""An entailment check without weights: does the premise carry what the statement is made of?

It sees words, names, numbers, dates and negation. It does not see who did what to whom, opposites ("lost"
for "won") or paraphrase in other words; it errs on the side of "no". At the threshold of 0.6, on public
sets of human judgements for which nothing was trained, all examples, "supported" against the rest:

    set             examples  supported  accuracy  precision  recall  false positive rate
    WiCE dev        1,043     33 %       0.763     0.675      0.535   0.126 (0.000 where nothing is supported)
    FEVER-symmetric 708       50 %       0.679     0.728      0.573   0.215

WiCE's other false positives are claims of which only a part is supported; FEVER-symmetric's are opposites.
A lower threshold finds more and errs more: 0.4 gives recall 0.665 at a false positive rate of 0.201 on WiCE,
0.8 gives 0.325 at 0.029. Of the sentences of HotpotQA passages (2,140 of 50 questions) it accepts 100 % with
their own passage as premise and 0.7 % with another passage that was retrieved for the same question.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hopgraph.tools.entailment.names import Names, missing_names, read_names, words_of
from hopgraph.tools.entailment.values import Values, read_values, union
from hopgraph.tools.text import DEFAULT_ANALYSER, split_sentences
from hopgraph.tools.text.common_words import FUNCTION_WORDS

_FUNCTION_WORDS = frozenset(FUNCTION_WORDS.split())
_NEGATORS = frozenset({"not", "no", "never", "none", "neither", "nor", "without", "cannot", "nobody", "nothing"})
_BLANK_LINE = re.compile(r"\n\s*\n")
_NOT_NEGATING = re.compile(r"\bnot only\b|\bno\b\.?(?= ?\d)", re.IGNORECASE)
_TOKEN = re.compile(r"\w+(?:['\u2019]\w+)*|[,;:.!?()]")
NEGATION_REACH = 3
"""Content words after a negator that it turns around, within its clause."""

LONGEST_REMEMBERED = 20_000
"""Characters; longer texts are analysed anew each time, so that the memory stays small."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    words: tuple[str, ...]
    terms: frozenset[str]
    """Its content: stems of all but function words."""
    negates: bool
    negated: frozenset[str]
    """The terms that a negator turns around."""
    values: Values


@dataclass(frozen=True, slots=True)
class _Text:
    sentences: tuple[_Sentence, ...]
    terms: frozenset[str]
    names: Names
    values: Values


class LexicalEntailment:
    """Says how much of a statement a premise carries, and 0.0 where something essential is missing."""

    name: str = "lexical"
    threshold: float = 0.6

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score (premise, statement) pairs, each on its own.

        A premise is one or several passages, parted by blank lines, each with its title on a first line.

        Returns:
            One value in [0, 1] per pair, in order. 0.0 for a blank side, and where the premise lacks a name,
            number or date of the statement, or where one of them negates what the other affirms; else
            the share of the statement's content words that the premise has.
        """
        return [_score(_read(premise), _read(statement)) for premise, statement in pairs]


def _score(premise: _Text, statement: _Text) -> float:
    shared = len(statement.terms & premise.terms)
    if not shared or statement.values.missing_from(premise.values):
        return 0.0
    for sentence in statement.sentences:
        if missing_names(sentence.words, premise.names, premise.terms) or _contradicts(premise, sentence):
            return 0.0
    return shared / len(statement.terms)


def _contradicts(premise: _Text, sentence: _Sentence) -> bool:
    """Tell whether one side negates what the other only affirms."""
    if sentence.negated.isdisjoint(premise.negated) and (sentence.negated or sentence.negates > premise.negates):
        return True
    return not premise.only_negated.isdisjoint(sentence.terms - sentence.negated)


def _read(text: str) -> _Text:
    return _remembered(text) if len(text) <= LONGEST_REMEMBERED else _analysed(text)


@lru_cache(maxsize=512)
def _remembered(text: str) -> _Text:
    return _analysed(text)


def _analysed(text: str) -> _Text:
    sentences = tuple(_sentences(text))
    return _Text(
        sentences=sentences,
        terms=frozenset(term for sentence in sentences for term in sentence.terms),
        names=read_names([word for sentence in sentences for word in sentence.words]),
        values=union(sentence.values for sentence in sentences),
    )


def _sentences(text: str) -> Iterator[_Sentence]:
    for part in _parts(text):
        for start, end in split_sentences(part):
            sentence = part[start:end]
            negates, negated = _negation(sentence)
            yield _Sentence(
                words=tuple(words_of(sentence)),
                terms=_terms(sentence),
                negates=negates,
                negated=negated,
                values=read_values(sentence),
            )


def _parts(text: str) -> Iterator[str]:
    """Part the title of each passage from its text, which a sentence splitter would not do."""
    for passage in _BLANK_LINE.split(text):
        title, _, rest = passage.strip().partition("\n")
        yield from (title, rest)


def _terms(text: str) -> frozenset[str]:
    terms = (DEFAULT_ANALYSER.term(w) for w in DEFAULT_ANALYSER.words(text) if w not in _FUNCTION_WORDS)
    return frozenset(term for term in terms if term)


def _negation(sentence: str) -> tuple[bool, frozenset[str]]:
    """Tell whether a sentence has a negator, and which terms are in its reach."""
    negates, reach = False, 0
    negated: set[str] = set()
    for token in _TOKEN.findall(_NOT_NEGATING.sub(" ", sentence)):
        word = token.casefold().replace("\u2019", "'")
        if not word[0].isalnum():
            reach = 0
        elif word in _NEGATORS or word.endswith("n't"):
            negates, reach = True, NEGATION_REACH
        elif reach and (terms := _terms(word)):
            negated |= terms
            reach -= 1
    return negates, frozenset(negated)
