"""Limits that a process sets for itself before it works on untrusted files; Windows has none of them."""

import os
import signal
import time
from contextlib import suppress


def limit_process(seconds: int, memory: int) -> None:
    """Let the system end this process after so many seconds, from now, and refuse it more bytes of address space.

    May be called again, for more seconds.
    """
    try:
        import resource
    except ImportError:
        return
    signal.alarm(seconds)
    used = int(time.process_time())
    with suppress(ValueError, OSError):  # the system allows less already, or has no such limit
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))


def yield_to_others() -> None:
    """Let other processes come first, where the system can do so."""
    if hasattr(os, "nice"):
        os.nice(10)


def limit_memory(memory: int) -> None:
    """Refuse this process more bytes of memory of its own, where the system can do so; mapped files do not count."""
    try:
        import resource
    except ImportError:
        return
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))
