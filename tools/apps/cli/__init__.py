"""The command line: `hopgraph`."""

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments, or the process's, and return its exit code.

    Expected errors, and those of the machine, are one line on standard error; a bug has a traceback.
    """
    from hopgraph.tools.apps.cli.app import run_app

    return run_app(arguments)


def script() -> None:
    """Run the command line as the program `hopgraph`, and exit with its exit code."""
    code = main()
    if code == INTERRUPTED:
        # Do not wait for other threads: everything important is on disk.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
