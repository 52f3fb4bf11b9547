"""From a data set's JSON objects to their titled paragraphs."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from hopgraph.tools.retrieval.corpora.source_records import MalformedError

Object = Mapping[str, JsonValue]


class Paragraph(NamedTuple):
    """A titled paragraph without an id of its own."""

    title: str
    text: str


class SplitParagraph(NamedTuple):
    """A titled paragraph in sentences, as the data set splits it."""

    title: str
    sentences: list[str]


def read_hotpotqa_context(question: Object) -> Iterator[Paragraph]:
    """Read `context` of HotpotQA and 2WikiMultihopQA: (title, sentences) pairs, or two parallel lists."""
    for title, sentences in split_hotpotqa_context(question):
        yield Paragraph(title, join_sentences(sentences))


def split_hotpotqa_context(question: Object) -> Iterator[SplitParagraph]:
    """Read `context` as `read_hotpotqa_context` does, with the sentences still apart."""
    context = question.get("context")
    if isinstance(context, dict):
        titles, paragraphs = (_list(context, key) for key in ("title", "sentences"))
        if len(titles) != len(paragraphs):
            raise MalformedError(f"context has {len(titles)} titles but {len(paragraphs)} paragraphs")
        pairs: list[JsonValue] = [[title, sentences] for title, sentences in zip(titles, paragraphs, strict=True)]
    else:
        pairs = _list(question, "context")
    for number, pair in enumerate(pairs, 1):
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], list)):
            raise MalformedError(f"paragraph {number} of context is not a title with a list of sentences")
        sentences = [_string(sentence, f"a sentence of paragraph {number}") for sentence in pair[1]]
        yield SplitParagraph(_string(pair[0], f"the title of paragraph {number}"), sentences)


def join_sentences(sentences: list[str]) -> str:
    """Join a paragraph's sentences: HotpotQA's carry the spaces between them, 2WikiMultihopQA's do not."""
    spaced = any(sentence[:1].isspace() for sentence in sentences[1:])
    return ("" if spaced else " ").join(sentences).strip()


def read_titled_paragraphs(question: Object, key: str, text_key: str) -> Iterator[Paragraph]:
    """Read a list of objects with `title` and `text_key`: `paragraphs` of MuSiQue, `ctxs` of sets in DPR's form."""
    for number, paragraph in enumerate(_list(question, key), 1):
        if not isinstance(paragraph, dict):
            raise MalformedError(f"paragraph {number} of {key} is not an object")
        text = _string(paragraph.get(text_key), f"{text_key} of paragraph {number}")
        title = paragraph.get("title")
        yield Paragraph("" if title is None else _string(title, f"title of paragraph {number}"), text.strip())


def _list(value: Object, key: str) -> list[JsonValue]:
    found = value.get(key)
    if not isinstance(found, list):
        raise MalformedError(f"{key} is missing or not a list")
    return found


def _string(value: JsonValue, name: str) -> str:
    if not isinstance(value, str):
        raise MalformedError(f"{name} is {'missing' if value is None else f'a {type(value).__name__}'}, not text")
    return value
