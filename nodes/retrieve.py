"""Retrieve passages for every query of this iteration."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import NotRequired

from langgraph.runtime import Runtime

from hopgraph.nodes.core.budget import seconds_left
from hopgraph.nodes.core.excerpts import passages_by_id
from hopgraph.nodes.core.human_review import review_queries
from hopgraph.nodes.core.method_graph import HumanReview, reviewed_by
from hopgraph.nodes.core.search import SearchRequest, distinguish_texts, retrieval_calls, search_all
from hopgraph.nodes.core.step_events import current_position, emit
from hopgraph.state import BudgetState, Candidates, Context, Passage, Query, Update
from hopgraph.state.context import ContextT
from hopgraph.state.events import QuerySent, Retrieved
from hopgraph.tools.io.background import gather_or_cancel
from hopgraph.tools.resources import get_retrievers


class RetrieveState(BudgetState):
    """Keys that `retrieve` reads."""

    question: str
    """Read only with `exclude_question_text`, and for a reviewer."""
    queries: list[Query]
    approved: NotRequired[list[Query | None]]
    asked: list[str]
    excluded: list[str]
    passages: NotRequired[list[Passage]]
    """Those found before: a chunk with the id of one of them, but another text, gets its own id."""
    iteration: int


def make_retrieve_node(
    count: Callable[[ContextT, int], int], *, allow_added_queries: bool = False
) -> Callable[[RetrieveState, Runtime[ContextT]], Awaitable[Update]]:
    """Return the node that searches all queries concurrently, excluding the passages that memory excludes.

    It writes `passages`, `asked` and `candidates`: per proposed query up to `count(settings, iteration)` passages from
    each retriever, in its order; a second retriever's follow the first's, for a reranker to sort (MIGRES, Table 9).
    With `exclude_question_text`, passages that contain the question are replaced by others. A search
    stopped by the deadline finds nothing. If a person has reviewed the queries, the approved ones are sent: a
    rejected query has empty candidates, and the results of an added one join the first query's; or, with
    `allow_added_queries`, there are candidates for each query that was sent.
    """

    @reviewed_by(HumanReview(name="review_queries", setting="review_queries", node=review_queries))
    async def retrieve(state: RetrieveState, runtime: Runtime[ContextT]) -> Update:
        """Search all queries at once; writes `candidates`, `passages` and `asked`."""
        return await _retrieve(
            state, runtime, count(runtime.context, state["iteration"]), allow_added_queries=allow_added_queries
        )

    return retrieve


def top_k(settings: Context, _iteration: int) -> int:
    """Return the passages to retrieve per query, from the setting of this name."""
    return settings.top_k


retrieve = make_retrieve_node(top_k)
"""Search all queries at once, for as many passages each as the settings say."""


async def _retrieve(
    state: RetrieveState, runtime: Runtime[ContextT], count: int, *, allow_added_queries: bool = False
) -> Update:
    settings = runtime.context
    retrievers = await get_retrievers(settings)
    approved = state.get("approved") or state["queries"]
    queries = [query for query in approved if query]
    excluded, hop = frozenset(state["excluded"]), state["iteration"]
    # Numbered up front, so that the order of events does not depend on which search finishes first.
    emit_first = current_position().next_numbers(2 * len(queries))
    for offset, query in enumerate(queries):
        emit(runtime, QuerySent(query=query["text"], why=query["why"], hop=hop), number=emit_first + offset)
    leave_out = state["question"] if settings.exclude_question_text else ""
    searches = [SearchRequest(query["text"], count, excluded, hop, leave_out) for query in queries]
    seconds = seconds_left(settings, state)
    found = await gather_or_cancel(search_all(retrievers, search, seconds) for search in searches)
    known = passages_by_id(state.get("passages", ()))
    results = [distinguish_texts(each.passages, known) for each in found]
    candidates = [
        Candidates(
            query=query["text"],
            passage_ids=[passage["id"] for passage in result],
            scores=[passage["score"] for passage in result],
        )
        for query, result in zip(queries, results, strict=True)
    ]
    for offset, each in enumerate(candidates):
        event = Retrieved.of(each["query"], results[offset], found[offset].left_out)
        emit(runtime, event, number=emit_first + len(queries) + offset)
    numbered = enumerate(candidates)
    calls = [retrieval_calls(f"{n:04}", retrievers, len(each["passage_ids"])) for n, each in numbered]
    proposed = [query["text"] for query in state["queries"]]
    before = [*state["asked"], *proposed]
    return {
        "candidates": _in_places(proposed, approved, candidates, allow_added_queries=allow_added_queries),
        "passages": [passage for result in results for passage in result],
        # Queries that a reviewer rejected must not be proposed again.
        "asked": [*before, *(query["text"] for query in queries if query["text"] not in before)],
        "calls": dict(chain.from_iterable(each.items() for each in calls)),
    }


def _in_places(
    proposed: Sequence[str], approved: Sequence[Query | None], found: Sequence[Candidates], *, allow_added_queries: bool
) -> list[Candidates]:
    """Put the results of each query that was sent at the index of the proposed query, where later nodes look."""
    if allow_added_queries:
        return list(found) or [Candidates(query=text, passage_ids=[], scores=[]) for text in proposed[:1]]
    unplaced = iter(found)
    places = [
        next(unplaced) if query else Candidates(query=text, passage_ids=[], scores=[])
        for text, query in zip(proposed, approved, strict=False)  # added queries have no index
    ]
    added = list(unplaced)
    return [_joined([places[0], *added]), *places[1:]] if added else places


def _joined(found: Sequence[Candidates]) -> Candidates:
    """Merge the results of several queries under the first one."""
    scores: dict[str, float] = {}
    for each in found:
        for key, score in zip(each["passage_ids"], each["scores"], strict=True):
            scores[key] = max(score, scores.get(key, score))
    ids = sorted(scores, key=lambda key: (-scores[key], key))
    return Candidates(query=found[0]["query"], passage_ids=ids, scores=[scores[key] for key in ids])
