"""Compare texts as answers or by their terms, and find the sentence that supports a statement."""

import math
import re
import string
import unicodedata
from collections import Counter

from hopgraph.tools.text.analyzer import ANY_WORD, UNSPACED, content_terms
from hopgraph.tools.text.sentences import TABLE_RULE, split_sentences

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WORDS = re.compile(rf"[{UNSPACED}]+|{ANY_WORD}(?:(?<=[^\W\d_])(?:\+\+|#)(?!\w))?")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def normalize_answer(text: str) -> str:
    """Lower-case a text and remove ASCII punctuation, articles and extra white space, as SQuAD's script does."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def contains(text: str, part: str) -> bool:
    """Return whether a text contains the words of `part`, in order and next to each other; False if it has none.

    Case, punctuation, white space and Unicode form are ignored, but C++ differs from C#. Words must match completely,
    except in scripts without spaces.
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
    """Return the cosine similarity of two texts' term counts, from 0 to 1."""
    one, two = Counter(content_terms(first)), Counter(content_terms(second))
    shared = sum(count * two[term] for term, count in one.items())
    squares = [sum(count * count for count in counts.values()) for counts in (one, two)]
    # A single root: two rounded ones would give equal texts slightly less than 1.
    return min(1.0, shared / math.sqrt(math.prod(squares))) if shared else 0.0


MAX_QUOTE = 400
"""Characters; longer sentences are shortened to their best part, but table rows are not."""
NAME_WEIGHT = 2.0
"""Weight of names and numbers; other words have 1.0."""
TITLE_WEIGHT = 0.25
"""Factor for words that occur in the title."""

_SENDER = re.compile(r"^(?:From|To|Cc): .*", re.MULTILINE)  # names that apply to a whole e-mail, like a title
_WINDOW = re.compile(rf"\S(?:.{{0,{MAX_QUOTE - 2}}}\S)?(?!\S)|\S{{{MAX_QUOTE}}}", re.DOTALL)
"""As many whole words as fit into a quote, or the start of a longer word."""


def find_quote(statement: str, text: str, title: str = "") -> tuple[int, int]:
    """Find the [start, end) offsets of the sentence that shares most with a statement; (0, 0) for a blank text.

    Names and numbers weigh more than other words; words of the title weigh little, since every sentence is about it.
    Ties go to the first sentence. A sentence of more than MAX_QUOTE characters is shortened to its best part, a table
    row never. Header rows are not candidates, nor are headings that the title ends with.
    """
    every = split_sentences(text)
    if not every:
        return 0, 0
    headers = [span for span in every if text[span[0]] == "|" and TABLE_RULE.search(text, *span)]
    sentences = [each for each in every if each not in headers and not title.endswith(text[slice(*each)])] or every
    weights = _weights(statement, " ".join([title, *_SENDER.findall(text)]))
    best = max(sentences, key=lambda span: _score(weights, text[span[0] : span[1]]))  # max takes the first
    is_long = best[1] - best[0] > MAX_QUOTE and text[best[0]] != "|"
    return _shorten(weights, text, *best) if is_long else best


def read_quote(text: str, start: int, end: int) -> str:
    """Return the quote at these offsets; a table row is preceded by the header row."""
    table = text[:start].rpartition("\n\n")[2] if text.startswith("|", start) else ""
    rule = TABLE_RULE.search(table)
    return f"{table[: rule.end()]}\n{text[start:end]}" if rule else text[start:end]


def _weights(statement: str, title: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    title_terms = frozenset(content_terms(title))
    for word in _WORDS.findall(statement):
        weight = NAME_WEIGHT if word[0].isupper() or word[0].isdigit() else 1.0
        for term in content_terms(word):
            weights[term] = max(weights.get(term, 0.0), weight * (TITLE_WEIGHT if term in title_terms else 1.0))
    return weights


def _score(weights: dict[str, float], sentence: str) -> float:
    return sum(weights.get(term, 0.0) for term in frozenset(content_terms(sentence)))


def _shorten(weights: dict[str, float], text: str, start: int, end: int) -> tuple[int, int]:
    """Return the best part of up to MAX_QUOTE characters among those that start at every tenth word."""
    words = [start + word.start() for word in re.finditer(r"\S+", text[start:end])]
    found = (_WINDOW.match(text, word, end) for word in words[::10])
    return max((match.span() for match in found if match), key=lambda span: _score(weights, text[span[0] : span[1]]))
