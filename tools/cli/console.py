"""Writing to the terminal: safe text, hanging indents, nothing that a pipe would not want."""

import re
import sys
import unicodedata

from rich.console import Console
from rich.text import Text

LABEL_WIDTH = 11
"""Columns of the left column, which names the steps."""
_WIDEST = 100
"""Longer lines are hard to read, so a wider terminal stays partly empty."""
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # strings: titles, links
    r"|\x1b[ -/]*[0-~]?"  # the rest, and a string without an end
)
_JOINERS = "\u200c\u200d"
"""Format characters that scripts and emoji need."""
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_ASCII = str.maketrans(
    {
        "…": "...",
        "·": "|",
        "“": '"',
        "”": '"',
        "✓": "+",
        "✗": "x",
        "→": "->",
        "•": "*",
        "δ": "delta",
        "○": "o",
        "★": "*",
    }
)


def on_one_line(text: str) -> str:
    """Write foreign text so that a terminal shows it and does nothing else; white space becomes one space.

    Terminal escape sequences are taken out whole, other control and format characters one by one.
    """
    plain = " ".join(_ESCAPES.sub("", text).split())
    return "".join(char for char in plain if char in _JOINERS or unicodedata.category(char) not in _UNPRINTABLE)


def shortened(text: str, columns: int) -> str:
    """Cut foreign text, on one line, to about `columns` characters, with `…` for what is left out."""
    line = on_one_line(text)
    return line if len(line) <= columns else f"{line[: columns - 1].rstrip()}…"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: `1 passage`, `2,000 passages`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def console_on(*, stderr: bool = False) -> Console:
    """Make a console for standard output or standard error: colours only on a terminal, at most 100 columns.

    It reads no markup, so brackets in a text are only brackets.
    """
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    console.width = min(console.width, _WIDEST)
    return console


def print_hanging(console: Console, label: Text, body: Text, *, indent: int = LABEL_WIDTH) -> None:
    """Print a text beside a label; its further lines stand below its first, without trailing spaces."""
    if console.options.ascii_only:
        label, body = in_ascii(label), in_ascii(body)
    indent = max(indent, label.cell_len + 1) if label.cell_len else indent
    width = max(console.width - indent, 10)
    for number, line in enumerate(body.wrap(console, width) or [Text()]):
        line.rstrip()
        start = label.copy() if number == 0 else Text()
        start.append(" " * (indent - start.cell_len))
        joined = Text.assemble(start, line)
        joined.rstrip()
        console.print(joined, soft_wrap=True)


def in_ascii_text(text: str) -> str:
    """Write our own signs in ASCII."""
    return text.translate(_ASCII)


def in_ascii(text: Text) -> Text:
    """Write our own signs in ASCII, for a terminal that has no others."""
    return Text.assemble(*((in_ascii_text(str(part)), part.style) for part in text.split("\n")))


def tolerate_encoding() -> None:
    """Let a terminal that cannot show a character show `?` instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
