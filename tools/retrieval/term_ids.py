"""The terms of a corpus as numbers, four bytes for each occurrence: what BM25 is computed from."""

from array import array

import numpy as np
from numpy.typing import NDArray

from hopgraph.tools.text import Analyser

_STOP = -1


class TermIds:
    """The terms of every passage, in the order of the passages."""

    def __init__(self, analyser: Analyser) -> None:
        self.vocab: dict[str, int] = {}
        """Term → number, from 0, in the order in which the terms were met."""
        self._analyser = analyser
        self._number_of: dict[str, int] = {}
        """Word → number of its term; a word is stemmed once, when it is met first."""
        self._numbers, self._ends = array("i"), array("q", [0])

    def add(self, text: str) -> None:
        """Append a passage; it may have no terms."""
        words = self._analyser.words(text)
        known = self._number_of
        try:
            self._numbers.extend([number for word in words if (number := known[word]) != _STOP])
        except KeyError:
            numbers = [known[word] if word in known else self._learn(word) for word in words]
            self._numbers.extend([number for number in numbers if number != _STOP])
        self._ends.append(len(self._numbers))

    def _learn(self, word: str) -> int:
        term = self._analyser.term(word)
        number = _STOP if term is None else self.vocab.setdefault(term, len(self.vocab))
        self._number_of[word] = number
        return number

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self._ends) - 1

    def numbers(self) -> NDArray[np.int32]:
        """Return the numbers of all passages, one after the other, without a copy."""
        return np.frombuffer(self._numbers, dtype=np.int32)

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of terms of each passage."""
        return np.diff(np.frombuffer(self._ends, dtype=np.int64))
