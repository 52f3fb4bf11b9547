"""The remaining budget: model calls, tokens, seconds.

The state may have been edited, so nothing in it lowers what the current run has spent: counts below 0 are 0, and the
seconds are at least those of the process's own clock.
"""

import time

from hopgraph.state import BudgetState, Call, Context
from hopgraph.state.run_settings import once_per_run, seconds_of_run

ANSWER_SHARE = 0.25
"""The share of the token and time budget reserved for the final answer."""
REPLY_TOKENS = 150
"""Estimated tokens of a pending reply."""


def spending_of_run(settings: Context) -> dict[str, Call]:
    """Return the current run's calls by id, including those in progress; concurrent tasks see them immediately."""
    return once_per_run(settings, "spending", dict[str, Call])


def allows_call(settings: Context, state: BudgetState, tokens: int, *, reserve_calls: int | None = None) -> bool:
    """Return whether one more request with this many expected tokens may be sent.

    `reserve_calls` calls are kept for later steps, and with them ANSWER_SHARE of the tokens and the time; None for the
    final answer.
    """
    calls, answer_follows = calls_left(settings, state), reserve_calls is not None
    left = tokens_left(settings, state, answer_follows=answer_follows)
    seconds = seconds_left(settings, state, answer_follows=answer_follows)
    return (
        (calls is None or calls > (reserve_calls or 0))
        and (left is None or left >= tokens)
        and (seconds is None or seconds > 0)
    )


def calls_left(settings: Context, state: BudgetState) -> int | None:
    """Return the number of model calls that the budget still allows, at least 0; None without a limit."""
    if settings.max_llm_calls is None:
        return None
    return max(0, settings.max_llm_calls - sum(max(0, call["attempts"]) for call in state["calls"].values()))


def tokens_spent(state: BudgetState) -> int:
    """Return the sum of prompt and completion tokens so far."""
    return sum(max(0, call["prompt_tokens"]) + max(0, call["completion_tokens"]) for call in state["calls"].values())


def tokens_left(settings: Context, state: BudgetState, *, answer_follows: bool = False) -> int | None:
    """Return the tokens still allowed, minus ANSWER_SHARE if the final answer follows; None without a limit."""
    if settings.max_tokens is None:
        return None
    most = settings.max_tokens * (1 - ANSWER_SHARE) if answer_follows else settings.max_tokens
    return int(most) - tokens_spent(state)


def seconds_left(settings: Context, state: BudgetState, *, answer_follows: bool = False) -> float | None:
    """Return the seconds until the deadline, minus ANSWER_SHARE if the final answer follows; None without one."""
    if settings.deadline_seconds is None:
        return None
    most = settings.deadline_seconds * (1 - ANSWER_SHARE) if answer_follows else settings.deadline_seconds
    return most - max(time.time() - state["started_at"] - paused_seconds(state), seconds_of_run(settings))


def limits_left(settings: Context, spent: BudgetState, now: float | None = None) -> Context:
    """Subtract usage so far from the limits; a little is always left, so that a method can end in its own way."""
    limits: dict[str, float | None] = {}
    if (calls := calls_left(settings, spent)) is not None:
        limits["max_llm_calls"] = max(1, calls)
    if (tokens := tokens_left(settings, spent)) is not None:
        limits["max_tokens"] = max(1, tokens)
    if settings.deadline_seconds is not None:
        passed = max(0.0, (now or time.time()) - spent["started_at"] - paused_seconds(spent))
        limits["deadline_seconds"] = max(0.001, settings.deadline_seconds - passed)
    return settings.model_copy(update=limits)


def paused_seconds(state: BudgetState) -> float:
    """Return the seconds that the run waited for a person; overlapping waits count once."""
    total, end = 0.0, 0.0
    for begin, last in sorted(tuple(call["paused"]) for call in state["calls"].values() if "paused" in call):
        total += max(0.0, last - max(begin, end))
        end = max(end, last)
    return total


def is_exhausted(settings: Context, state: BudgetState, calls: int) -> bool:
    """Return whether the budget no longer allows `calls` more model calls with something left for an answer."""
    return not allows_call(settings, state, REPLY_TOKENS + 1, reserve_calls=calls - 1)
