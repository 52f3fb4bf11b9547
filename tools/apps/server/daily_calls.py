"""How many model calls each key's user makes a day; what is under way when the last one is made comes to its end."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from typing_extensions import override

from hopgraph.tools.apps.server.caller_settings import read_limit
from hopgraph.tools.apps.server.refusal import QuotaError

_DAY = 24 * 3600


class DailyCalls:
    """Counts by the days of UTC, from the start of the process on; a cached reply is no call."""

    def __init__(self, limit: int | None = None) -> None:
        """Allow so many; None: as the environment says."""
        self.limit = limit or read_limit("HOPGRAPH_CALLS_PER_DAY")
        self._day, self._made = 0, Counter[str]()

    def left(self, user: str) -> int:
        """Return how many a user may still make today; a QuotaError for none."""
        if (today := int(time.time() // _DAY)) != self._day:
            self._day, self._made = today, Counter[str]()
        if self._made[user] >= self.limit:
            raise QuotaError(f"you have made {self.limit:,} model calls today, which is all; ask again tomorrow (UTC)")
        return self.limit - self._made[user]

    def count(self, user: str) -> None:
        """Count a call."""
        self._made[user] += 1


class CallCounter(BaseCallbackHandler):
    """Counts the model calls of the runs that it is a callback of."""

    run_inline = True

    def __init__(self, calls: DailyCalls, user: Callable[[], str]) -> None:
        """Count them as those of the user that `user` returns when the call is made."""
        self._calls, self._user = calls, user

    @override
    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self._calls.count(self._user())
