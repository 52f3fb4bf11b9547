"""The terms of a corpus as numbers: what BM25 is computed from, four bytes for each occurrence."""

from array import array
from collections.abc import Callable, Iterator

from hopgraph.tools.text import Analyser

_STOP = -1


class TermIds:
    """The terms of every passage, in the form that `bm25s.BM25.index` takes: `ids` and `vocab`.

    `ids` is the object itself: a sequence of one list of numbers for each passage, made anew from compact
    arrays each time that bm25s goes over it.
    """

    def __init__(self, analyser: Analyser) -> None:
        self.vocab: dict[str, int] = {}
        """Term → number, in the order in which the terms were met."""
        self.on_pass: Callable[[int], None] | None = None
        """Called while the passages are gone over, with how many were, for progress."""
        self._analyser = analyser
        self._number_of: dict[str, int] = {}
        """Word → number of its term; a word is stemmed once, when it is met first."""
        self._numbers, self._ends = array("i"), array("q", [0])

    @property
    def ids(self) -> "TermIds":
        """The passages' numbers."""
        return self

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
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[list[int]]:
        start = 0
        for row, end in enumerate(self._ends[1:]):
            yield self._numbers[start:end].tolist()
            start = end
            if self.on_pass and not row % 1000:
                self.on_pass(row)
