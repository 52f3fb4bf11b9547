"""Received requests and queued faults, shared by the threads of the test and the server."""

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import JsonValue

from support.servers.faults import Fault


@dataclass(frozen=True)
class RecordedRequest:
    """A received HTTP request."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Lower-case names; `authorization` is left out."""
    key_ok: bool
    """Whether it carried the server's key; True for a server that wants none."""
    body: JsonValue
    """The parsed JSON; None for no body or one that is not JSON."""
    role: str
    """From the line `Role: method/step` of the system message; "" without one."""
    at: float
    """`time.monotonic()` at its arrival."""


Match = Callable[[RecordedRequest], bool]


@dataclass
class _Rule:
    match: Match
    fault: Fault
    times: int | None


class Traffic:
    """Requests, queued faults and rules, protected by a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[RecordedRequest] = []
        self._queue: deque[Fault | None] = deque()
        self._rules: list[_Rule] = []
        self._errors: list[BaseException] = []
        self._in_flight = 0
        self._peak = 0
        self._passing = math.inf

    @property
    def requests(self) -> list[RecordedRequest]:
        """All requests so far, in order of arrival."""
        with self._lock:
            return list(self._requests)

    @property
    def model_errors(self) -> list[BaseException]:
        """The exceptions of the served model, in order."""
        with self._lock:
            return list(self._errors)

    @property
    def peak_in_flight(self) -> int:
        """The maximum number of concurrent chat requests."""
        with self._lock:
            return self._peak

    def record(self, request: RecordedRequest) -> None:
        """Record a request."""
        with self._lock:
            self._requests.append(request)

    def model_failed(self, error: BaseException) -> None:
        """Record an exception of the model."""
        with self._lock:
            self._errors.append(error)

    def forgive(self) -> list[BaseException]:
        """Return and clear the model's exceptions."""
        with self._lock:
            raised, self._errors = self._errors, []
            return raised

    def enqueue(self, faults: tuple[Fault | None, ...]) -> None:
        """Add faults to the end of the queue; None lets one request pass."""
        with self._lock:
            self._queue.extend(faults)

    def add_rule(self, match: Match, fault: Fault, times: int | None) -> None:
        """Add a standing fault for the requests that match, the first `times` of them or all."""
        with self._lock:
            self._rules.append(_Rule(match, fault, times))

    def forget_faults(self) -> None:
        """Drop the queue and the rules."""
        with self._lock:
            self._queue.clear()
            self._rules.clear()

    def take_fault(self, request: RecordedRequest) -> Fault | None:
        """Consume the next fault: from the queue, else by the first matching rule; None if there is none."""
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            for rule in self._rules:
                if rule.times != 0 and rule.match(request):
                    rule.times = None if rule.times is None else rule.times - 1
                    return rule.fault
            return None

    def let_pass(self, count: float) -> None:
        """Let this many more chat requests be answered; others wait for another call."""
        with self._lock:
            self._passing = count

    async def wait_to_pass(self) -> None:
        """Wait until one more chat request may be answered."""
        while not self._take_pass():  # noqa: ASYNC110 - the test lets it pass from another thread
            await asyncio.sleep(0.01)

    def _take_pass(self) -> bool:
        with self._lock:
            if self._passing <= 0:
                return False
            self._passing -= 1
            return True

    @contextmanager
    def in_flight(self) -> Generator[None]:
        """Count a chat request while it is being answered."""
        with self._lock:
            self._in_flight += 1
            self._peak = max(self._peak, self._in_flight)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1
