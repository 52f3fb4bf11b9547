"""Choose which retrieved passages a reader sees."""

from collections import defaultdict
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.core.excerpts import candidate_excerpts, passages_by_id, whole_excerpt, with_title
from hopgraph.nodes.core.method_graph import Node
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.reply_text import knowledge_passage
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import excerpts_of_all_queries
from hopgraph.nodes.sentence_filter import describe_excerpt
from hopgraph.state import Candidates, Context, Excerpt, Knowledge, MethodState, Passage, Update
from hopgraph.state.baselines import (
    DspContext,
    DspState,
    IrcotContext,
    IrcotState,
    RerankedContext,
    VerifyAndEditContext,
)
from hopgraph.state.blendfilter import BlendFilterState
from hopgraph.state.events import Filtered, Reranked, United
from hopgraph.state.schemas import FoundState
from hopgraph.tools.io.background import LONG_SPLIT, maybe_to_thread
from hopgraph.tools.resources import get_reranker
from hopgraph.tools.text import split_sentences


def make_take_top_node(count: Callable[[Any], int]) -> Node:
    """Return the node that keeps each query's first candidates, whole: as many as `count` returns for the settings."""

    async def take_top(state: FoundState, runtime: Runtime[Context]) -> Update:
        passages, most = passages_by_id(state["passages"]), count(runtime.context)
        found = [(each["query"], candidate_excerpts([each], passages)) for each in state["candidates"]]
        return {"knowledge": [Knowledge(query=query, excerpts=excerpts[:most]) for query, excerpts in found]}

    return take_top


take_top = make_take_top_node(attrgetter("top_k"))
"""Keep as many passages as were requested, in the retriever's order."""


async def rerank(state: FoundState, runtime: Runtime[RerankedContext]) -> Update:
    """Sort each query's candidates by the reranker's score of the whole, titled passage (MIGRES, section 4.2).

    Ties stay in retrieval order; those below `threshold` are dropped. Writes `candidates`.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    reranker = await get_reranker(settings)
    pairs = [(each["query"], with_title(passages[key])) for each in state["candidates"] for key in each["passage_ids"]]
    found, calls = await score_pairs(runtime, reranker, pairs)
    scores = iter(found)
    lowest = float("-inf") if settings.threshold is None else settings.threshold
    candidates: list[Candidates] = []
    for each in state["candidates"]:
        scored = [(key, score) for key in each["passage_ids"] if (score := next(scores)) >= lowest]
        scored.sort(key=lambda pair: -pair[1])
        ids, ranked = [key for key, _ in scored], [score for _, score in scored]
        candidates.append(Candidates(query=each["query"], passage_ids=ids, scores=ranked))
        ranking = Reranked(
            query=each["query"],
            threshold=settings.threshold,
            passages_in=len(each["passage_ids"]),
            passage_ids=list(ids),
            scores=list(ranked),
        )
        emit(runtime, ranking)
    return {"candidates": candidates, "calls": calls}


take_best = make_take_top_node(attrgetter("context_passages"))
"""Keep the k best passages of the ranking."""


async def add_passages(state: IrcotState, runtime: Runtime[IrcotContext]) -> Update:
    """Add each query's new results to `knowledge`, whole, in rank order, up to `max_passages` in total (IRCoT)."""
    passages = passages_by_id(state["passages"])
    knowledge = list(state["knowledge"])
    for each in state["candidates"]:
        known = {excerpt["passage_id"] for excerpt in excerpts_of_all_queries(knowledge)}
        scored = zip(each["passage_ids"], each["scores"], strict=True)
        new = [whole_excerpt(passages[key], score) for key, score in scored if key not in known]
        room = runtime.context.max_passages - len(known)
        knowledge.append(Knowledge(query=each["query"], excerpts=new[:room]))
    return {"knowledge": knowledge}


def reason_of_search(hop: int, why: str) -> list[Passage]:
    """Return the reason for a hop's search as a passage to put before its results; None for the first hop."""
    return [knowledge_passage(str(hop), why, title="Reason for the search", hop=hop)] if why and hop > 1 else []


