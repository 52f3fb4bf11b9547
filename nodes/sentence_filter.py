"""Drop irrelevant passages, and irrelevant sentences of the rest."""

import logging
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice, repeat
from math import isfinite
from typing import Any, NamedTuple, NotRequired

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import excerpt_text, passages_by_id, whole_excerpt, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.shown_memory import sentences_left
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Excerpt, Knowledge, Passage, Reranker
from hopgraph.state.events import Filtered, KeptExcerpt
from hopgraph.state.passage_filtering import FilterContext
from hopgraph.state.protocols import AdaptiveReranker
from hopgraph.state.schemas import FoundState
from hopgraph.tools.io.background import LONG_SPLIT, in_turns
from hopgraph.tools.resources import get_reranker
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.sanitize import sanitize_line


class FilterState(FoundState):
    """What `sentence_filter` reads."""

    uncited: NotRequired[dict[str, list[list[int]]]]
    """MIGRES's memory of what was shown and not cited: what two queries showed is set aside, and not read again."""


async def sentence_filter(state: FilterState, runtime: Runtime[FilterContext]) -> Mapping[str, Any]:
    """Rerank each passage against its query and keep its relevant sentences (MIGRES section 3.2).

    A passage below δ (`threshold`) is dropped. Of the others the sentences that score at least δ are kept; where the
    passage as a whole scores above every one of its sentences, it is kept whole. Of each query's passages the best
    `passages_per_extraction` (5) stay. All pairs of all queries are scored in one batch. What the memory has set aside
    is neither scored nor kept; the rest of such a passage is scored in its place.

    Writes `knowledge`: one entry per query, excerpts by passage score, best first, ties in retrieval
    order; no excerpts where nothing was kept. *Ours*: a sentence is scored with its passage's title in front, since
    "He was born there" names no person. Where the settings compress in another way passages stay whole.
    """
    settings = runtime.context
    reranker = await get_reranker(settings)
    passages = passages_by_id(state["passages"])
    seen = state.get("uncited", {}) if settings.filters_sentences else None
    shown = [passages[key] for key in dict.fromkeys(key for each in state["candidates"] for key in each["passage_ids"])]
    long = any(len(passage["text"]) > LONG_SPLIT for passage in shown)
    parts_left = await in_turns(lambda passage: _remaining(passage, seen), shown, long=long)
    remaining = {passage["id"]: part for passage, part in zip(shown, parts_left, strict=True)}
    pairs: list[tuple[str, str]] = []
    for candidates in state["candidates"]:
        for key in candidates["passage_ids"]:
            pairs.extend(zip(repeat(candidates["query"]), remaining[key].texts))
    scores, calls = await score_pairs(runtime, reranker, pairs)
    rest = iter(scores)  # in the order of the pairs
    knowledge: list[Knowledge] = []
    for candidates in state["candidates"]:
        scored = [(key, list(islice(rest, len(remaining[key].texts)))) for key in candidates["passage_ids"]]
        threshold = relevance_threshold(settings, reranker, max((each[0] for _, each in scored), default=0.0))
        relevant = [
            (key, each)
            for key, each in scored
            if each[0] >= threshold and (remaining[key].is_whole or remaining[key].sentences)
        ]
        relevant.sort(key=lambda each: -each[1][0])
        kept = [
            _excerpt(passages[key], remaining[key], each, threshold)
            for key, each in relevant[: settings.passages_per_extraction]
        ]
        knowledge.append(Knowledge(query=candidates["query"], excerpts=kept))
        event = Filtered(
            query=candidates["query"],
            threshold=threshold if isfinite(threshold) else None,
            passages_in=len(scored),
            sentences_in=sum(len(remaining[key].sentences) for key, _ in scored),
            kept=[describe_excerpt(excerpt, passages[excerpt["passage_id"]]) for excerpt in kept],
        )
        emit(runtime, event)
    return {"knowledge": knowledge, "calls": calls}


def relevance_threshold(settings: FilterContext, reranker: Reranker, best: float) -> float:
    """Choose δ: the setting if it holds for this reranker, else the reranker's calibrated value.

    `best` is the score of the query's best passage, by which an `AdaptiveReranker` lowers its own value.

    Returns:
        Minus infinity where neither exists: everything is kept, which is logged as a warning once for each reranker.
    """
    holds = settings.threshold_for is None or reranker.name.split(":")[0] == settings.threshold_for
    if settings.threshold is not None and holds:
        return settings.threshold
    if isinstance(reranker, AdaptiveReranker):
        return reranker.threshold_for(best)
    if reranker.threshold is None:
        _warn_uncalibrated(sanitize_line(reranker.name))
        return float("-inf")
    return reranker.threshold


@cache
def _warn_uncalibrated(name: str) -> None:
    logging.getLogger(__name__).warning(
        "the reranker %s has no calibrated threshold, so every passage counts as relevant: find one with "
        "`hopgraph calibrate QUESTIONS --corpus DIR --reranker %s` and set it as `threshold`",
        name,
        shlex.quote(name),
    )


class _Remaining(NamedTuple):
    """What of a passage is not set aside."""

    texts: list[str]
    """All of it and then each sentence, with the title, as a reranker reads them."""
    sentences: list[tuple[int, int]]
    """Empty where passages are not split."""
    is_whole: bool


def _remaining(passage: Passage, seen: Mapping[str, list[list[int]]] | None) -> _Remaining:
    """Find what remains of a passage; `seen` are the shown spans by passage, None where passages are not split."""
    text, above = passage["text"], with_title(passage, "")
    sentences = [] if seen is None else split_sentences(text)
    shown = seen.get(passage["id"]) if seen else None
    left = sentences_left(text, shown) if shown else sentences
    parts = [text[start:end] for start, end in left]
    is_whole = len(left) == len(sentences)
    return _Remaining([above + part for part in (text if is_whole else " ".join(parts), *parts)], left, is_whole)


def _excerpt(passage: Passage, remaining: _Remaining, scores: Sequence[float], threshold: float) -> Excerpt:
    """Make the excerpt of a relevant passage; `scores` are those of `remaining.texts`."""
    score, *sentence_scores = scores
    wins = score > max(sentence_scores, default=float("-inf"))
    if wins and remaining.is_whole:
        return whole_excerpt(passage, score)
    kept = [
        [start, end]
        for (start, end), sentence_score in zip(remaining.sentences, sentence_scores, strict=True)
        if wins or sentence_score >= threshold
    ]
    return Excerpt(passage_id=passage["id"], spans=kept, text="", score=score)


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
