"""What is worked out of a passage, once for the many prompts that show it."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

ResultT = TypeVar("ResultT")

_LONGEST, _MOST = 4000, 2048
"""Characters of a text that is kept, and texts."""


def once_per_passage(work: Callable[[str], ResultT]) -> Callable[[str], ResultT]:
    """Keep the results of a function for texts that are no longer than passages."""
    kept = lru_cache(maxsize=_MOST)(work)

    @wraps(work)
    def run(text: str) -> ResultT:
        return kept(text) if len(text) <= _LONGEST else work(text)

    return run