async def fuse_query_rankings(state: DspState, runtime: Runtime[DspContext]) -> Update:
    """Keep the `top_k` passages with the largest sums of scores (DSP's fused retrieval), whole.

    A query counts as often as it was sampled, the question once. In `knowledge` they replace those of the hops before,
    after the reason for the first query, or follow them (`context`); `passages` are those that any hop has kept.
    """
    passages, sums = passages_by_id(state["passages"]), defaultdict[str, float](float)
    for each in state["candidates"]:
        for key, score in zip(each["passage_ids"], each["scores"], strict=True):
            sums[key] += score * state["sampled"].get(each["query"], 1)
    best = sorted(sums, key=lambda key: (-sums[key], key))[: runtime.context.top_k]
    hop, why = state["iteration"], state["queries"][0]["why"]
    kept = [each for each in state["passages"] if each["hop"] < hop]
    earlier = {each["id"] for each in kept}
    fused = [Passage({**passages[key], "score": sums[key]}) for key in best if key not in earlier]
    replaces = runtime.context.context == "last_hop"
    reason = reason_of_search(hop, why) if replaces else []
    excerpts = [whole_excerpt(each, 0.0) for each in reason] + [whole_excerpt(passages[key], sums[key]) for key in best]
    found = Knowledge(query=state["candidates"][0]["query"], excerpts=excerpts)
    emit(runtime, United(passage_ids=best))
    return {
        "knowledge": [found] if replaces else [*state["knowledge"], found],
        "passages": Overwrite([*kept, *reason, *fused]),
    }


async def append_written_passage(state: MethodState) -> Update:
    """Show each query's retrieved passages in rank order, then its written one (GRG); rewrites `knowledge`."""
    passages = passages_by_id(state["passages"])
    return {
        "knowledge": [
            Knowledge(query=written["query"], excerpts=[*candidate_excerpts([found], passages), *written["excerpts"]])
            for found, written in zip(state["candidates"], state["knowledge"], strict=True)
        ]
    }


async def merge_branches(state: BlendFilterState, runtime: Runtime[Context]) -> Update:
    """Write one entry of `knowledge`: all passages kept for the queries, without repeats, in order (section 3.3)."""
    kept = excerpts_of_all_queries(state["knowledge"])
    emit(runtime, United(passage_ids=[excerpt["passage_id"] for excerpt in kept]))
    return {"knowledge": [Knowledge(query=state["question"], excerpts=kept)]}


async def nearest_sentences(state: FoundState, runtime: Runtime[VerifyAndEditContext]) -> Update:
    """Keep the `nearest_sentences` best of all of a query's passages, however low their scores (Verify-and-Edit).

    The reranker compares each sentence, below its passage's title, with the query. Writes `knowledge`: an entry per
    query, the passage with the best sentence first; of a passage its kept sentences, in its own order.
    """
    most, reranker = runtime.context.nearest_sentences, await get_reranker(runtime.context)
    passages = passages_by_id(state["passages"])
    found = [(each["query"], key) for each in state["candidates"] for key in each["passage_ids"]]
    texts = [passages[key]["text"] for _, key in found]
    long = sum(map(len, texts)) > LONG_SPLIT
    split = await maybe_to_thread(long, lambda: [*map(split_sentences, texts)])
    places = [(query, key, span) for (query, key), spans in zip(found, split, strict=True) for span in spans]
    pairs = [(query, with_title(passages[key], passages[key]["text"][slice(*span)])) for query, key, span in places]
    scores, calls = await score_pairs(runtime, reranker, pairs)
    scored = list(zip(scores, places, strict=True))
    knowledge: list[Knowledge] = []
    for candidates in state["candidates"]:
        own = [(score, key, span) for score, (query, key, span) in scored if query == candidates["query"]]
        spans, best = defaultdict[str, list[list[int]]](list), dict[str, float]()
        for score, key, span in sorted(own, key=lambda each: -each[0])[:most]:
            spans[key].append([*span])
            best.setdefault(key, score)
        excerpts = [Excerpt(passage_id=key, spans=sorted(spans[key]), text="", score=best[key]) for key in best]
        knowledge.append(Knowledge(query=candidates["query"], excerpts=excerpts))
        event = Filtered(
            query=candidates["query"],
            threshold=None,
            passages_in=len(candidates["passage_ids"]),
            sentences_in=len(own),
            kept=[describe_excerpt(each, passages[each["passage_id"]]) for each in excerpts],
        )
        emit(runtime, event)
    return {"knowledge": knowledge, "calls": calls}
