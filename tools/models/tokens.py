"""Count tokens without a vocabulary, for models whose server reports no usage."""

import re
from itertools import islice

from hopgraph.tools.text.analyzer import once_per_passage

_PIECE = re.compile(r"[^\W\d_]{1,7}|\d{1,3}|[^\w\s]|_")


@once_per_passage
def count_tokens(text: str) -> int:
    """Estimate the tokens of a text: one per 7 letters of a word, 3 digits or sign. 0 for blank text."""
    return len(_PIECE.findall(text))


def token_offset(text: str, count: int) -> int:
    """Return the character offset at which the first `count` tokens of a text end; its length if it has no more."""
    pieces = list(islice(_PIECE.finditer(text), count + 1))
    return pieces[count - 1].end() if len(pieces) > count else len(text)
