"""Long answers: rendered on a terminal, and as plain Markdown in a file or pipe."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from hopgraph.nodes.core.long_answer import LongAnswer
from hopgraph.tools.apps.cli.run_output import print_answer
from support.hostile_markdown import HOSTILE_MARKDOWN
from support.hostile_text import is_harmless
from support.long_answers import REQUESTS


def printed(reply: str, *, terminal: bool, width: int = 100) -> str:
    console = Console(file=StringIO(), force_terminal=terminal, color_system=None, width=width)
    state: Any = {"answer": LongAnswer(5).write(reply), "markdown": True, "explanation": "", "citations": []}
    print_answer(console, state, None)
    return console.file.getvalue()  # type: ignore[attr-defined] - the StringIO above


@pytest.mark.parametrize("width", [60, 80, 100])
def test_twelve_long_answers_are_rendered_on_a_terminal(width: int) -> None:
    for reply in REQUESTS.values():
        drawn = printed(reply, terminal=True, width=width)
        assert "**" not in drawn
        assert "##" not in drawn
        assert "\\" not in drawn
        assert all(len(line) <= width for line in drawn.splitlines())
        assert ("•" in drawn) == ("\n- " in f"\n{reply}" or "\n* " in reply or "   - " in reply)
        assert not any(line.startswith("|") for line in drawn.splitlines())
        assert "[1]" in drawn


def test_a_pipe_gets_plain_markdown() -> None:
    for reply in REQUESTS.values():
        assert printed(reply, terminal=False) == f"{LongAnswer(5).write(reply)}\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_hostile_markdown_is_harmless_on_a_terminal(terminal: bool) -> None:
    for reply in [*HOSTILE_MARKDOWN, "\x1b]8;;http://x\x07a\x1b]8;;\x07 [1]", "a\u202eb\x9b2J [1]"]:
        assert all(is_harmless(line) for line in printed(reply, terminal=terminal).split("\n"))
