"""Long premises in parts: the sentences that fit into the model together; the best part counts."""

import re
from collections.abc import Callable, Sequence

from hopgraph.tools.text import split_sentences

_WORD = re.compile(r"\s*\S+\s*")
_MARGIN = 0.8
_LEAST_ROOM = 4
"""A premise gets at least 1 / _LEAST_ROOM of what the model reads, however long the hypothesis is."""

Pair = tuple[str, str]


def windows_of(premise: str, sizes: Callable[[list[str]], list[int]], room: int) -> list[str]:
    """Cut a premise into parts of whole sentences, each as long as fits.

    Args:
        premise: one or several passages.
        sizes: counts the tokens of each text.
        room: tokens of a part at most.

    Returns:
        The parts in order; a sentence that does not fit is cut between words. Nothing is left out.
    """
    # What stands between two sentences goes with the first.
    ends = [start for start, _ in split_sentences(premise)[1:]] + [len(premise)]
    sentences = [premise[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    pieces = [
        piece
        for sentence, size in zip(sentences, sizes(sentences), strict=True)
        for piece in ([sentence] if size <= room else _cut(sentence, size, room))
    ]
    parts: list[str] = []
    taken = 0
    for piece, size in zip(pieces, sizes(pieces), strict=True):
        if parts and taken + size <= room:
            parts[-1] += piece
            taken += size
        else:
            parts.append(piece)
            taken = size
    return [part.strip() for part in parts]


def _cut(sentence: str, size: int, room: int) -> list[str]:
    """Cut a sentence into pieces of about equally many words, with a margin since words differ in tokens."""
    words = _WORD.findall(sentence)
    many = max(1, int(len(words) * room / size * _MARGIN))
    return ["".join(words[first : first + many]) for first in range(0, len(words), many)]


def best_window(
    pairs: Sequence[Pair],
    score: Callable[[Sequence[Pair]], Sequence[float]],
    sizes: Callable[[list[str]], list[int]],
    longest: int,
) -> list[float]:
    """Score pairs whose premises may be longer than the model reads, all parts in one call of `score`.

    Args:
        pairs: of premise and hypothesis.
        score: gives a probability for each pair of a part and a hypothesis.
        sizes: counts the tokens of each text.
        longest: tokens of a part and its hypothesis together.

    Returns:
        For each pair the score of its best part.
    """
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    size = dict(zip(texts, sizes(texts), strict=True))
    parts: list[list[Pair]] = []
    for premise, hypothesis in pairs:
        room = max(1, longest // _LEAST_ROOM, longest - size[hypothesis])
        fits = size[premise] <= room
        parts.append([(part, hypothesis) for part in ([premise] if fits else windows_of(premise, sizes, room))])
    distinct = list(dict.fromkeys(part for each in parts for part in each))
    scores = dict(zip(distinct, score(distinct), strict=True))
    return [max(scores[part] for part in each) for each in parts]
