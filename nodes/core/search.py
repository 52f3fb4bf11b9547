"""Query LangChain retrievers for passages, and merge the results of several."""

import asyncio
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from pydantic import JsonValue

from hopgraph.nodes.core.evidence_review import REVIEWER_SOURCE
from hopgraph.nodes.core.reply_text import MODEL_SOURCE
from hopgraph.nodes.core.step_events import current_position
from hopgraph.state import Call, CorpusError, Passage, empty_call
from hopgraph.tools.io.background import LONG_TEXT, gather_or_cancel, maybe_to_thread
from hopgraph.tools.prompts import clean
from hopgraph.tools.retrieval.joined_retriever import fetch_documents
from hopgraph.tools.retrieval.passage_metadata import INDEX, find_location, name_source, plain_metadata
from hopgraph.tools.text import contains
from hopgraph.tools.text.analyzer import once_per_passage

_OWN_FIELDS = frozenset({"id", "title", "score", "relevance_score"})
_OWN_SOURCES = (MODEL_SOURCE, REVIEWER_SOURCE)
_clean_text = once_per_passage(clean)
_ROUNDS = 5
"""Maximum searches for one query, each for twice as many passages, until enough lack the excluded text."""


class SearchRequest(NamedTuple):
    """Queries and options of one search."""

    query: str
    limit: int
    excluded: frozenset[str]
    hop: int
    leave_out: str
    """Passages that contain this text are excluded; empty for none."""


class SearchResult(NamedTuple):
    """The result of a search."""

    passages: list[Passage]
    """Best first."""
    left_out: int
    """Number of passages that contain the excluded text."""


async def search_all(
    retrievers: Sequence[Runnable[str, Any]], search: SearchRequest, seconds: float | None = None
) -> SearchResult:
    """Search with one or several retrievers concurrently; return each one's results within the time, in order."""
    found = await gather_or_cancel(_search_within(seconds, retriever, search) for retriever in retrievers)
    passages = [passage for each in found for passage in each.passages]
    distinct = passages if len(found) == 1 else _distinct(passages)  # corpora may share an id for different texts
    return SearchResult(distinct, sum(each.left_out for each in found))


def retrieval_calls(key: str, retrievers: Sequence[Runnable[str, Any]], passages: int) -> dict[str, Call]:
    """Count a search with these results as a call of each retriever; `key` distinguishes the searches of a step."""
    where = current_position()
    return {
        f"{where.step:05}:{where.path}:{key}:{number}": {
            **empty_call("retrieval", type(retriever).__name__),
            "passages": passages,
        }
        for number, retriever in enumerate(retrievers)
    }


async def _search_within(seconds: float | None, retriever: Runnable[str, Any], search: SearchRequest) -> SearchResult:
    """Search; a late synchronous retriever continues in its thread, but is not waited for."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await _search(retriever, search)
    except TimeoutError:
        if not limit.expired():
            raise  # the retriever's own
        return SearchResult([], 0)


async def _search(retriever: Runnable[str, Any], search: SearchRequest) -> SearchResult:
    # Excluded passages are dropped after the search, so request that many more.
    wanted = search.limit + len(search.excluded)
    found, name = SearchResult([], 0), type(retriever).__name__
    for _ in range(_ROUNDS):
        documents = _checked(await fetch_documents(retriever, search.query, wanted), name)
        long = bool(search.leave_out) or sum(len(document.page_content) for document in documents) > LONG_TEXT
        found = await maybe_to_thread(long, _found_in, documents, name, search)
        if not found.left_out or len(found.passages) == search.limit or len(documents) < wanted:
            break
        wanted *= 2
    return found


def _checked(found: object, retriever: str) -> list[Document]:
    """Return a retriever's results as a list; CorpusError if they are not LangChain documents."""
    given: list[object] = list(cast("Iterable[object]", found)) if isinstance(found, Iterable) else [found]
    for each in given:
        if not isinstance(each, Document):
            raise CorpusError(f"{retriever} returned {type(each).__name__}; a retriever returns LangChain Documents")
        # Nothing enforces the declared types on subclasses or assignments.
        if not isinstance(each.page_content, str) or not isinstance(each.metadata, dict):  # pyright: ignore[reportUnnecessaryIsInstance, reportUnknownMemberType]
            raise CorpusError(f"{retriever} returned a Document without text or with invalid metadata")
    return cast("list[Document]", given)


