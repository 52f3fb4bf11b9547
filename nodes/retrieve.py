"""Retrieve passages for every query of this iteration."""

import asyncio
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from hopgraph.nodes.approve import Approved, approve_queries
from hopgraph.nodes.ask import LONG_WORK, side_by_side
from hopgraph.nodes.events import emit, place
from hopgraph.state import Call, Candidates, Context, Passage, Query, nothing_spent
from hopgraph.state.context import ContextT
from hopgraph.tools.prompts import clean
from hopgraph.tools.resolve import retriever_of
from hopgraph.tools.text import contains

_ROUNDS = 5
"""Searches for one query at most, each for twice as many passages, until enough are free of the question."""


class RetrieveState(TypedDict):
    """What `retrieve` reads."""

    question: str
    """Read only with `leave_out_question`, and for a reviewer."""
    queries: list[Query]
    asked: list[str]
    excluded: list[str]
    iteration: int


def retrieve_with(
    count: Callable[[ContextT, int], int],
    *,
    any_number: bool = False,
) -> Callable[[RetrieveState, Runtime[ContextT]], Awaitable[Mapping[str, Any]]]:
    """Make the node that searches all queries at once; `count` says how many passages each of them gets.

    Args:
        count: From the settings and the iteration, from 1, to the number of passages.
        any_number: The nodes that follow take any number of queries, so a reviewer's additions are queries like
            the others. Else what they find joins what the first query found.
    """

    async def retrieve(state: RetrieveState, runtime: Runtime[ContextT]) -> Mapping[str, Any]:
        return await _retrieve(state, runtime, count(runtime.context, state["iteration"]), any_number=any_number)

    return retrieve


def passages_per_query(settings: Context, _iteration: int) -> int:
    """Count what each query gets, by the setting of this name."""
    return settings.passages_per_query


