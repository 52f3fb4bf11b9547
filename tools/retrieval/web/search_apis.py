"""The search engines: what each is asked, and what its answer says."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from hopgraph.tools.prompts import clean
from hopgraph.tools.text import split_sentences

KEY_VARIABLE = "SERPER_API_KEY"
SERPER = "https://google.serper.dev"
LONGEST_TEXT = 4000
"""Characters of a page's text; a longer one is cut at a sentence's end."""
_LONGEST_WIKIPEDIA_QUERY = 300
"""Characters; MediaWiki refuses more."""
_EXTRACTS_AT_ONCE = 20
"""Introductions that MediaWiki gives in one answer."""
_SENTENCE_ENDS = (".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f")


class OtherFormError(ValueError):
    """An answer that is valid JSON but not what this engine gives."""


@dataclass(frozen=True)
class WebPage:
    """One result of a search."""

    url: str
    title: str
    text: str


@dataclass(frozen=True)
class WebRequest:
    """What is sent; a body makes it a POST."""

    url: str
    parameters: Mapping[str, str]
    body: Mapping[str, str | int] | None = None


class WebEngine(Protocol):
    """A search engine. It is also the part of the cache's key that says where results come from."""

    @property
    def name(self) -> str:
        """What it is called in specs and messages."""
        ...

    @property
    def url(self) -> str:
        """Its address."""
        ...

    @property
    def most(self) -> int:
        """How many results it gives at most."""
        ...

    def headers(self) -> dict[str, str]:
        """Return what goes with each request; read anew each time, so that no key is kept."""
        ...

    def request(self, query: str, k: int) -> WebRequest:
        """Make the first request of a search."""
        ...

    def read(self, answer: Any) -> list[WebPage]:
        """Read the results out of an answer, best first.

        Raises:
            OtherFormError: it is no answer of this engine; or an error, which the message says.
        """
        ...

    def next_request(self, request: WebRequest, answer: Any) -> WebRequest | None:
        """Make the request for the rest of an answer that came in parts; None when it is complete."""
        ...


@dataclass(frozen=True)
class Serper:
    """Google's results by serper.dev, as GenGround uses them."""

    url: str = SERPER
    country: str = "us"
    language: str = "en"
    name: str = "web:serper"
    most: int = 100

    def headers(self) -> dict[str, str]:
        """Return the key, if there is one."""
        key = os.environ.get(KEY_VARIABLE, "").strip()
        return {"X-API-KEY": key} if key else {}

    def request(self, query: str, k: int) -> WebRequest:
        """Ask for k results."""
        body = {"q": query, "gl": self.country, "hl": self.language, "num": min(k, self.most)}
        return WebRequest(f"{self.url.rstrip('/')}/search", {}, body)

    def read(self, answer: Any) -> list[WebPage]:
        """Read the answer box, the knowledge panel and the results; those of one address become one page.

        What has no address is left out: it could not be cited.
        """
        found = _object(answer)
        if not found.keys() & {"organic", "answerBox", "knowledgeGraph", "searchParameters"}:
            raise OtherFormError("no results in it")
        box, panel = _object(found.get("answerBox") or {}), _object(found.get("knowledgeGraph") or {})
        pages = [
            _page(box.get("link"), box.get("title"), box.get("answer"), box.get("snippet")),
            _page(
                panel.get("descriptionLink") or panel.get("website"),
                panel.get("title"),
                panel.get("type"),
                panel.get("description"),
                *(f"{name}: {value}" for name, value in _object(panel.get("attributes") or {}).items()),
            ),
            *(
                _page(each.get("link"), each.get("title"), each.get("snippet"))
                for each in _objects(found.get("organic") or [])
            ),
        ]
        return _by_address([page for page in pages if page])

    def next_request(self, request: WebRequest, answer: Any) -> WebRequest | None:
        """One answer has everything."""
        del request, answer


