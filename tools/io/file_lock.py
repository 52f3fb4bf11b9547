"""A file lock that the system releases when a process ends, however it ends."""

import sys
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

HAS_LOCKS = sys.platform != "win32"
"""Whether this system has such locks."""


def try_lock(file: BinaryIO) -> bool:
    """Lock an open file; False where another process has it, and where there are no such locks."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
