"""A language model as an entailment checker: `model:SPEC`, as `model:openai:gpt-4.1-mini`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from hopgraph.state import Call, EntailmentChecker
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models.model_judge import judge, judge_model

Pair = tuple[str, str]


class Support(BaseModel):
    """A reply of the role `scorer/judge_entailment`; `true` and `false` are read as 1 and 0."""

    supported: float = Field(ge=0, le=1)


@dataclass(frozen=True)
class ModelEntailment:
    """Asks a model about each pair, with the whole premise, in one call each."""

    name: str
    model: str
    threshold: float = 0.5

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score (premise, hypothesis) pairs; from a thread that is not the background loop's.

        Returns:
            One probability per pair, in order; 0.0 where no reply could be used.

        Raises:
            ModelError: a request failed for good.
        """
        return run_in_background(self.counted(pairs))[0]

    async def counted(self, pairs: Sequence[Pair]) -> tuple[list[float], list[Call]]:
        """Score pairs, and say what it cost; see `score`."""
        distinct = list(dict.fromkeys(pairs))
        judged = await asyncio.gather(
            *(
                judge(self.model, "scorer/judge_entailment", {"premise": premise, "statement": statement}, Support)
                for premise, statement in distinct
            )
        )
        scores = {
            pair: each.record.supported if each.record else 0.0 for pair, each in zip(distinct, judged, strict=True)
        }
        return [scores[pair] for pair in pairs], [each.call for each in judged]


def model_entailment(spec: str) -> EntailmentChecker:
    """Make a checker of a language model's spec.

    Raises:
        SpecError: nothing follows `model:`.
    """
    return ModelEntailment(redact(spec), judge_model(spec))