@dataclass(frozen=True)
class Wikipedia:
    """Wikipedia's full-text search, with the introduction of each article; or any MediaWiki's."""

    url: str
    name: str = "web:wikipedia"
    most: int = 50

    def headers(self) -> dict[str, str]:
        """Return nothing: no key is needed."""
        return {}

    def request(self, query: str, k: int) -> WebRequest:
        """Ask for the k best articles."""
        parameters = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "generator": "search",
            "gsrsearch": _shortened(query, _LONGEST_WIKIPEDIA_QUERY),
            "gsrlimit": str(min(k, self.most)),
            "gsrnamespace": "0",
            "prop": "extracts|info",
            "exintro": "1",
            "explaintext": "1",
            "exlimit": str(_EXTRACTS_AT_ONCE),
            "inprop": "url",
        }
        return WebRequest(self.url, parameters)

    def read(self, answer: Any) -> list[WebPage]:
        """Read the articles that have an introduction, in the order of the search."""
        found = _object(answer)
        if error := found.get("error"):
            raise OtherFormError(str(_object(error).get("info") or error))
        if not found.keys() & {"query", "batchcomplete", "continue"}:
            raise OtherFormError("no results in it")
        articles = _objects(_object(found.get("query") or {}).get("pages") or [])
        articles = sorted(articles, key=_place)
        pages = [_page(each.get("fullurl"), each.get("title"), each.get("extract")) for each in articles]
        return [page for page in pages if page]

    def next_request(self, request: WebRequest, answer: Any) -> WebRequest | None:
        """Ask for the introductions that did not fit into one answer."""
        more = _object(_object(answer).get("continue") or {})
        if "excontinue" not in more:
            return None
        further = {name: str(value) for name, value in more.items()}
        return WebRequest(request.url, {**request.parameters, **further})


def _place(article: Mapping[str, Any]) -> int:
    index = article.get("index")
    return index if isinstance(index, int) else 1 << 30


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OtherFormError(f"{str(value)[:60]!r} instead of an object")
    return cast("dict[str, Any]", value)


def _objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise OtherFormError(f"{str(value)[:60]!r} instead of a list")
    return [_object(each) for each in cast("list[Any]", value)]


def _page(url: Any, title: Any, *texts: Any) -> WebPage | None:
    """Make a page of untrusted values; None for one without a web address or a text."""
    address = _text(url)
    parts = [part for part in map(_text, texts) if part]
    if not address.startswith(("http://", "https://")) or not parts:
        return None
    return WebPage(address, _text(title), _cut(_joined(parts)))


def _text(value: Any) -> str:
    """Return text without unseen characters; a number as text; empty for anything else."""
    return clean(str(value)).strip() if isinstance(value, str | int | float) else ""


def _joined(parts: Sequence[str]) -> str:
    *first, last = parts
    return " ".join([*(part if part.endswith(_SENTENCE_ENDS) else f"{part}." for part in first), last])


def _cut(text: str) -> str:
    """Cut a text of more than LONGEST_TEXT characters, after a sentence if there is one."""
    if len(text) <= LONGEST_TEXT:
        return text
    ends = [end for _, end in split_sentences(text[:LONGEST_TEXT])]
    return text[: ends[-2] if len(ends) > 1 else LONGEST_TEXT]


def _by_address(pages: Sequence[WebPage]) -> list[WebPage]:
    """Unite pages of one address: the first title, and every text once, in the order in which they came."""
    united: dict[str, WebPage] = {}
    for page in pages:
        known = united.get(page.url)
        if known is None:
            united[page.url] = page
        elif page.text not in known.text:
            united[page.url] = WebPage(page.url, known.title, _cut(_joined([known.text, page.text])))
    return list(united.values())


def _shortened(query: str, longest: int) -> str:
    """Cut a query before a word."""
    return query if len(query) <= longest else query[: longest + 1].rpartition(" ")[0][:longest] or query[:longest]
