"""Whether two texts say the same: as answers, word for word, or by the words that they share."""

import math
import re
import string
import unicodedata
from collections import Counter

from hopgraph.tools.text.analyser import content_terms
from hopgraph.tools.text.unspaced import UNSPACED

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_BETWEEN = re.compile(r"[\W_]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def normalize_answer(text: str) -> str:
    """Lower-case a text and remove ASCII punctuation, articles and surplus white space, as SQuAD's script does.

    Empty when nothing but punctuation and articles was there.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def contains(text: str, part: str) -> bool:
    """Whether a text contains the words of another, in sequence.

    Case, punctuation, white space and the Unicode form do not count. Words are compared whole, but where
    writing has no spaces between them. Nothing contains a part without words.
    """
    words = _words_of(part)
    if not words:
        return False
    before = "" if _UNSPACED.match(words[0]) else " "
    after = "" if _UNSPACED.match(words[-1]) else " "
    return f"{before}{words}{after}" in f" {_words_of(text)} "


def _words_of(text: str) -> str:
    return _BETWEEN.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def lexical_similarity(first: str, second: str) -> float:
    """Compare the content terms of two texts: the cosine of their counts.

    Returns:
        From 0 (no term in common, or a text without terms) to 1 (the same terms in the same proportions).
    """
    one, two = Counter(content_terms(first)), Counter(content_terms(second))
    shared = sum(count * two[term] for term, count in one.items())
    squares = [sum(count * count for count in counts.values()) for counts in (one, two)]
    # One root of the product: two rounded roots would leave equal texts a hair below 1.
    return min(1.0, shared / math.sqrt(math.prod(squares))) if shared else 0.0
