"""The command line: `hopgraph`."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, with these arguments or those of the process, and return its exit code.

    What it raises on purpose, and what the machine refuses, is one line on standard error; a bug stays a traceback.
    """
    if (sys.argv[1:] if arguments is None else list(arguments)) == ["--version"]:
        import hopgraph  # alone, as the commands take long to import

        with suppress(OSError):  # which the command reports
            print(f"hopgraph {hopgraph.__version__}", flush=True)  # noqa: T201
            return 0
    from hopgraph.tools.apps.cli.app import run

    return run(arguments)


def script() -> None:
    """Run the command line as the program `hopgraph`, and end the process with its exit code."""
    code = main()
    if code == INTERRUPTED:
        # Other threads are not waited for; what has to be kept is on disk.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
