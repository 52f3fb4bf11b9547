"""A language model as a reranker: `model:SPEC`, as `model:openai:gpt-4.1-mini`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from hopgraph.state import Call, Reranker
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models.model_judge import judge, judge_model
from hopgraph.tools.scoring.rerankers.by_query import Pair, in_order, parts_of

TEXTS_PER_CALL = 20
"""Texts that are shown in one prompt. They are rated each on its own, so that lists can be parted."""


class Rating(BaseModel):
    """How relevant one of the shown texts is."""

    passage: int
    rating: float = Field(ge=0, le=10)


class Ratings(BaseModel):
    """A reply of the role `scorer/score_relevance`."""

    ratings: list[Rating]


@dataclass(frozen=True)
class ModelReranker:
    """Lets a model rate texts from 0 to 10. Sentences are texts too: `compression=none` saves most of the calls."""

    name: str
    model: str
    threshold: float | None = None

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score (query, text) pairs; from a thread that is not the background loop's.

        Returns:
            One rating from 0 to 10 per pair, in order; 0.0 for a text that the model did not rate.

        Raises:
            ModelError: a request failed for good.
        """
        return run_in_background(self.counted(pairs))[0]

    async def counted(self, pairs: Sequence[Pair]) -> tuple[list[float], list[Call]]:
        """Score pairs, and say what it cost; see `score`."""
        parts = parts_of(pairs, TEXTS_PER_CALL)
        judged = await asyncio.gather(
            *(
                judge(self.model, "scorer/score_relevance", {"question": query, "passages": part}, Ratings)
                for query, part in parts
            )
        )
        scores = [_ratings(each.record, len(texts)) for (_, texts), each in zip(parts, judged, strict=True)]
        return in_order(pairs, parts, scores), [each.call for each in judged]


def _ratings(given: Ratings | None, texts: int) -> list[float]:
    rated = {each.passage: each.rating for each in given.ratings} if given else {}
    return [rated.get(number, 0.0) for number in range(1, texts + 1)]


def model_reranker(spec: str) -> Reranker:
    """Make a reranker of a language model's spec.

    Raises:
        SpecError: nothing follows `model:`.
    """
    return ModelReranker(redact(spec), judge_model(spec))
