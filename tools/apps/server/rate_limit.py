"""How often somebody asks: a bucket of tokens for each, refilled evenly."""

import time
from collections import OrderedDict
from dataclasses import dataclass

_MOST_KNOWN = 10_000
"""Users and addresses that are remembered; the one that was quiet longest is forgotten first."""


@dataclass
class _Bucket:
    tokens: float
    at: float


class Rates:
    """Lets each user or address send so many requests a minute, all at once if it likes."""

    def __init__(self, per_minute: int) -> None:
        """Take `per_minute` requests of each."""
        self._most = float(per_minute)
        self._buckets = OrderedDict[str, _Bucket]()

    def wait(self, name: str) -> float:
        """Count a request; gives the seconds until one would be let in, 0 for one that is."""
        now = time.monotonic()
        bucket = self._buckets.setdefault(name, _Bucket(self._most, now))
        self._buckets.move_to_end(name)
        if len(self._buckets) > _MOST_KNOWN:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._most, bucket.tokens + (now - bucket.at) * self._most / 60)
        bucket.at = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) * 60 / self._most
        bucket.tokens -= 1
        return 0.0
