"""Limits that a process sets for itself before it works on untrusted files; Windows has none of them."""

import signal
import time
from contextlib import suppress
from typing import Literal


def limit_process(seconds: int, memory: int) -> None:
    """Let the system end this process so many seconds from now, and refuse it more bytes of address space."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)
    _limit("RLIMIT_CPU", int(time.process_time()) + seconds)
    _limit("RLIMIT_AS", memory)


def stop_timer() -> None:
    """Lift the limit on the time from now on."""
    if hasattr(signal, "alarm"):
        signal.alarm(0)


def _limit(what: Literal["RLIMIT_CPU", "RLIMIT_AS"], most: int) -> None:
    with suppress(ImportError, ValueError, OSError):  # the system allows less already, or has no such limit
        import resource

        kind: int = getattr(resource, what)
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
