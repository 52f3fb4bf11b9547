"""Punkt (Kiss and Strunk 2006): which periods, question marks and exclamation marks end a sentence.

The decisions are those of NLTK's tokenizer with the parameters of `abbreviations`, and a test compares the two. NLTK
itself takes 30 MB of memory, 90 where SciPy is installed, and most of a second to import.
"""

import re
import string
from collections.abc import Iterator

from hopgraph.tools.text.abbreviations import CONNECTIVES, MAY_END, OPENERS, TITLES

_NEVER_ENDS = TITLES | CONNECTIVES
_ABBREVIATIONS = _NEVER_ENDS | MAY_END
_NOT_IN_WORDS = "[)\";}\\]*:@'({\\[\u2018\u2019\u201c\u201d\xab\xbb?!]"
_DASHES_OR_DOTS = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_TOKEN = re.compile(
    rf"{_DASHES_OR_DOTS}"
    rf"|[^\s(\"`{{\[:;&#*@)}}\]\-,]\S*?(?=\s|$|{_NOT_IN_WORDS}|{_DASHES_OR_DOTS}"
    rf"|,(?=$|\s|{_NOT_IN_WORDS}|{_DASHES_OR_DOTS}))"
    r"|\S"
)
_MARK = re.compile(rf"[.?!](?=(?P<after>{_NOT_IN_WORDS}|\s+(?P<next>\S+)))")
"""What may end a sentence, before what cannot be within a word, or before white space and another word."""
_CLOSING = re.compile("[\"')\\]}\u2018\u2019\u201c\u201d\xab\xbb]+?(?:\\s+|(?=--)|$)", re.MULTILINE)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*\.?$")
_PUNCTUATION = frozenset(";:,.!?")
_INITIAL = re.compile(r"[^\W\d]\.$")


def punkt_spans(text: str) -> Iterator[tuple[int, int]]:
    """Find the [start, end) offsets of sentences, ascending; none for an empty text.

    What closes a bracket or a quotation mark behind a sentence belongs to it.
    """
    ends = [*_ends(text), (len(text.rstrip()), len(text))]
    start = 0
    for number, (end, following) in enumerate(ends):
        last = number + 1 == len(ends)
        closing = None if last else _CLOSING.match(text, following, ends[number + 1][0])
        if closing:
            yield start, following + len(closing[0].rstrip())
        elif start < end:
            yield start, end
        start = closing.end() if closing else following


def _ends(text: str) -> Iterator[tuple[int, int]]:
    """Find where each sentence but the last ends, and where the next one begins."""
    for mark, word in _marks(text):
        if _has_end(f"{text[word : mark.end()]}{mark['after']}"):
            yield mark.end(), mark.end() if mark["next"] is None else mark.start("next")


def _marks(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Find the marks to decide on, each with where the word before it begins; of several after a word the last."""
    before, start, end = None, 0, 0
    for mark in _MARK.finditer(text):
        between = text[end : mark.start()]
        space = max(map(between.rfind, string.whitespace))
        word = end + space + 1 if space > 0 else start
        if before and end <= word:
            yield before, start
        before, start, end = mark, word, mark.start()
    if before:
        yield before, start


def _has_end(context: str) -> bool:
    """Whether a sentence ends at one of the tokens of a word, its mark and what follows, the last one excepted."""
    tokens = [token for line in context.split("\n") for token in _TOKEN.findall(line)]
    return any(map(_is_end, tokens, tokens[1:]))


def _is_end(token: str, after: str) -> bool:
    if not token.endswith("."):
        return token in {"?", "!"}
    following = after.lower()
    if len(after) > 1 and _breaks(after):
        following = following.removesuffix(".")
    opens, capital = following in OPENERS, after[0].isupper()
    if opens and token[:-1].lower() in _NEVER_ENDS:
        return False
    is_initial = _INITIAL.match(token)
    ends = _breaks(token) or (opens and capital and not is_initial)
    if is_initial or _NUMBER.match(token):
        continues = after in _PUNCTUATION or after[0].islower() or (is_initial and capital and not opens)
        return ends and not continues
    return ends


def _breaks(token: str) -> bool:
    """Whether a token ends a sentence by its form alone: a mark, or a word that is no abbreviation with its period."""
    if token in {".", "?", "!"}:
        return True
    word = token[:-1].lower()
    is_abbreviation = word in _ABBREVIATIONS or word.rpartition("-")[2] in _ABBREVIATIONS
    return token.endswith(".") and not token.endswith("..") and not is_abbreviation
