"""Limits that a process sets for itself before it processes untrusted files; not available on Windows."""

import signal
import time
from contextlib import suppress
from typing import Literal


def limit_process(seconds: int, memory: int) -> None:
    """Let the system kill this process after this many seconds, and limit its address space in bytes."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)
    _limit("RLIMIT_CPU", int(time.process_time()) + seconds)
    _limit("RLIMIT_AS", memory)


def stop_timer() -> None:
    """Lift the time limit."""
    if hasattr(signal, "alarm"):
        signal.alarm(0)


def _limit(what: Literal["RLIMIT_CPU", "RLIMIT_AS"], most: int) -> None:
    with suppress(ImportError, ValueError, OSError):  # the system allows less already, or has no such limit
        import resource

        kind: int = getattr(resource, what)
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
