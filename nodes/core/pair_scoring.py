"""Let a reranker or an entailment checker score the pairs of a step."""

from collections.abc import Sequence
from typing import Any, cast

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import report_call
from hopgraph.nodes.core.step_events import current_position
from hopgraph.state import Call, EntailmentChecker, Reranker
from hopgraph.state.protocols import AsyncScorer, CountedScorer
from hopgraph.tools.io.background import run_user_code
from hopgraph.tools.scoring.pair_scorers import check_scores


async def score_pairs(
    runtime: Runtime[Any], scorer: Reranker | EntailmentChecker, pairs: Sequence[tuple[str, str]]
) -> tuple[list[float], dict[str, Call]]:
    """Score pairs, in order, without blocking the event loop; also return a model's calls, each reported as `asked`.

    A ModelError: the scorer failed, or did not return a finite number for each pair.
    """
    if not pairs:
        return [], {}
    if getattr(scorer, "score_with_calls", None) is not None:  # `isinstance` with a protocol is slow
        scores, calls = await cast("CountedScorer", scorer).score_with_calls(pairs)
        first, reported = current_position().next_numbers(len(calls)), dict[str, Call]()
        for number, call in enumerate(calls, first):
            outcome = "fallback" if call["parse_failures"] == call["attempts"] else "replied"
            reported[report_call(runtime, call, scorer.name, outcome, number)] = call
        return scores, reported
    if getattr(scorer, "ascore", None) is not None:
        given = await cast("AsyncScorer", scorer).ascore(pairs)
    else:
        given = await run_user_code(scorer.score, pairs)
    return check_scores(scorer.name, given, len(pairs)), {}
