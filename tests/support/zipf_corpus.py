"""Synthetic passages with Zipfian word frequencies."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

_BLOCK = 10_000
_LETTERS = str.maketrans("0123456789", "bcdfghjklm")
TITLES = 5000
"""Distinct titles, of one word each."""


def made_word(kind: str, number: int) -> str:
    """Return a word of letters only that no stemmer shortens."""
    return f"{kind}{number}".translate(_LETTERS)


def zipf_texts(passages: int, words: int, distinct: int) -> Iterator[str]:
    """Yield texts of `words` words from a Zipfian vocabulary of `distinct` words, all of which occur.

    The same texts every time, a block at a time, so that memory does not grow with their number.
    """
    generator = np.random.default_rng(7)
    weights = np.cumsum(1 / (np.arange(distinct) + 10))
    vocabulary = np.array([made_word("term", number) for number in range(distinct)], dtype=object)
    every = passages * words // distinct
    for first in range(0, passages, _BLOCK):
        drawn = generator.random((min(_BLOCK, passages - first), words)) * weights[-1]
        picked = np.searchsorted(weights, drawn).clip(max=distinct - 1)
        places = np.arange(-(-first * words // every) * every, first * words + picked.size, every)
        places = places[: max(0, distinct - places[0] // every)] if len(places) else places
        picked.reshape(-1)[places - first * words] = places // every
        yield from (" ".join(row) for row in vocabulary[picked].tolist())


def write_corpus(path: Path, texts: Iterable[str]) -> Path:
    """Write a BEIR corpus with one of TITLES titles for each text."""
    with path.open("w") as file:
        for number, text in enumerate(texts):
            title = made_word("Title", number % TITLES)
            file.write(f'{{"_id": "{number}", "title": "{title}", "text": "{text}"}}\n')
    return path
