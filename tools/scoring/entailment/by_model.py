"""A language model as an entailment checker: `model:SPEC`, as `model:openai:gpt-4.1-mini`."""

import asyncio
from collections.abc import Sequence

from pydantic import BaseModel, Field

from hopgraph.state import Call, EntailmentChecker
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models.model_judge import judge, judge_model
from hopgraph.tools.scoring.pair_scorers import JudgeScorer, Pair


class Support(BaseModel):
    """A reply of the role `scorer/judge_entailment`; `true` and `false` are read as 1 and 0."""

    supported: float = Field(ge=0, le=1)


def model_entailment(spec: str) -> EntailmentChecker:
    """Return a checker that asks a language model about each pair, with the whole premise, in one call each.

    Raises:
        SpecError: nothing follows `model:`.
    """
    model = judge_model(spec)

    async def check(pairs: Sequence[Pair]) -> tuple[list[float], list[Call]]:
        distinct = list(dict.fromkeys(pairs))
        judged = await asyncio.gather(
            *(
                judge(model, "scorer/judge_entailment", {"premise": premise, "statement": statement}, Support)
                for premise, statement in distinct
            )
        )
        scores = {
            pair: each.record.supported if each.record else 0.0 for pair, each in zip(distinct, judged, strict=True)
        }
        return [scores[pair] for pair in pairs], [each.call for each in judged]

    return JudgeScorer(redact(spec), 0.5, check)