def _found_in(documents: Sequence[Document], retriever: str, search: SearchRequest) -> SearchResult:
    """Return the best documents that are neither excluded nor contain the excluded text."""
    found, kept, left_out = to_passages(documents, retriever, search.hop), list[Passage](), 0
    if not search.excluded and not search.leave_out:
        return SearchResult(found[: search.limit], 0)
    for passage in found:
        if len(kept) == search.limit:
            break
        if passage["id"] in search.excluded:
            continue
        if search.leave_out and contains(f"{passage['title']} {passage['text']}", search.leave_out):
            left_out += 1
        else:
            kept.append(passage)
    return SearchResult(kept, left_out)


def to_passages(documents: Sequence[Document], retriever: str, hop: int) -> list[Passage]:
    """Convert a LangChain retriever's documents into passages, in order.

    A document without an id gets a hash of its text; without a title, the name of its source; without a finite
    score, a score by rank. A repeated passage is kept once; of two texts with the same id, e.g. chunks of
    a document, the later one gets a new id.
    """
    passages: list[Passage] = []
    unnamed = _foreign(retriever)
    for rank, document in enumerate(cast("Sequence[Any]", documents)):
        metadata: dict[str, Any] = document.metadata
        carried = {} if metadata.keys() <= _OWN_FIELDS else _carried(metadata)
        text = _clean_text(document.page_content)
        title = clean(_named(metadata, "title")) or name_source(find_location(carried))
        key = str(document.id or _named(metadata, "id") or _hash(f"{title}\n{text}"))
        passage: Passage = {
            "id": _foreign(key),
            "title": title,
            "text": text,
            "score": _score(metadata, rank),
            "source": _foreign(named) if (named := _named(metadata, "source")) else unnamed,
            "hop": hop,
        }
        if carried:
            passage["metadata"] = carried
        passages.append(passage)
    return _distinct(passages)


def _named(metadata: Mapping[str, Any], key: str) -> str:
    """Return a scalar as text; empty if it is missing, zero, or a collection such as an array."""
    value = metadata.get(key)
    if isinstance(value, str):
        return str(value)
    return "" if value is None or hasattr(value, "__len__") or not value else str(value)


def _carried(metadata: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return a document's metadata beyond a passage's fields; an index is not a source to cite."""
    carried = plain_metadata({key: value for key, value in metadata.items() if key not in _OWN_FIELDS})
    if INDEX in carried and carried[INDEX] == carried.get("source"):
        del carried[INDEX], carried["source"]
    return carried


def _foreign(name: str) -> str:
    """Mark an id or a source that would pass for the model's or a reviewer's own words."""
    return f"corpus:{name}" if name.partition(":")[0] in _OWN_SOURCES else name


def _score(metadata: Mapping[str, Any], rank: int) -> float:
    given, by_rank = metadata.get("score", metadata.get("relevance_score")), 1.0 / (rank + 1)
    if given is None:
        return by_rank
    try:
        score = float(given)
    except (TypeError, ValueError, OverflowError):
        return by_rank
    return score if math.isfinite(score) else by_rank


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _distinct(passages: Sequence[Passage]) -> list[Passage]:
    """Keep each text of each id once, in order."""
    known = {passage["id"]: passage for passage in passages}
    if len(known) < len(passages):
        distinguish_texts(passages, known := {})
    return list(known.values())


def distinguish_texts(passages: Iterable[Passage], known: dict[str, Passage]) -> list[Passage]:
    """Give each passage whose id has another text in `known` a new id; adds all passages to `known`."""
    marked: list[Passage] = []
    for passage in passages:
        if known.setdefault(passage["id"], passage)["text"] != passage["text"]:
            passage = Passage({**passage, "id": f"{passage['id']}#{_hash(passage['text'])[:8]}"})
            known.setdefault(passage["id"], passage)
        marked.append(passage)
    return marked
