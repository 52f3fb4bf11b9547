"""MIGRES's memory of passages that were shown and not cited: the hard negatives (section 3.2)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from hopgraph.state import Excerpt, Passage
from hopgraph.tools.text import split_sentences

UNCITED_QUERIES = 2
"""Queries that showed a sentence without citing its passage, after which it is set aside (*ours*)."""


def sentences_left(text: str, shown: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Split a passage's text into sentences, without those that enough queries showed without citing it.

    `shown` are the [start, end) spans that such queries showed, each a sentence or the whole passage.
    """
    seen = Counter((start, end) for start, end in shown)
    whole = seen.pop((0, len(text)), 0)
    return [span for span in split_sentences(text) if seen[span] + whole < UNCITED_QUERIES]


def add_uncited(
    known: Mapping[str, list[list[int]]],
    shown: Iterable[Excerpt],
    cited: Iterable[str],
    passages: Mapping[str, Passage],
) -> tuple[dict[str, list[list[int]]], list[str]]:
    """Add the excerpts that queries showed, but for those of the cited passages, to what is known.

    Gives the spans by passage, and the ids of those shown now of which no sentence is left, sorted.
    """
    added = {key: list(spans) for key, spans in known.items()}
    keys: set[str] = set()
    without = frozenset(cited)
    for excerpt in shown:
        if (key := excerpt["passage_id"]) not in without:
            keys.add(key)
            added.setdefault(key, []).extend(excerpt["spans"] or [[0, len(passages[key]["text"])]])
    often = (key for key in keys if len(added[key]) >= UNCITED_QUERIES)
    return added, sorted(key for key in often if not sentences_left(passages[key]["text"], added[key]))
