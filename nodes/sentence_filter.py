"""Drop irrelevant passages, and irrelevant sentences of the rest."""

import logging
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple, NotRequired

from langgraph.runtime import Runtime

from hopgraph.nodes.core.excerpts import excerpt_text, passages_by_id, whole_excerpt, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.shown_memory import sentences_left
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Candidates, Excerpt, Knowledge, Passage, Reranker
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
    scores, calls = await score_pairs(runtime, reranker, _pairs(state["candidates"], passages, remaining))
    rest = iter(scores)  # in the order of the pairs
    knowledge: list[Knowledge] = []
    for candidates in state["candidates"]:
        parts = [
            _Scored(passages[key], remaining[key], next(rest), list(islice(rest, len(remaining[key].sentences))))
            for key in candidates["passage_ids"]
        ]
        threshold = relevance_threshold(settings, reranker, max((part.score for part in parts), default=0.0))
        relevant = [
            part for part in parts if part.score >= threshold and (part.remaining.is_whole or part.remaining.sentences)
        ]
        relevant.sort(key=lambda part: -part.score)
        kept = [_excerpt(part, threshold) for part in relevant[: settings.passages_per_extraction]]
        knowledge.append(Knowledge(query=candidates["query"], excerpts=kept))
        event = Filtered(
            query=candidates["query"],
            threshold=threshold if isfinite(threshold) else None,
            passages_in=len(parts),
            sentences_in=sum(len(part.remaining.sentences) for part in parts),
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

    text: str
    """With the title, as a reranker reads it."""
    sentences: list[tuple[int, int]]
    """Empty where passages are not split."""
    is_whole: bool


class _Scored(NamedTuple):
    passage: Passage
    remaining: _Remaining
    score: float
    sentence_scores: list[float]


def _remaining(passage: Passage, seen: Mapping[str, list[list[int]]] | None) -> _Remaining:
    """Find what remains of a passage; `seen` are the shown spans by passage, None where passages are not split."""
    sentences = [] if seen is None else split_sentences(passage["text"])
    shown = seen.get(passage["id"]) if seen else None
    left = sentences_left(passage["text"], shown) if shown else sentences
    if len(left) == len(sentences):
        return _Remaining(with_title(passage), sentences, is_whole=True)
    text = " ".join(passage["text"][start:end] for start, end in left)
    return _Remaining(with_title(passage, text), left, is_whole=False)


def _pairs(
    candidates: Sequence[Candidates], passages: Mapping[str, Passage], remaining: Mapping[str, _Remaining]
) -> list[tuple[str, str]]:
    """Pair each query with its passages, and each of these with their sentences; all of it is one batch."""
    pairs: list[tuple[str, str]] = []
    for each in candidates:
        query = each["query"]
        for key in each["passage_ids"]:
            pairs.append((query, remaining[key].text))
            above, text = with_title(passages[key], ""), passages[key]["text"]
            pairs.extend([(query, above + text[start:end]) for start, end in remaining[key].sentences])
    return pairs


def _excerpt(part: _Scored, threshold: float) -> Excerpt:
    wins = part.score > max(part.sentence_scores, default=float("-inf"))
    if wins and part.remaining.is_whole:
        return whole_excerpt(part.passage, part.score)
    kept = [
        [start, end]
        for (start, end), score in zip(part.remaining.sentences, part.sentence_scores, strict=True)
        if wins or score >= threshold
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
