"""Keep the sentences of the retrieved passages that are closest to their query."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.sentence_filter import describe_excerpt
from hopgraph.state import Candidates, Excerpt, Knowledge, Passage
from hopgraph.state.events import Filtered
from hopgraph.state.revising import VerifyAndEditContext
from hopgraph.state.schemas import FoundState
from hopgraph.tools.resources import get_reranker
from hopgraph.tools.text import split_sentences


class _Sentence(NamedTuple):
    passage: Passage
    span: tuple[int, int]


async def closest_sentences(state: FoundState, runtime: Runtime[VerifyAndEditContext]) -> Mapping[str, Any]:
    """Keep for each query the `closest_sentences` that the reranker scores best, with the title in front.

    All pairs of all queries are scored in one batch. Writes `knowledge`: one entry per query, passages by their best
    sentence, ties in retrieval order; no excerpts for a query that found nothing.
    """
    settings, passages, found = runtime.context, passages_by_id(state["passages"]), state["candidates"]
    sentences = await asyncio.to_thread(lambda: [_sentences(each, passages) for each in found])
    pairs = [
        (each["query"], with_title(passage, passage["text"][start:end]))
        for each, of_query in zip(found, sentences, strict=True)
        for passage, (start, end) in of_query
    ]
    scored, calls = await score_pairs(runtime, await get_reranker(settings), pairs)
    scores = iter(scored)
    knowledge: list[Knowledge] = []
    for each, of_query in zip(found, sentences, strict=True):
        ranked = sorted(((next(scores), sentence) for sentence in of_query), key=lambda pair: -pair[0])
        kept: dict[str, Excerpt] = {}
        for score, (passage, span) in ranked[: settings.closest_sentences]:
            new = Excerpt(passage_id=passage["id"], spans=[], text="", score=score)
            excerpt = kept.setdefault(passage["id"], new)
            excerpt["spans"] = sorted([*excerpt["spans"], list(span)])
        knowledge.append(Knowledge(query=each["query"], excerpts=list(kept.values())))
        event = Filtered(
            query=each["query"],
            threshold=None,
            passages_in=len(each["passage_ids"]),
            sentences_in=len(of_query),
            kept=[describe_excerpt(excerpt, passages[key]) for key, excerpt in kept.items()],
        )
        emit(runtime, event)
    return {"knowledge": knowledge, "calls": calls}


def _sentences(found: Candidates, passages: Mapping[str, Passage]) -> Sequence[_Sentence]:
    of_query = (passages[key] for key in found["passage_ids"])
    return [_Sentence(passage, span) for passage in of_query for span in split_sentences(passage["text"])]
