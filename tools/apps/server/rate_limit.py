"""How often each user may ask: a token bucket for each, refilled evenly."""

import time
from collections import OrderedDict
from dataclasses import dataclass

_MAX_BUCKETS = 10_000
"""Users and addresses that are remembered; the one that was idle longest is dropped first."""


@dataclass
class _Bucket:
    tokens: float
    updated: float


class RateLimiter:
    """Lets each user or address send `per_minute` requests a minute, all at once if it likes."""

    def __init__(self, per_minute: int) -> None:
        self._capacity = float(per_minute)
        self._buckets = OrderedDict[str, _Bucket]()

    def wait(self, name: str) -> float:
        """Count a request; return the seconds until one would be accepted, 0 for one that is."""
        now = time.monotonic()
        bucket = self._buckets.setdefault(name, _Bucket(self._capacity, now))
        self._buckets.move_to_end(name)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._capacity, bucket.tokens + (now - bucket.updated) * self._capacity / 60)
        bucket.updated = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) * 60 / self._capacity
        bucket.tokens -= 1
        return 0.0
