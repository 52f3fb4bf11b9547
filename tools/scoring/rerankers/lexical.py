"""A reranker without a model: how much of a query's wording a text contains.

Each sign of relevance removes a share of the doubt that the text is relevant; the score is minus the logarithm of the
remaining doubt. It is normalized by the query's weight, so that one threshold holds for short and long queries. Words
are weighted by the query alone (capitals, numbers, length, a list of common words), never by the other pairs of a
batch. `docs/models.md` has its recall.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from math import log

from hopgraph.tools.scoring.pair_scorers import score_by_code
from hopgraph.tools.text.analyzer import ANY_WORD, Analyzer, once_per_passage
from hopgraph.tools.text.common_words import COMMON_WORDS, FUNCTION_WORDS

COVERED = 0.98
"""Share of the doubt removed if the text has every term of the query."""
PHRASES = 0.2
"""Share removed if all neighboring terms of the query are neighbors in the text."""
TITLE_SHARE, TITLE_QUOTED = 0.3, 0.2
"""Shares removed if the query has all terms of the title, and if it has them in the title's order."""
BREVITY, USUAL_TERMS, FEWEST_TERMS = 0.05, 50, 8
"""A score is multiplied by (USUAL_TERMS / its terms) ** BREVITY; FEWEST_TERMS limits the gain."""

FLAT = 0.6
"""Share of a query's best score that replaces a higher threshold: no text stands out."""

NUMBER, NAME = 1.3, 1.4
"""Weights of a word that starts with a digit or with a capital."""
SHORTEST, LONG_WORD = 0.4, 10
"""Any other word weighs from SHORTEST up to 1 at LONG_WORD letters, since long words are rarer."""
COMMON = 0.6
"""Factor for words that are common in all texts."""
_WORD = re.compile(r"\w+")
_ANALYZER = Analyzer(
    word_pattern=rf"(?=\w\w|\d){ANY_WORD}", normal_form="NFKC", tokenizer="bigrams", folds_accents=True
)
"""Words of at least two letters, and digits: single letters are mostly initials."""
_IN_BRACKETS = re.compile(r"\([^()]*\)")


class LexicalReranker:
    """Scores a text by the weighted share of the query's terms, its phrases and its title.

    A text is `title`, line break, `passage or sentence`; a text of one line has no title.
    """

    name: str = "lexical"
    threshold: float = 0.5
    """δ, chosen for recall (*ours*): the largest tenth at which the sentence filter loses less than 3 % of the gold
    sentences in the five best passages. MIGRES requires that more than 80 % of the questions keep a passage (Appendix
    B), which would be 1.297; shared words are weaker evidence than a model's score."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score (query, text) pairs, each on its own; one score per pair, in order.

        0.0 for a text that shares no term with the query, about 1.3 for one worth reading, 3 to 5 for one that has the
        whole query and a title that the query names.
        """
        return [_score(_analyze_query(query), _read_text(text)) for query, text in pairs]

    async def ascore(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score pairs as `score` does."""
        return await score_by_code(self.score, pairs)

    def adapted_threshold(self, best: float) -> float:
        """Return δ, or a share of the best score if that is less, since no text stands out for the query."""
        return min(self.threshold, FLAT * best) or self.threshold


@dataclass(frozen=True, slots=True)
class _Query:
    """An analyzed query. Terms have spaces around them, so that a substring test matches whole terms."""

    weights: dict[str, float]
    weight: float
    phrases: dict[str, float]
    phrase_weight: float
    line: str


@dataclass(frozen=True, slots=True)
class _Text:
    """An analyzed text: one string of terms takes a tenth of the memory of a set."""

    line: str
    title: tuple[str, ...]
    title_line: str
    brevity: float


def _score(query: _Query, text: _Text) -> float:
    line = text.line
    found = sum([weight for term, weight in query.weights.items() if term in line])
    if not found:
        return 0.0
    doubt = 1 - COVERED * found / query.weight
    if query.phrases:
        quoted = sum([weight for phrase, weight in query.phrases.items() if phrase in line])
        doubt *= 1 - PHRASES * quoted / query.phrase_weight
    if text.title:
        doubt *= _doubt_after_title(query, text)
    return -log(doubt) * text.brevity


def _doubt_after_title(query: _Query, text: _Text) -> float:
    matched = [query.weights[term] for term in text.title if term in query.weights]
    title_weight = min(1.0, sum(matched))  # a title such as "Film" says less than one with a name
    doubt = 1 - TITLE_SHARE * title_weight * len(matched) / len(text.title)
    if len(matched) == len(text.title) and text.title_line in query.line:
        doubt *= 1 - TITLE_QUOTED * title_weight
    return doubt


@lru_cache(maxsize=4096)
def _analyze_query(query: str) -> _Query:
    words = _WORD.findall(query)
    # Capitals mean nothing in a query without small letters.
    has_names = any(word[0].islower() for word in words)
    stems = [(word, stem) for word in words for stem in _ANALYZER.terms(word)]
    # Keep function words if there are no others, as in the name of a band.
    stems = [pair for pair in stems if pair[1] not in _stems(FUNCTION_WORDS)] or stems
    order = [f" {stem} " for _, stem in stems]
    weights: dict[str, float] = {}
    for term, (word, stem) in zip(order, stems, strict=True):
        weights[term] = max(weights.get(term, 0.0), _weight(word, stem, has_names))
    phrases = {a + b[1:]: min(weights[a], weights[b]) for a, b in pairwise(order) if a != b}
    return _Query(
        weights=weights,
        weight=sum(weights.values()),
        phrases=phrases,
        phrase_weight=sum(phrases.values()),
        line=f" {' '.join(stem for _, stem in stems)} ",
    )


def _weight(word: str, stem: str, has_names: bool) -> float:
    rarity = COMMON if stem in _stems(COMMON_WORDS) else 1.0
    if word[0].isdigit():
        return NUMBER * rarity
    if has_names and word[0].isupper():
        return NAME * rarity
    return rarity * (SHORTEST + (1 - SHORTEST) * min(len(word), LONG_WORD) / LONG_WORD)


@lru_cache(maxsize=2)
def _stems(words: str) -> frozenset[str]:
    return frozenset(_ANALYZER.terms(words))


@partial(once_per_passage, maxsize=8192)
def _read_text(text: str) -> _Text:
    first_line, line_break, _ = text.partition("\n")
    terms = _ANALYZER.terms(text)
    title = _ANALYZER.terms(_IN_BRACKETS.sub(" ", first_line)) if line_break else []
    return _Text(
        line=f" {' '.join(terms)} ",
        title=tuple(f" {term} " for term in title),
        title_line=f" {' '.join(title)} ",
        brevity=(USUAL_TERMS / max(len(terms), FEWEST_TERMS)) ** BREVITY,
    )
