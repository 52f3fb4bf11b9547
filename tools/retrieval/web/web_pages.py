"""Web pages as search engines return them: cleaned, cut, and each with the address to cite."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hopgraph.tools.prompts import clean
from hopgraph.tools.text import split_sentences

LONGEST_TEXT = 4000
"""Characters of a page's text; a longer one is cut at a sentence's end."""
_SENTENCE_ENDS = (".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f")


@dataclass(frozen=True)
class WebPage:
    """One search result."""

    url: str
    title: str
    text: str


class WebEngine(ABC):
    """A search engine."""

    name: str
    """As in specs and messages."""
    most: int
    """How many results it returns at most."""
    cache_key: str
    """The engine and the settings that results depend on, without keys."""

    @abstractmethod
    async def search(self, query: str, k: int) -> list[WebPage]:
        """Return at most k pages, best first; runs on the background loop.

        Raises:
            CorpusError: the search failed; one line, without keys.
        """


def make_page(url: object, title: object, *texts: object) -> WebPage | None:
    """Make a page of untrusted values; None without a web address, which a citation needs, or without text."""
    address = _clean_text(url)
    parts = [part for part in map(_clean_text, texts) if part]
    if not address.startswith(("http://", "https://")) or not parts:
        return None
    return WebPage(address, _clean_text(title), _cut(_join(parts)))


def merge_by_address(pages: Iterable[WebPage | None]) -> list[WebPage]:
    """Merge pages of one address: the first title, and each text once, in order; None is left out."""
    merged: dict[str, WebPage] = {}
    for page in pages:
        known = merged.get(page.url) if page else None
        if page and (known is None or page.text not in known.text):
            text = _cut(_join([known.text, page.text])) if known else page.text
            merged[page.url] = WebPage(page.url, known.title if known else page.title, text)
    return list(merged.values())


def _clean_text(value: Any) -> str:
    return clean(str(value)).strip() if isinstance(value, str | int | float) else ""


def _join(parts: Sequence[str]) -> str:
    *first, last = parts
    return " ".join([*(part if part.endswith(_SENTENCE_ENDS) else f"{part}." for part in first), last])


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    ends = [end for _, end in split_sentences(text[:LONGEST_TEXT])]
    return text[: ends[-2] if len(ends) > 1 else LONGEST_TEXT]
