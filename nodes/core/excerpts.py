"""Kept passages as a model sees them: the text of an excerpt, the passages of a prompt, and what was shown before."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from hopgraph.state import Candidates, Evidence, Excerpt, Passage, Update
from hopgraph.tools.io.background import LONG_SPLIT, maybe_to_thread
from hopgraph.tools.models.tokens import token_offset
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.comparison import find_quote, read_quote

MOST_COUNTS = 2
"""How often a sentence may count in MIGRES's memory (section 3.2) before it is set aside: once for each prompt that
shows it, and once when its passage is cited. The authors' code counts whole passages; that unshown sentences may
still be shown is *ours*."""


def passages_by_id(passages: Iterable[Passage]) -> dict[str, Passage]:
    """Index passages by id."""
    return {passage["id"]: passage for passage in passages}


def excerpt_text(excerpt: Excerpt, passage: Passage) -> str:
    """Return the text of an excerpt: the model's own text, else its spans, with gaps shown as ` … `."""
    if excerpt["text"]:
        return excerpt["text"]
    parts: list[str] = []
    last_end: int | None = None
    for start, end in excerpt["spans"]:
        if last_end is not None:
            between = passage["text"][last_end:start]
            parts.append(" … " if between.strip() else between or " ")
        parts.append(passage["text"][start:end])
        last_end = end
    return "".join(parts)


def prompt_passages(excerpts: Sequence[Excerpt], passages: Mapping[str, Passage]) -> list[dict[str, str]]:
    """Return a prompt's `passages` variable for excerpts, in order."""
    shown = [(each, passages[each["passage_id"]]) for each in excerpts]
    return [{"title": passage["title"], "text": excerpt_text(each, passage)} for each, passage in shown]


def whole_excerpt(passage: Passage, score: float) -> Excerpt:
    """Return the excerpt that covers the whole passage."""
    return Excerpt(passage_id=passage["id"], spans=[[0, len(passage["text"])]], text="", score=score)


def truncated_excerpt(passage: Passage, score: float, tokens: int | None) -> Excerpt:
    """Return the excerpt of a passage's first `tokens` tokens, by the offline counter; None: the whole."""
    excerpt = whole_excerpt(passage, score)
    if tokens is not None:
        excerpt["spans"] = [[0, token_offset(passage["text"], tokens)]]
    return excerpt


def candidate_excerpts(
    candidates: Iterable[Candidates], passages: Mapping[str, Passage], tokens: int | None = None
) -> list[Excerpt]:
    """List the retrieved passages, query by query in rank order, truncated to `tokens`; empty if nothing was found."""
    return [
        truncated_excerpt(passages[key], score, tokens)
        for each in candidates
        for key, score in zip(each["passage_ids"], each["scores"], strict=True)
    ]


def shown_ids(numbers: Iterable[int], excerpts: Sequence[Excerpt]) -> list[str]:
    """Return the passages that a reply names by number, from 1, without repeats; invalid numbers are ignored."""
    return list(dict.fromkeys(excerpts[each - 1]["passage_id"] for each in numbers if 1 <= each <= len(excerpts)))


def quoted(evidence: Evidence, passages: Mapping[str, Passage]) -> Evidence:
    """Return evidence with the sentence of its first passage that best supports the statement as its quote."""
    first = passages[evidence["passage_ids"][0]]
    start, end = find_quote(evidence["statement"], first["text"], first["title"])
    return {**evidence, "quote": read_quote(first["text"], start, end)}


def with_title(passage: Passage, text: str | None = None) -> str:
    """Return a passage, or part of it, below its title, as rerankers and entailment checkers read it."""
    body = passage["text"] if text is None else text
    return f"{passage['title']}\n{body}" if passage["title"] else body


def sentences_left(text: str, shown: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Split a passage's text into sentences, without those that are set aside.

    `shown` are the counted [start, end) spans, each a sentence or the whole passage.
    """
    seen = Counter((start, end) for start, end in shown)
    whole = seen.pop((0, len(text)), 0)
    return [span for span in split_sentences(text) if seen[span] + whole < MOST_COUNTS]


def count_excerpts(
    known: Mapping[str, list[list[int]]], excerpts: Iterable[Excerpt], passages: Mapping[str, Passage]
) -> tuple[dict[str, list[list[int]]], list[str]]:
    """Count the spans of excerpts once more.

    Returns the spans by passage, and the sorted ids of those counted now that have no sentence left.
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
    """Return the memory update for excerpts: `shown` and `excluded`; see `count_excerpts`."""
    long = sum(len(passages[each["passage_id"]]["text"]) for each in excerpts) > LONG_SPLIT
    counted, excluded = await maybe_to_thread(long, count_excerpts, known, excerpts, passages)
    return {"shown": counted, "excluded": excluded}
