"""How far the budget reaches: model calls, tokens, seconds."""

import time
from collections.abc import Sequence

from hopgraph.state import Context, Spent


def allowances(settings: Context, state: Spent, prompt_tokens: Sequence[int], *, keep: int = 0) -> list[int]:
    """Give out what is left of the budget, in order.

    Args:
        settings: The limits, and how often an unusable reply is asked for again.
        state: What was spent so far.
        prompt_tokens: The estimated size of each prompt that is about to be sent.
        keep: Calls to leave over for a later step.

    Returns:
        For each prompt how many requests it may send, re-asks included; 0 where the budget does not reach.
        First requests come before re-asks.
    """
    most = 1 + settings.parse_retries
    left = calls_left(settings, state)
    reached = _within_tokens(settings, state, prompt_tokens)
    if left is None:
        return [most if reach else 0 for reach in reached]
    left -= keep
    shares: list[int] = []
    for reach in reached:
        shares.append(1 if reach and left > 0 else 0)
        left -= shares[-1]
    for index, share in enumerate(shares):
        extra = min(most - 1, max(left, 0)) if share else 0
        shares[index] += extra
        left -= extra
    return shares


def _within_tokens(settings: Context, state: Spent, prompt_tokens: Sequence[int]) -> list[bool]:
    if (left := seconds_left(settings, state)) is not None and left <= 0:
        return [False] * len(prompt_tokens)
    if settings.max_tokens is None:
        return [True] * len(prompt_tokens)
    spent = tokens_spent(state)
    reached: list[bool] = []
    for size in prompt_tokens:
        reached.append(spent + size <= settings.max_tokens)
        spent += size if reached[-1] else 0
    return reached


def calls_left(settings: Context, state: Spent) -> int | None:
    """Count the model calls that the budget still allows, not below 0; None without a limit."""
    if settings.max_llm_calls is None:
        return None
    return max(0, settings.max_llm_calls - sum(call["attempts"] for call in state["calls"].values()))


def tokens_spent(state: Spent) -> int:
    """Sum the prompt and completion tokens so far."""
    return sum(call["prompt_tokens"] + call["completion_tokens"] for call in state["calls"].values())


def seconds_left(settings: Context, state: Spent) -> float | None:
    """Count the seconds until the deadline; None without one, at most 0 when it has passed."""
    if settings.deadline_seconds is None:
        return None
    return settings.deadline_seconds - (time.time() - state["started_at"])


def is_exhausted(settings: Context, state: Spent, calls: int) -> bool:
    """Tell whether the budget no longer allows `calls` more model calls."""
    left, seconds = calls_left(settings, state), seconds_left(settings, state)
    return (
        (left is not None and left < calls)
        or (seconds is not None and seconds <= 0)
        or (settings.max_tokens is not None and tokens_spent(state) >= settings.max_tokens)
    )
