"""Running the command line: in this process, and as the installed script."""

import os
import subprocess
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hopgraph.tools.apps.cli import main
from support.waiting import PATIENCE


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command in this process, in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def run_in_process(*arguments: str) -> Ran:
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_in_process


@pytest.fixture
def script() -> list[str]:
    """The installed console script."""
    return [str(Path(sysconfig.get_path("scripts")) / "hopgraph")]


@pytest.fixture
def run_script(script: list[str]) -> Callable[..., Ran]:
    """Run a command as a user does; output goes to pipes."""

    def run_as_script(*arguments: str, stdin: bytes = b"", **environment: str) -> Ran:
        done = subprocess.run(
            [*script, *arguments],
            input=stdin,
            capture_output=True,
            env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **environment},
            timeout=PATIENCE,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run_as_script
