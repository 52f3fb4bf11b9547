"""Comparison of texts, as answers or by their words, and the sentence that supports a statement."""

import math
import re
import string
import unicodedata
from collections import Counter

from hopgraph.tools.text.analyser import ANY_WORD, UNSPACED, content_terms
from hopgraph.tools.text.sentences import RULE, split_sentences

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WORDS = re.compile(rf"[{UNSPACED}]+|{ANY_WORD}(?:(?<=[^\W\d_])(?:\+\+|#)(?!\w))?")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def normalize_answer(text: str) -> str:
    """Lower-case a text and remove ASCII punctuation, articles and surplus white space, as SQuAD's script does."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def contains(text: str, part: str) -> bool:
    """Return whether a text contains the words of another, of which there is at least one, in sequence.

    Case, punctuation, white space and the Unicode form do not count, but C++ is not C#. Words are compared whole, but
    where writing has no spaces between them.
    """
    words = _words_of(part)
    if not words:
        return False
    before = "" if _UNSPACED.match(words[0]) else " "
    after = "" if _UNSPACED.match(words[-1]) else " "
    return f"{before}{words}{after}" in f" {_words_of(text)} "


def _words_of(text: str) -> str:
    return " ".join(_WORDS.findall(unicodedata.normalize("NFKC", text).casefold()))


def lexical_similarity(first: str, second: str) -> float:
    """Return the cosine of two texts' content terms, from 0 (none in common) to 1 (in the same proportions)."""
    one, two = Counter(content_terms(first)), Counter(content_terms(second))
    shared = sum(count * two[term] for term, count in one.items())
    squares = [sum(count * count for count in counts.values()) for counts in (one, two)]
    # One root of the product: two rounded roots would leave equal texts a hair below 1.
    return min(1.0, shared / math.sqrt(math.prod(squares))) if shared else 0.0


LONGEST_QUOTE = 400
"""Characters; a longer sentence is cut to a good stretch, but no row of a table."""
TELLING = 2.0
"""Weight of names and numbers; other words have 1.0."""
IN_TITLE = 0.25

_SENDER = re.compile(r"^(?:From|To|Cc): .*", re.MULTILINE)  # whose names stand for a whole mail, as those of a title
_STRETCH = re.compile(rf"\S(?:.{{0,{LONGEST_QUOTE - 2}}}\S)?(?!\S)|\S{{{LONGEST_QUOTE}}}", re.DOTALL)
"""Whole words, or the first characters of a word that is longer."""


def find_quote(statement: str, text: str, title: str = "") -> tuple[int, int]:
    """Find the [start, end) offsets of the sentence that has most of a statement's words; (0, 0) for a blank text.

    Names and numbers count more; words of the passage's title count little: every sentence is about it, also one that
    says "she". The first of equally good ones, so the first sentence where nothing matches. A sentence over
    LONGEST_QUOTE characters is cut, at white space if it has any, to a good stretch; a row of a table never. The names
    of a table's columns are none by themselves, and no heading is that ends the title.
    """
    every = split_sentences(text)
    if not every:
        return 0, 0
    names = [span for span in every if text[span[0]] == "|" and RULE.search(text, *span)]
    sentences = [each for each in every if each not in names and not title.endswith(text[slice(*each)])] or every
    weights = _weights(statement, " ".join([title, *_SENDER.findall(text)]))
    best = max(sentences, key=lambda span: _score(weights, text[span[0] : span[1]]))  # max takes the first
    is_long = best[1] - best[0] > LONGEST_QUOTE and text[best[0]] != "|"
    return _cut(weights, text, *best) if is_long else best


def read_quote(text: str, start: int, end: int) -> str:
    """Return the quote at these offsets, a row of a table below the names of its columns."""
    table = text[:start].rpartition("\n\n")[2] if text.startswith("|", start) else ""
    rule = RULE.search(table)
    return f"{table[: rule.end()]}\n{text[start:end]}" if rule else text[start:end]


def _weights(statement: str, title: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    said_anyway = frozenset(content_terms(title))
    for word in _WORDS.findall(statement):
        weight = TELLING if word[0].isupper() or word[0].isdigit() else 1.0
        for term in content_terms(word):
            weights[term] = max(weights.get(term, 0.0), weight * (IN_TITLE if term in said_anyway else 1.0))
    return weights


def _score(weights: dict[str, float], sentence: str) -> float:
    return sum(weights.get(term, 0.0) for term in frozenset(content_terms(sentence)))


def _cut(weights: dict[str, float], text: str, start: int, end: int) -> tuple[int, int]:
    """Return the best of the stretches that begin at every tenth word, and have LONGEST_QUOTE characters at most."""
    words = [start + word.start() for word in re.finditer(r"\S+", text[start:end])]
    found = (_STRETCH.match(text, word, end) for word in words[::10])
    return max((match.span() for match in found if match), key=lambda span: _score(weights, text[span[0] : span[1]]))
