"""MIGRES's memory of what was shown (section 3.2): what was shown and cited, or shown twice, is not shown again."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from hopgraph.state import Excerpt, Passage, Update
from hopgraph.tools.io.background import LONG_SPLIT, maybe_to_thread
from hopgraph.tools.text import split_sentences

MOST_COUNTS = 2
"""How often a sentence counts until it is set aside: once for each prompt that shows it, and once when its passage is
cited. The authors' code counts whole passages; that what was not shown may still come is *ours*."""


def sentences_left(text: str, shown: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Split a passage's text into sentences, without those that are set aside.

    `shown` are the [start, end) spans that were counted, each a sentence or the whole passage.
    """
    seen = Counter((start, end) for start, end in shown)
    whole = seen.pop((0, len(text)), 0)
    return [span for span in split_sentences(text) if seen[span] + whole < MOST_COUNTS]


def count_excerpts(
    known: Mapping[str, list[list[int]]], excerpts: Iterable[Excerpt], passages: Mapping[str, Passage]
) -> tuple[dict[str, list[list[int]]], list[str]]:
    """Count the spans of excerpts once more.

    Returns the spans by passage, and the ids of those counted now of which no sentence is left, sorted.
    """
    counted = {key: list(spans) for key, spans in known.items()}
    keys: set[str] = set()
    for excerpt in excerpts:
        key = excerpt["passage_id"]
        keys.add(key)
        counted.setdefault(key, []).extend(excerpt["spans"] or [[0, len(passages[key]["text"])]])
    often = (key for key in keys if len(counted[key]) >= MOST_COUNTS)
    return counted, sorted(key for key in often if not sentences_left(passages[key]["text"], counted[key]))


async def count_shown(
    known: Mapping[str, list[list[int]]], excerpts: Sequence[Excerpt], passages: Mapping[str, Passage]
) -> Update:
    """Return the update of the memory by excerpts: `shown` and `excluded`; see `count_excerpts`."""
    long = sum(len(passages[each["passage_id"]]["text"]) for each in excerpts) > LONG_SPLIT
    counted, excluded = await maybe_to_thread(long, count_excerpts, known, excerpts, passages)
    return {"shown": counted, "excluded": excluded}