async def retrieve(state: RetrieveState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Search all queries at once, without the passages that memory excludes.

    Reads the queries; writes `candidates` (per query, at most `passages_per_query`, best first, ties by
    id), `passages` (each text once) and `asked`. With a second retriever both results are united, for a
    reranker to sort (MIGRES, Table 9). A query that finds nothing has empty candidates. With
    `leave_out_question` passages that contain the question's text are left out, others take their places,
    and the event `retrieved` counts them as `left_out`. With `review_queries` a person sees the queries first
    (see `approve`); one that is not to be sent finds nothing.

    Raises:
        CorpusError, SpecError: the retriever cannot be opened.
    """
    return await _retrieve(state, runtime, runtime.context.passages_per_query)


async def _retrieve(
    state: RetrieveState, runtime: Runtime[ContextT], count: int, *, any_number: bool = False
) -> Mapping[str, Any]:
    settings = runtime.context
    # First of all: a node that pauses runs again from its top.
    approved = approve_queries(state["queries"], runtime, question=state["question"], hop=state["iteration"])
    given = [settings.retriever, *([settings.second_retriever] if settings.second_retriever else [])]
    retrievers = await side_by_side([retriever_of(each) for each in given])
    queries = [query for query in [*approved.queries, *approved.added] if query]
    excluded, hop = frozenset(state["excluded"]), state["iteration"]
    emit_first = place().take(2 * len(queries))
    for offset, query in enumerate(queries):
        emit(runtime, "query", number=emit_first + offset, query=query["text"], why=query["why"], hop=hop)
    question = state["question"] if settings.leave_out_question else ""
    searches = [_Search(query["text"], count, excluded, hop, question) for query in queries]
    found = await side_by_side(_search(retriever, search) for search in searches for retriever in retrievers)
    by_query = [found[start : start + len(retrievers)] for start in range(0, len(found), len(retrievers))]
    results = [_unite([each.passages for each in both]) for both in by_query]
    left_out = [sum(each.left_out for each in both) for both in by_query]
    candidates = [
        Candidates(
            query=query["text"],
            passage_ids=[passage["id"] for passage in result],
            scores=[passage["score"] for passage in result],
        )
        for query, result in zip(queries, results, strict=True)
    ]
    titles = {passage["id"]: passage["title"] for result in results for passage in result}
    for offset, each in enumerate(candidates):
        emit(
            runtime,
            "retrieved",
            number=emit_first + len(queries) + offset,
            query=each["query"],
            passage_ids=list(each["passage_ids"]),
            titles=[titles[key] for key in each["passage_ids"]],
            scores=list(each["scores"]),
            left_out=left_out[offset],
        )
    proposed = [query["text"] for query in state["queries"]]
    return {
        "candidates": _in_places(proposed, approved, candidates, any_number=any_number),
        "passages": [passage for result in results for passage in result],
        # What a person did not want to be sent is not to be proposed again either.
        "asked": list(dict.fromkeys([*state["asked"], *proposed, *(query["text"] for query in queries)]))
        if approved.calls
        else [*state["asked"], *proposed],
        "calls": {**_counted(candidates, retrievers), **approved.calls},
    }


def _in_places(
    proposed: Sequence[str], approved: Approved, found: Sequence[Candidates], *, any_number: bool
) -> list[Candidates]:
    """Put what was found where the nodes that follow look for it: at the place of the query that was proposed.

    Args:
        proposed: The queries before a person saw them.
        approved: The same after it.
        found: One entry for each query that was sent.
        any_number: The places do not matter; only one query at least must be there.
    """
    if not approved.calls or (any_number and found):
        return list(found)
    if any_number:
        return [Candidates(query=proposed[0], passage_ids=[], scores=[])]
    left = iter(found)
    places = [
        Candidates(query=text, passage_ids=[], scores=[]) if query is None else next(left)
        for text, query in zip(proposed, approved.queries, strict=True)
    ]
    return [_joined([places[0], *left]), *places[1:]]


def _joined(found: Sequence[Candidates]) -> Candidates:
    """Unite what several queries found, as found by the first one."""
    scores: dict[str, float] = {}
    for each in found:
        for key, score in zip(each["passage_ids"], each["scores"], strict=True):
            scores[key] = max(score, scores.get(key, score))
    ids = sorted(scores, key=lambda key: (-scores[key], key))
    return Candidates(query=found[0]["query"], passage_ids=ids, scores=[scores[key] for key in ids])


class _Search(NamedTuple):
    """What is searched for."""

    query: str
    limit: int
    excluded: frozenset[str]
    hop: int
    question: str
    """Passages that contain it are left out; empty for none."""


class _Found(NamedTuple):
    passages: list[Passage]
    left_out: int
    """Passages that contain the question."""


async def _search(retriever: BaseRetriever, search: _Search) -> _Found:
    # Passages are left out after the search, so as many more are asked for.
    wanted = search.limit + len(search.excluded)
    found = _Found([], 0)
    for _ in range(_ROUNDS):
        documents = await _documents(retriever, search.query, wanted)
        name = type(retriever).__name__
        if search.question or sum(len(document.page_content) for document in documents) > LONG_WORK:
            found = await asyncio.to_thread(_found_in, documents, name, search)
        else:
            found = _found_in(documents, name, search)
        if not found.left_out or len(found.passages) == search.limit or len(documents) < wanted:
            break
        wanted *= 2
    return found


def _found_in(documents: Sequence[Document], retriever: str, search: _Search) -> _Found:
    """Keep the best of the documents that are neither excluded nor give the question away."""
    kept: list[Passage] = []
    left_out = 0
    for passage in passages_of(documents, retriever, search.hop):
        if len(kept) == search.limit:
            break
        if passage["id"] in search.excluded:
            continue
        if search.question and contains(f"{passage['title']} {passage['text']}", search.question):
            left_out += 1
        else:
            kept.append(passage)
    return _Found(kept, left_out)


async def _documents(retriever: BaseRetriever, query: str, count: int) -> list[Document]:
    """Call any LangChain retriever; its own number of passages counts where it does not take `k`."""
    own_async = _own_method(type(retriever), "_aget_relevant_documents")
    method = own_async or _own_method(type(retriever), "_get_relevant_documents")
    options: dict[str, Any] = {"k": count} if method and _takes_k(method) else {}
    if own_async:
        return await retriever.ainvoke(query, **options)
    # The inherited async method would not pass `k` on to the sync one.
    return await asyncio.to_thread(retriever.invoke, query, **options)


def _own_method(cls: type[BaseRetriever], name: str) -> Callable[..., Any] | None:
    method = getattr(cls, name)
    return None if method is getattr(BaseRetriever, name) else method


@cache
def _takes_k(method: Callable[..., Any]) -> bool:
    parameters = inspect.signature(method).parameters.values()
    return any(each.name == "k" or each.kind is each.VAR_KEYWORD for each in parameters)


def passages_of(documents: Sequence[Document], retriever: str, hop: int) -> list[Passage]:
    """Turn a LangChain retriever's documents into passages.

    A document without an id gets a hash of its text; without a score, a score by its rank. A passage that
    is given twice is kept once.

    Returns:
        In the order of the documents. Empty for none.
    """
    passages: dict[str, Passage] = {}
    for rank, document in enumerate(documents):
        metadata = cast("dict[str, Any]", document.metadata)
        text = clean(document.page_content)
        title = clean(str(metadata.get("title") or ""))
        key = str(document.id or metadata.get("id") or _hash(f"{title}\n{text}"))
        score = metadata.get("score", metadata.get("relevance_score"))
        passage = Passage(
            id=key,
            title=title,
            text=text,
            score=float(score) if score is not None else 1.0 / (rank + 1),
            source=str(metadata.get("source") or retriever),
            hop=hop,
        )
        passages.setdefault(key, passage)
    return list(passages.values())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _unite(results: Sequence[list[Passage]]) -> list[Passage]:
    """Unite what several retrievers found; where two corpora use one id for two texts, the later id is marked."""
    if len(results) == 1:
        return results[0]
    united: dict[str, Passage] = {}
    for passage in (passage for result in results for passage in result):
        known = united.setdefault(passage["id"], passage)
        if known["text"] != passage["text"]:
            marked = f"{passage['id']}#{_hash(passage['text'])[:8]}"
            united.setdefault(marked, Passage({**passage, "id": marked}))
    return list(united.values())


def _counted(candidates: Sequence[Candidates], retrievers: Sequence[BaseRetriever]) -> dict[str, Call]:
    where = place()
    return {
        f"{where.step:05}:{where.path}:{number:04}:{retriever_number}": {
            **nothing_spent("retrieval", type(retriever).__name__),
            "passages": len(each["passage_ids"]),
        }
        for number, each in enumerate(candidates)
        for retriever_number, retriever in enumerate(retrievers)
    }
