"""The terms of a corpus as numbers: what BM25 is computed from, four bytes for each occurrence."""

from array import array
from collections.abc import Callable, Iterator

from hopgraph.tools.text import Analyser

_STOP = -1


class _WordIds(dict[str, int]):
    """Word → number of its term; a word is stemmed when it is met first."""

    def __init__(self, analyser: Analyser, vocab: dict[str, int]) -> None:
        super().__init__()
        self._analyser, self._vocab = analyser, vocab

    def __missing__(self, word: str) -> int:
        term = self._analyser.term(word)
        number = _STOP if term is None else self._vocab.setdefault(term, len(self._vocab))
        self[word] = number
        return number


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
        self._words = _WordIds(analyser, self.vocab)
        self._split = analyser.words
        self._numbers, self._ends = array("i"), array("q", [0])

    @property
    def ids(self) -> "TermIds":
        """The passages' numbers."""
        return self

    def add(self, text: str) -> None:
        """Append a passage; it may have no terms."""
        number_of = self._words.__getitem__
        self._numbers.extend([n for n in map(number_of, self._split(text)) if n != _STOP])
        self._ends.append(len(self._numbers))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[list[int]]:
        start = 0
        for row, end in enumerate(self._ends[1:]):
            yield self._numbers[start:end].tolist()
            start = end
            if self.on_pass and not row % 1000:
                self.on_pass(row)
