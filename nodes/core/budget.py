"""How far the budget reaches: model calls, tokens, seconds."""

import time
from collections.abc import Mapping, Sequence

from hopgraph.state import Call, Context, Spent, empty_call

ANSWER_SHARE = 0.25
"""The part of the token and time budget that is left over for the final answer."""
REPLY_TOKENS = 150
"""Estimated tokens of a reply that is not yet there."""


def allocate_calls(
    settings: Context, state: Spent, prompt_tokens: Sequence[int], *, reserve_calls: int | None = None
) -> list[int]:
    """Give out what is left of the budget to prompts of these estimated sizes, in order, first requests before re-asks.

    For each it says how many requests may be sent. `reserve_calls` are left over for later steps, besides those that a
    branch's reserve holds, and with them ANSWER_SHARE of the tokens and the time; None for the final answer.
    """
    calls, answer_follows = calls_left(settings, state), reserve_calls is not None
    tokens = tokens_left(settings, state, answer_follows=answer_follows)
    seconds = seconds_left(settings, state, answer_follows=answer_follows)
    if seconds is not None and seconds <= 0:
        return [0] * len(prompt_tokens)
    shares = [0] * len(prompt_tokens)
    calls = None if calls is None else calls - (reserve_calls or 0)
    for _ in range(1 + settings.parse_retries):
        for index, size in enumerate(prompt_tokens):
            need = size + REPLY_TOKENS
            if (calls is None or calls > 0) and (tokens is None or tokens >= need):
                shares[index] += 1
                calls = None if calls is None else calls - 1
                tokens = None if tokens is None else tokens - need
    return shares


def calls_left(settings: Context, state: Spent) -> int | None:
    """Count the model calls that the budget still allows, not below 0; None without a limit."""
    if settings.max_llm_calls is None:
        return None
    return max(0, settings.max_llm_calls - sum(call["attempts"] for call in state["calls"].values()))


def tokens_spent(state: Spent) -> int:
    """Sum the prompt and completion tokens so far."""
    return sum(call["prompt_tokens"] + call["completion_tokens"] for call in state["calls"].values())


def tokens_left(settings: Context, state: Spent, *, answer_follows: bool = False) -> int | None:
    """Count the tokens still allowed, less ANSWER_SHARE where the final answer follows; None without a limit."""
    if settings.max_tokens is None:
        return None
    most = settings.max_tokens * (1 - ANSWER_SHARE) if answer_follows else settings.max_tokens
    return int(most) - tokens_spent(state)


def seconds_left(settings: Context, state: Spent, *, answer_follows: bool = False) -> float | None:
    """Count the seconds until the deadline, less ANSWER_SHARE where the final answer follows; None without one."""
    if settings.deadline_seconds is None:
        return None
    most = settings.deadline_seconds * (1 - ANSWER_SHARE) if answer_follows else settings.deadline_seconds
    return most - (time.time() - state["started_at"] - paused_seconds(state))


def pause_calls(calls: Mapping[str, Call]) -> dict[str, Call]:
    """Take the pauses out of all calls, for a branch that otherwise counts its calls from nothing."""
    return {key: call for key, call in calls.items() if call["kind"] == "pause"}


def paused_seconds(state: Spent) -> float:
    """Sum the seconds in which the run waited for a person; those of several at once count once."""
    total, end = 0.0, 0.0
    for begin, last in sorted(tuple(call["paused"]) for call in state["calls"].values() if "paused" in call):
        total += max(0.0, last - max(begin, end))
        end = max(end, last)
    return total


def is_exhausted(settings: Context, state: Spent, calls: int) -> bool:
    """Whether the budget no longer allows `calls` more model calls with something left for an answer."""
    left = calls_left(settings, state)
    seconds = seconds_left(settings, state, answer_follows=True)
    tokens = tokens_left(settings, state, answer_follows=True)
    return (
        (left is not None and left < calls)
        or (seconds is not None and seconds <= 0)
        or (tokens is not None and tokens <= REPLY_TOKENS)
    )


def share_among_branches(
    settings: Context, state: Spent, needs: Sequence[tuple[int, int]], *, reserve_calls: int = 0
) -> list[Call]:
    """Allocate the budget to branches that are about to run in parallel, in order: what counts as spent in each.

    No branch sees what the others spend. One starts where its whole need is left; the first also with less, from its
    least need on. `needs` are, per branch, the fewest and the most model calls that it makes sense with, without
    re-asks, for which what remains is shared; branches that cannot start are left out, the last ones. `reserve_calls`
    are left over for later steps, 0 where each branch reserves them in its own need. Tokens cannot be known in advance:
    what is left of them, less the final answer's share, is divided evenly.
    """
    if is_exhausted(settings, state, 0):
        return []
    left = calls_left(settings, state)
    shares = (
        [most for _, most in needs] if left is None else _shares(needs, left - reserve_calls, settings.parse_retries)
    )
    calls = sum(call["attempts"] for call in state["calls"].values())
    tokens, tokens_over = tokens_spent(state), tokens_left(settings, state, answer_follows=True)
    if tokens_over is not None and shares:
        tokens += tokens_over - tokens_over // len(shares)  # the shares of the others
    return [reserved_call(attempts=calls if left is None else calls + left - share, tokens=tokens) for share in shares]


def share_among_all_branches(
    settings: Context, state: Spent, needs: Sequence[tuple[int, int]], *, reserve_calls: int = 0
) -> list[Call]:
    """Share the budget out as `share_among_branches` does, but for every branch; beyond its reach all calls are spent.

    For tasks that run in any case: each works out the same shares from the same state and takes its own.
    """
    shares = share_among_branches(settings, state, needs, reserve_calls=reserve_calls)
    nothing_left = reserved_call(attempts=settings.max_llm_calls or 0, tokens=settings.max_tokens or 0)
    return [*shares, *[nothing_left] * (len(needs) - len(shares))]


def _shares(needs: Sequence[tuple[int, int]], left: int, retries: int) -> list[int]:
    shares: list[int] = []
    for least, most in needs:
        if left < (most if shares else least):
            break
        shares.append(min(most, left))
        left -= shares[-1]
    for index, share in enumerate(shares):
        extra = min(share * retries, left)
        shares[index] += extra
        left -= extra
    return shares


def reserved_call(attempts: int = 0, tokens: int = 0) -> Call:
    """Make the record that counts as spent in a branch, though others may spend it."""
    return {**empty_call("model", "reserved"), "attempts": attempts, "prompt_tokens": tokens}
