"""`hopgraph ask --review`: prompts on the terminal, and the effect of the answers."""

import io
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hopgraph.tools.apps.cli.ask_command import ReviewPrompt
from support.waiting import PATIENCE

Run = Callable[..., Any]
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
QUERIES: dict[str, Any] = {
    "kind": "queries",
    "question": "q",
    "hop": 2,
    "queries": [{"text": "the first \x1b[31mquery", "why": "who"}, {"text": "the second query", "why": ""}],
    "instructions": "",
}
EVIDENCE: dict[str, Any] = {
    "kind": "evidence",
    "question": "q",
    "hop": 1,
    "evidence": [
        {"id": "1.1.1", "text": "A statement " + "that is long " * 20, "titles": ["A title"], "editable": True},
        {"id": "p1", "text": "A passage.", "titles": ["Another"], "editable": False},
    ],
    "instructions": "",
}


def reviewing(payload: dict[str, Any], said: Sequence[str], width: int = 60) -> tuple[dict[str, Any], str]:
    lines, shown = list(said), io.StringIO()
    console = Console(file=shown, width=width, markup=False, highlight=False)
    answer = ReviewPrompt(console, payload, lambda: lines.pop(0)).ask()
    assert not lines
    return answer, shown.getvalue()


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ([""], {"action": "approve"}),
        (["y"], {"action": "approve"}),
        (["n"], {"action": "reject"}),
        (["d 1", "d 1", ""], {"action": "reject"}),
        (["e 1 other words", "d 2", ""], {"action": "edit", "queries": [{"text": "other words", "why": "who"}]}),
        (["d 1", "e 1", "new", ""], {"action": "edit", "queries": [{"text": "new", "why": ""}]}),
        (
            ["d 1,2", "a", "added", "a one more", ""],
            {"action": "edit", "queries": [{"text": "added", "why": ""}, {"text": "one more", "why": ""}]},
        ),
        (["what", "d 9", "d", "e x", ""], {"action": "approve"}),
    ],
)
def test_queries_are_approved_edited_dropped_and_added(said: list[str], answer: dict[str, Any]) -> None:
    assert reviewing(QUERIES, said)[0] == answer


def test_a_statement_can_be_edited_and_a_passage_only_dropped() -> None:
    answer, shown = reviewing(EVIDENCE, ["e 2 no", "a new", "e 1 short", "d 2", ""])
    assert answer == {"action": "edit", "evidence": [{**EVIDENCE["evidence"][0], "text": "short"}]}
    assert "its text cannot be changed" in shown
    assert "not understood: 'a'" in shown


def test_a_review_fits_60_columns_and_shows_no_escape_sequences() -> None:
    for payload in (QUERIES, EVIDENCE, {**QUERIES, "problem": "it could not be used"}):
        shown = reviewing(payload, [""])[1]
        assert all(len(line) <= 60 for line in shown.splitlines())
        assert "\x1b" not in shown
        assert f"iteration {payload['hop']}" in shown
    assert "it could not be used" in shown


def test_quitting_or_end_of_input_interrupts_a_review() -> None:
    with pytest.raises(KeyboardInterrupt):
        reviewing(QUERIES, ["q"])


def test_a_review_without_a_terminal_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"y\n")))
    ran = run("ask", QUESTION, "--review", "all")
    assert ran.code == 2
    assert "--review needs a terminal" in ran.err


class TypedAhead:
    """Terminal input that was typed in advance."""

    def __init__(self, text: bytes) -> None:
        self.buffer = io.BytesIO(text)

    def isatty(self) -> bool:
        return True


def test_a_reviewed_run_continues_with_the_decision(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TypedAhead(b"e 1 Guillermo del Toro birthplace\n\n"))
    ran = run("ask", QUESTION, "--quiet", "--review", "queries")
    assert ran.code == 0
    assert ran.out.startswith("Guadalajara")
    assert "Review of the queries, iteration 1" in ran.err


@pytest.mark.parametrize("typed", [b"", b"q\n"], ids=["end of input", "q"])
def test_end_of_input_and_q_end_the_command(run: Run, monkeypatch: pytest.MonkeyPatch, typed: bytes) -> None:
    monkeypatch.setattr("sys.stdin", TypedAhead(typed))
    ran = run("ask", QUESTION, "--review", "all")
    assert ran.code == 130
    assert "Answer" not in ran.out
    assert ran.err.endswith("hopgraph: interrupted\n")


class Terminal:
    """The installed script on a pseudo-terminal; its prompts are answered in turn."""

    def __init__(self, *arguments: str) -> None:
        self.terminal, inner = pty.openpty()
        command = [str(Path(sys.executable).parent / "hopgraph"), "ask", QUESTION, *arguments]
        environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdin=inner, stderr=inner, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        os.close(inner)
        self.said = ""

    def until_asked(self) -> None:
        while not self.said.endswith("> "):
            self.said += os.read(self.terminal, 4096).decode(errors="replace")

    def answer(self, text: str) -> None:
        self.until_asked()
        self.said += "\n"
        os.write(self.terminal, text.encode())

    def end(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=PATIENCE)
        os.close(self.terminal)
        return self.process.returncode, out.decode()


@pytest.mark.slow
def test_a_run_can_be_reviewed_on_a_terminal() -> None:
    terminal = Terminal("--quiet", "--review", "queries")
    terminal.answer("e 1 Guillermo del Toro birthplace\n")
    terminal.answer("\n")
    code, out = terminal.end()
    assert code == 0
    assert out.startswith("Guadalajara")
    assert "Review of the queries, iteration 1" in terminal.said


@pytest.mark.slow
def test_ctrl_c_ends_a_review() -> None:
    terminal = Terminal("--review", "all")
    terminal.until_asked()
    os.killpg(terminal.process.pid, signal.SIGINT)
    code, out = terminal.end()
    assert code == 130
    assert "Answer" not in out
