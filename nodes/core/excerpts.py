"""Kept passages as a model sees them: the text of an excerpt, and the passages of a prompt."""

from collections.abc import Iterable, Mapping, Sequence

from hopgraph.state import Candidates, Evidence, Excerpt, Passage
from hopgraph.tools.models.tokens import token_offset
from hopgraph.tools.text.comparison import find_quote, read_quote


def passages_by_id(passages: Iterable[Passage]) -> dict[str, Passage]:
    """Index passages by their id."""
    return {passage["id"]: passage for passage in passages}


def excerpt_text(excerpt: Excerpt, passage: Passage) -> str:
    """Get the text of an excerpt: what the model wrote of it, else its spans, with a gap shown as ` … `."""
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
    """Make the `passages` variable of a prompt from excerpts, in their order."""
    shown = [(each, passages[each["passage_id"]]) for each in excerpts]
    return [{"title": passage["title"], "text": excerpt_text(each, passage)} for each, passage in shown]


def whole_excerpt(passage: Passage, score: float) -> Excerpt:
    """Make the excerpt that is the whole passage."""
    return Excerpt(passage_id=passage["id"], spans=[[0, len(passage["text"])]], text="", score=score)


def truncated_excerpt(passage: Passage, score: float, tokens: int | None) -> Excerpt:
    """Make the excerpt that is the first `tokens` tokens of a passage, by the offline counter; None: the whole."""
    excerpt = whole_excerpt(passage, score)
    if tokens is not None:
        excerpt["spans"] = [[0, token_offset(passage["text"], tokens)]]
    return excerpt


def candidate_excerpts(
    candidates: Iterable[Candidates], passages: Mapping[str, Passage], tokens: int | None = None
) -> list[Excerpt]:
    """List what was retrieved, query by query in rank order, cut to `tokens`; empty when nothing was found."""
    return [
        truncated_excerpt(passages[key], score, tokens)
        for each in candidates
        for key, score in zip(each["passage_ids"], each["scores"], strict=True)
    ]


def shown_ids(numbers: Iterable[int], excerpts: Sequence[Excerpt]) -> list[str]:
    """Return the passages that a reply names by number, from 1, each once; others are ignored."""
    return list(dict.fromkeys(excerpts[each - 1]["passage_id"] for each in numbers if 1 <= each <= len(excerpts)))


def quoted(evidence: Evidence, passages: Mapping[str, Passage]) -> Evidence:
    """Return evidence with the sentence of its first passage that supports the statement best as its quote."""
    first = passages[evidence["passage_ids"][0]]
    start, end = find_quote(evidence["statement"], first["text"], first["title"])
    return {**evidence, "quote": read_quote(first["text"], start, end)}


def with_title(passage: Passage, text: str | None = None) -> str:
    """Write a passage, or a part of it, below its title, as rerankers and entailment checkers read it."""
    body = passage["text"] if text is None else text
    return f"{passage['title']}\n{body}" if passage["title"] else body
