"""Drop irrelevant passages, and irrelevant sentences of the rest."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import excerpt_text, passages_by_id, whole_excerpt, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Candidates, Excerpt, Knowledge, Passage, Reranker
from hopgraph.state.events import Filtered, KeptExcerpt
from hopgraph.state.passage_filtering import FilterContext
from hopgraph.state.schemas import FoundState
from hopgraph.tools.resources import get_reranker
from hopgraph.tools.text import split_sentences


async def sentence_filter(state: FoundState, runtime: Runtime[FilterContext]) -> Mapping[str, Any]:
    """Rerank each passage against its query and keep its relevant sentences (MIGRES section 3.2).

    A passage below δ is dropped. Of the others the sentences from δ on are kept; where the passage as a
    whole scores above every one of its sentences, it is kept whole. Of each query's passages the best
    `passages_per_extraction` stay. All pairs of all queries are scored in one batch.

    Writes `knowledge`: one entry per query, excerpts by passage score, best first, ties in retrieval
    order; no excerpts where nothing was kept. *Ours*: a sentence is scored with its passage's title in front, since
    "He was born there" names no person. Where the settings compress in another way passages stay whole.
    """
    settings = runtime.context
    reranker = await get_reranker(settings)
    passages = passages_by_id(state["passages"])
    spans, pairs = await asyncio.to_thread(_pairs, state["candidates"], passages, settings.by_sentences)
    found, calls = await score_pairs(runtime, reranker, pairs)
    scores = iter(found)
    threshold = relevance_threshold(settings, reranker)
    knowledge: list[Knowledge] = []
    for candidates in state["candidates"]:
        parts = [  # the scores come in the order of the pairs
            _Scored(passages[key], next(scores), spans[key], [next(scores) for _ in spans[key]])
            for key in candidates["passage_ids"]
        ]
        kept = [excerpt for part in parts if (excerpt := _excerpt(part, threshold))]
        kept.sort(key=lambda excerpt: -excerpt["score"])
        kept = kept[: settings.passages_per_extraction]
        knowledge.append(Knowledge(query=candidates["query"], excerpts=kept))
        event = Filtered(
            query=candidates["query"],
            threshold=threshold if isfinite(threshold) else None,
            passages_in=len(parts),
            sentences_in=sum(len(part.sentences) for part in parts),
            kept=[describe_excerpt(excerpt, passages[excerpt["passage_id"]]) for excerpt in kept],
        )
        emit(runtime, event)
    return {"knowledge": knowledge, "calls": calls}


def relevance_threshold(settings: FilterContext, reranker: Reranker) -> float:
    """Choose δ: the setting if it holds for this reranker, else the reranker's calibrated value.

    Returns:
        Minus infinity where neither exists: everything is kept.
    """
    holds = settings.threshold_for is None or reranker.name.split(":")[0] == settings.threshold_for
    chosen = settings.threshold if settings.threshold is not None and holds else reranker.threshold
    return float("-inf") if chosen is None else chosen


@dataclass(frozen=True)
class _Scored:
    passage: Passage
    score: float
    sentences: list[tuple[int, int]]
    sentence_scores: list[float]


_Spans = dict[str, list[tuple[int, int]]]
"""The sentences of each passage, by its id."""


def _pairs(
    candidates: Sequence[Candidates], passages: Mapping[str, Passage], split: bool
) -> tuple[_Spans, list[tuple[str, str]]]:
    """Pair each query with its passages, and each of these with their sentences; all of it is one batch."""
    pairs: list[tuple[str, str]] = []
    spans: _Spans = {}
    for each in candidates:
        for key in each["passage_ids"]:
            passage = passages[key]
            if key not in spans:
                spans[key] = split_sentences(passage["text"]) if split else []
            pairs.append((each["query"], with_title(passage)))
            pairs.extend((each["query"], with_title(passage, passage["text"][start:end])) for start, end in spans[key])
    return spans, pairs


def _excerpt(part: _Scored, threshold: float) -> Excerpt | None:
    if part.score < threshold:
        return None
    if part.score > max(part.sentence_scores, default=float("-inf")):
        return whole_excerpt(part.passage, part.score)
    kept = [
        [start, end]
        for (start, end), score in zip(part.sentences, part.sentence_scores, strict=True)
        if score >= threshold
    ]
    return Excerpt(passage_id=part.passage["id"], spans=kept, text="", score=part.score)


def describe_excerpt(excerpt: Excerpt, passage: Passage) -> KeptExcerpt:
    """Describe a kept excerpt for a `filtered` event."""
    whole_passage = excerpt["spans"] == [[0, len(passage["text"])]]
    return KeptExcerpt(
        passage_id=excerpt["passage_id"],
        title=passage["title"],
        score=excerpt["score"],
        spans=[list(span) for span in excerpt["spans"]],
        sentences=0 if whole_passage else len(excerpt["spans"]),
        whole=whole_passage,
        text=excerpt_text(excerpt, passage),
    )
