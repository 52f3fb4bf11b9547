"""How a command ends when something is wrong: one line on standard error, and an exit code.

2: wrong use (an option, a setting, a spec, a question); 1: a failure at run time (a corpus, a model, a
prompt file, a disk); 130: interrupted.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

WRONG_USE, FAILED, INTERRUPTED = 2, 1, 130


def say(message: str) -> None:
    """Write one line on standard error, whatever the message holds."""
    from hopgraph.tools.cli.console import on_one_line

    sys.stderr.write(f"hopgraph: {on_one_line(message)}\n")


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
        raise  # `main` ends quietly
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        say(f"{place}{error.strerror or error}")
        raise typer.Exit(FAILED) from None
