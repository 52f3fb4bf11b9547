"""Windows of long premises: as many whole sentences as fit into the model; the best window counts."""

import re
from collections.abc import Callable, Sequence

from hopgraph.tools.scoring.pair_scorers import Pair
from hopgraph.tools.text import split_sentences

_WORD = re.compile(r"(?:\A\s*+)?\S++\s*+")
_MARGIN = 0.8
_MIN_PREMISE_SHARE = 0.25
"""Of what the model reads, however long the hypothesis is."""


def split_windows(premise: str, count_tokens: Callable[[list[str]], list[int]], room: int) -> list[str]:
    """Split one or several passages into windows of whole sentences, in order, each of at most `room` tokens.

    A sentence that does not fit is cut between words. Nothing is left out.
    """
    # The whitespace after a sentence belongs to it.
    ends = [start for start, _ in split_sentences(premise)[1:]] + [len(premise)]
    sentences = [premise[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    pieces = [
        piece
        for sentence, size in zip(sentences, count_tokens(sentences), strict=True)
        for piece in ([sentence] if size <= room else _cut(sentence, size, room))
    ]
    windows: list[str] = []
    used = 0
    for piece, size in zip(pieces, count_tokens(pieces), strict=True):
        if windows and used + size <= room:
            windows[-1] += piece
            used += size
        else:
            windows.append(piece)
            used = size
    return [window.strip() for window in windows]


def _cut(sentence: str, size: int, room: int) -> list[str]:
    """Cut a sentence into pieces of about equally many words, with a margin since words differ in tokens."""
    words = _WORD.findall(sentence)
    many = max(1, int(len(words) * room / size * _MARGIN))
    return ["".join(words[first : first + many]) for first in range(0, len(words), many)]


def score_best_window(
    score: Callable[[list[Pair]], Sequence[float]],
    count_tokens: Callable[[list[str]], list[int]],
    longest: int,
    pairs: Sequence[Pair],
) -> list[float]:
    """Return for each pair of premise and hypothesis the score of its best window, all in one call of `score`.

    Args:
        score: returns a probability for each pair of a window and a hypothesis.
        count_tokens: returns the tokens of each text.
        longest: tokens of a window and its hypothesis together.
        pairs: of premise and hypothesis.
    """
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    size = dict(zip(texts, count_tokens(texts), strict=True))
    windows: list[list[Pair]] = []
    for premise, hypothesis in pairs:
        room = max(1, int(longest * _MIN_PREMISE_SHARE), longest - size[hypothesis])
        parts = [premise] if size[premise] <= room else split_windows(premise, count_tokens, room)
        windows.append([(part, hypothesis) for part in parts])
    distinct = list(dict.fromkeys(window for each in windows for window in each))
    scores = dict(zip(distinct, score(distinct), strict=True))
    return [max(scores[window] for window in each) for each in windows]
