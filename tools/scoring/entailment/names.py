"""Names of a text: what counts as one, and whether another text has it."""

import re
import unicodedata
from collections.abc import Sequence

from hopgraph.tools.scoring.entailment.values import MONTHS
from hopgraph.tools.text import DEFAULT_ANALYSER
from hopgraph.tools.text.common_words import FUNCTION_WORDS

_WORD = re.compile(r"[^\W_]+(?:['\u2019.&-][^\W_]+)*")
_PARTS = re.compile(r"['\u2019&-]")
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NO_NAMES = frozenset([*FUNCTION_WORDS.split(), *MONTHS, *_DAYS.split()])


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, with the hyphens, apostrophes and periods inside them."""
    return _WORD.findall(text)


def fold(word: str) -> str:
    """Return a word without case, accents, periods and a possessive ending."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return re.sub(r"['\u2019]s?$", "", plain.casefold().replace(".", ""))


def folded_words(words: Sequence[str]) -> frozenset[str]:
    """Return words folded, and the parts of those with a hyphen or an apostrophe too."""
    folded = {fold(word) for word in words}
    return frozenset(folded.union(*(_PARTS.split(word) for word in folded)))


def missing_names(sentence: Sequence[str], words: frozenset[str], terms: frozenset[str]) -> list[str]:
    """Return the names of a sentence, given by its words, that a text lacks, given by its folded words and its terms.

    A name is a capitalised word of two letters or more. The first word of a sentence is none, since it is
    capitalised anyway. A text has a name if it has the word, or all its parts or their stems.
    """
    return [word for word in sentence[1:] if _is_name(word) and not _has(fold(word), words, terms)]


def _is_name(word: str) -> bool:
    return word[0].isupper() and len(fold(word)) > 1 and word.casefold() not in _NO_NAMES


def _has(name: str, words: frozenset[str], terms: frozenset[str]) -> bool:
    parts = [part for part in _PARTS.split(name) if part]
    return name in words or all(part in words or DEFAULT_ANALYSER.term(part) in terms for part in parts)
