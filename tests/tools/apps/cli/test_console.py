import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from hopgraph.tools.apps.cli.console import print_hanging
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line
from support.hostile_text import ANY_TEXT, is_harmless


@given(ANY_TEXT)
def test_untrusted_text_becomes_one_harmless_line(text: str) -> None:
    assert is_harmless(sanitize_line(text))


@given(ANY_TEXT)
def test_only_white_space_changes_in_text_without_control_characters(text: str) -> None:
    harmless = "".join(char for char in text if is_harmless(char))
    assert sanitize_line(harmless) == " ".join(harmless.split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mred\x1b[0m b", "ared b"),
        ("\x1b]0;new title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;no end, text stays", "0;no end, text stays"),
        ("one\r\ntwo\ttabs\u2028three", "one two tabs three"),
        ("[bold]not markup[/] [/]", "[bold]not markup[/] [/]"),
        ("pay\u202egnp.exe", "paygnp.exe"),
        ("\x9b2Jcleared", "cleared"),
    ],
)
def test_escape_sequences_are_removed_and_brackets_stay(text: str, shown: str) -> None:
    assert sanitize_line(text) == shown


def test_truncated_text_is_marked() -> None:
    assert truncate_line("word " * 10, 12) == "word word w…"
    assert truncate_line("short", 12) == "short"


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=300), st.integers(30, 120))
def test_hanging_indents_fit_and_lose_nothing(text: str, width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, markup=False, highlight=False, emoji=False)
    shown = sanitize_line(text)
    print_hanging(console, Text("  label"), Text(shown))
    lines = out.getvalue().splitlines()
    assert all(cell_len(line) <= width and line == line.rstrip() for line in lines)
    assert "".join(out.getvalue().split()) == "".join(f"label{shown}".split())
    assert all(not line or line.startswith(" " * 11) for line in lines[1:])
