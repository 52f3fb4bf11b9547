"""A language model as a reranker: `model:SPEC`, as `model:openai:gpt-4.1-mini`."""

import asyncio
from collections.abc import Sequence

from pydantic import BaseModel, Field

from hopgraph.state import Call, Reranker
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models.model_judge import judge, judge_model
from hopgraph.tools.scoring.pair_scorers import JudgeScorer, Pair
from hopgraph.tools.scoring.rerankers.by_query import group_by_query, scores_of_pairs

TEXTS_PER_CALL = 20
"""Texts in one prompt. Each is rated by itself, so that long lists can be split."""


class Rating(BaseModel):
    """The relevance of one of the texts shown."""

    passage: int
    rating: float = Field(ge=0, le=10)


class Ratings(BaseModel):
    """A reply of the role `scorer/score_relevance`."""

    ratings: list[Rating]


def model_reranker(spec: str) -> Reranker:
    """Return a reranker that lets a language model rate texts from 0 to 10; a text it does not rate has 0.

    Sentences are texts too: `compression=none` saves most of the calls.

    Raises:
        SpecError: nothing follows `model:`.
    """
    model = judge_model(spec)

    async def rate(pairs: Sequence[Pair]) -> tuple[list[float], list[Call]]:
        groups = group_by_query(pairs, TEXTS_PER_CALL)
        judged = await asyncio.gather(
            *(
                judge(model, "scorer/score_relevance", {"question": query, "passages": texts}, Ratings)
                for query, texts in groups
            )
        )
        scores = [_ratings(each.record, len(texts)) for (_, texts), each in zip(groups, judged, strict=True)]
        return scores_of_pairs(pairs, groups, scores), [each.call for each in judged]

    return JudgeScorer(redact(spec), None, rate)


def _ratings(reply: Ratings | None, texts: int) -> list[float]:
    rated = {each.passage: each.rating for each in reply.ratings} if reply else {}
    return [rated.get(number, 0.0) for number in range(1, texts + 1)]
