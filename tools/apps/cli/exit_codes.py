"""How a command ends when something is wrong: one line on standard error, and an exit code.

2: wrong use (an option, a setting, a spec, a question); 1: a failure at run time (a corpus, a model, a
prompt file, a disk); 130: interrupted.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

import typer

WRONG_USE, FAILED, INTERRUPTED = 2, 1, 130


def say(message: str) -> None:
    """Write one line on standard error, whatever the message holds."""
    from hopgraph.tools.text.sanitize import sanitize_line

    sys.stderr.write(f"hopgraph: {sanitize_line(message)}\n")


@contextmanager
def reported() -> Generator[None]:
    """Turn what a command raises on purpose, and what the machine refuses, into a line and an exit code.

    Raises:
        typer.Exit: with the code. A bug stays a traceback: it is not for users to read a guess about it.
    """
    from hopgraph.state.errors import HopgraphError, SettingsError

    try:
        yield
        sys.stdout.flush()
    except HopgraphError as error:
        say(str(error))
        raise typer.Exit(WRONG_USE if isinstance(error, SettingsError) else FAILED) from None
    except BrokenPipeError:
        discard_output()
        raise typer.Exit(FAILED) from None
    except OSError as error:
        say_refused(error)
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        say("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def say_refused(error: OSError) -> None:
    """Say what the system refused, and where."""
    place = f"{error.filename}: " if error.filename else ""
    say(f"{place}{error.strerror or error}")
    discard_output()


def discard_output() -> None:
    """Give up what standard output cannot take; Python would complain about it once more at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
