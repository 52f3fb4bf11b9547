"""Let a reranker or an entailment checker score the pairs of a step."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.step_events import current_place, emit
from hopgraph.state import Call, EntailmentChecker, Reranker
from hopgraph.state.events import Asked
from hopgraph.state.protocols import AsyncScorer, CountedScorer


async def score_pairs(
    runtime: Runtime[Any], scorer: Reranker | EntailmentChecker, pairs: Sequence[tuple[str, str]]
) -> tuple[list[float], dict[str, Call]]:
    """Score pairs without holding up the event loop, and count the model calls where that takes some.

    Returns:
        One score per pair, in order; and the calls, for the node's update of `calls`, empty unless the scorer
        is a language model. Each of them is reported as an `asked` event.
    """
    if not pairs:
        return [], {}
    if isinstance(scorer, CountedScorer):
        scores, calls = await scorer.score_with_calls(pairs)
        return scores, _reported(runtime, scorer.name, calls)
    if isinstance(scorer, AsyncScorer):
        return await scorer.ascore(pairs), {}
    return await asyncio.to_thread(scorer.score, pairs), {}


def _reported(runtime: Runtime[Any], name: str, calls: Sequence[Call]) -> dict[str, Call]:
    where = current_place()
    first = where.reserve(len(calls))
    numbered: dict[str, Call] = {}
    for number, call in enumerate(calls, first):
        emit(
            runtime,
            Asked(
                role=call["role"],
                model=name,
                outcome="fallback" if call["parse_failures"] == call["attempts"] else "replied",
                attempts=call["attempts"],
                cached=call["cached"],
                prompt_tokens=call["prompt_tokens"],
                completion_tokens=call["completion_tokens"],
                parse_failures=call["parse_failures"],
                seconds=0.0,
            ),
            number=number,
        )
        numbered[f"{where.step:05}:{where.path}:{number:04}:{call['role']}"] = call
    return numbered
