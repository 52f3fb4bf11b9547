"""Drop irrelevant passages, and irrelevant sentences of the others."""

import logging
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from math import isfinite
from typing import NamedTuple, NotRequired, cast

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import excerpt_text, passages_by_id, sentences_left, whole_excerpt, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Excerpt, Knowledge, Passage, Reranker, Update
from hopgraph.state.events import Filtered, KeptExcerpt
from hopgraph.state.passage_filtering import FilterContext
from hopgraph.state.protocols import AdaptiveReranker
from hopgraph.state.schemas import FoundState
from hopgraph.tools.io.background import LONG_SPLIT, maybe_to_thread
from hopgraph.tools.resources import get_reranker
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.analyzer import MAX_CACHED
from hopgraph.tools.text.sanitize import sanitize_line

_POINTS_BACK = re.compile(
    r"\W*(?:he|she|it|they|his|her|hers|its|their|this|that|these|those|there|then|such|both|the (?:former|latter)"
    r"|er|sie|es|ihr|ihre|sein|seine|dies|diese|dieser|dieses|dort|damals|beide"
    r"|il|elle|ils|elles|son|sa|ses|leur|leurs|ce|cet|cette|ces|[eé]l|ella|ellos|ellas|su|sus|est[aeo]s?)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that depends on the previous one (English, German, French, Spanish)."""
_SHORT_TITLE = 200  # characters of a title up to which a passage's parts, each below the title, are cached


class SentenceFilterState(FoundState):
    """Keys that `sentence_filter` reads."""

    shown: NotRequired[dict[str, list[list[int]]]]
    """MIGRES's memory of what was shown."""


async def sentence_filter(state: SentenceFilterState, runtime: Runtime[FilterContext]) -> Update:
    """Rerank each passage against its query and keep its relevant sentences (MIGRES section 3.2).

    A passage below δ (`threshold`) is dropped. Of the others the sentences that score at least δ are kept; a passage
    that scores above every one of its sentences is kept whole. Of each query's passages the best
    `context_passages` stay. What the memory has set aside is neither scored nor kept; the rest of such a passage
    is scored in its place.

    Reads `candidates`, `passages` and `shown`. Writes `knowledge`: one entry per query, best first, ties in retrieval
    order. As in the authors' code a sentence is scored with its passage's title in front, since "He was born there"
    names no person. *Ours*: one that points back so is kept with the sentence before it.
    """
    settings = runtime.context
    reranker = await get_reranker(settings)
    passages = passages_by_id(state["passages"])
    memory = state.get("shown", {}) if settings.filters_sentences else None
    found = [(each["query"], key) for each in state["candidates"] for key in each["passage_ids"]]
    retrieved = [passages[key] for key in dict.fromkeys(key for _, key in found)]
    long = sum(len(passage["text"]) for passage in retrieved) > LONG_SPLIT
    parts_left = await maybe_to_thread(long, lambda: [_remaining(passage, memory) for passage in retrieved])
    remaining = {passage["id"]: part for passage, part in zip(retrieved, parts_left, strict=True)}
    scores, calls = await score_pairs(
        runtime, reranker, [(query, text) for query, key in found for text in remaining[key].texts]
    )
    first = 0  # the index of a passage's own score; the scores of its sentences come right after it
    knowledge: list[Knowledge] = []
    for candidates in state["candidates"]:
        scored: list[tuple[float, str, int]] = []
        for key in candidates["passage_ids"]:
            scored.append((scores[first], key, first))
            first += len(remaining[key].texts)
        threshold = relevance_threshold(settings, reranker, max((score for score, *_ in scored), default=0.0))
        relevant = [
            (score, key, index)
            for score, key, index in scored
            if score >= threshold and (remaining[key].is_whole or remaining[key].sentences)
        ]
        relevant.sort(key=lambda each: -each[0])
        kept = [
            _excerpt(passages[key], remaining[key], scores[index : index + len(remaining[key].texts)], threshold)
            for _, key, index in relevant[: settings.context_passages]
        ]
        knowledge.append(Knowledge(query=candidates["query"], excerpts=kept))
        event = Filtered(
            query=candidates["query"],
            threshold=threshold if isfinite(threshold) else None,
            passages_in=len(scored),
            sentences_in=sum(len(remaining[key].sentences) for _, key, _ in scored),
            kept=[describe_excerpt(excerpt, passages[excerpt["passage_id"]]) for excerpt in kept],
        )
        emit(runtime, event)
    return {"knowledge": knowledge, "calls": calls}


def relevance_threshold(settings: FilterContext, reranker: Reranker, best: float) -> float:
    """Return δ: the setting if it applies to this reranker, else the reranker's calibrated value, else minus infinity.

    `best` is the score of the query's best passage, by which an `AdaptiveReranker` lowers its own value.
    """
    holds = settings.threshold_reranker is None or reranker.name.split(":")[0] == settings.threshold_reranker
    if settings.threshold is not None and holds:
        return settings.threshold
    if getattr(reranker, "adapted_threshold", None) is not None:
        return cast("AdaptiveReranker", reranker).adapted_threshold(best)
    if reranker.threshold is None:
        _warn_uncalibrated(sanitize_line(reranker.name))
        return float("-inf")
    return reranker.threshold


@cache
def _warn_uncalibrated(name: str) -> None:
    logging.getLogger(__name__).warning(
        "the reranker %s has no calibrated threshold, so every passage counts as relevant: set `threshold`; "
        "for a reranker that is named by a spec, `hopgraph calibrate QUESTIONS --corpus DIR --reranker %s` finds one",
        name,
        shlex.quote(name),
    )


class _Remaining(NamedTuple):
    """The part of a passage that is not set aside."""

    texts: list[str]
    """All of it and then each sentence, with the title, in the form for a reranker."""
    sentences: list[tuple[int, int]]
    """Empty if passages are not split."""
    is_whole: bool


def _remaining(passage: Passage, memory: Mapping[str, list[list[int]]] | None) -> _Remaining:
    """Return what remains of a passage; `memory` is `shown`, None if passages are not split."""
    title = with_title(passage, "")
    if memory is None:
        return _Remaining([title + passage["text"]], [], is_whole=True)
    is_short = len(title) <= _SHORT_TITLE and len(passage["text"]) <= MAX_CACHED
    split = _all_parts if is_short else _all_parts.__wrapped__
    whole = split(title, passage["text"])
    shown = memory.get(passage["id"])
    if not shown:
        return whole
    left = sentences_left(passage["text"], shown)
    if len(left) == len(whole.sentences):
        return whole
    parts = [passage["text"][start:end] for start, end in left]
    return _Remaining([title + part for part in (" ".join(parts), *parts)], left, is_whole=False)


@lru_cache(maxsize=2048)
def _all_parts(title: str, text: str) -> _Remaining:
    sentences = split_sentences(text)
    parts = (text, *(text[start:end] for start, end in sentences))
    return _Remaining([title + part for part in parts], sentences, is_whole=True)


def _excerpt(passage: Passage, remaining: _Remaining, scores: Sequence[float], threshold: float) -> Excerpt:
    """Return the excerpt of a relevant passage; `scores` are those of `remaining.texts`."""
    score, *sentence_scores = scores
    wins = score > max(sentence_scores, default=float("-inf"))
    if wins and remaining.is_whole:
        return whole_excerpt(passage, score)
    chosen = [wins or sentence_score >= threshold for sentence_score in sentence_scores]
    for at in range(len(chosen) - 1, 0, -1):  # from the last one, since what one points to may point back, too
        start, end = remaining.sentences[at]
        chosen[at - 1] |= chosen[at] and _POINTS_BACK.match(passage["text"], start, end) is not None
    kept = [[start, end] for (start, end), is_kept in zip(remaining.sentences, chosen, strict=True) if is_kept]
    return Excerpt(passage_id=passage["id"], spans=kept, text="", score=score)


def describe_excerpt(excerpt: Excerpt, passage: Passage) -> KeptExcerpt:
    """Describe a kept excerpt for a `filtered` event."""
    whole_passage = excerpt["spans"] == [[0, len(passage["text"])]]
    return KeptExcerpt(
        passage_id=excerpt["passage_id"],
        title=passage["title"],
        score=excerpt["score"],
        spans=excerpt["spans"],
        sentences=0 if whole_passage else len(excerpt["spans"]),
        whole=whole_passage,
        text=excerpt_text(excerpt, passage),
    )
