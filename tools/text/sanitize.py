"""Text of others as it can be shown to people: on one line, cut, and with nothing in it that acts."""

import re
import unicodedata

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


def in_ascii_text(text: str) -> str:
    """Write our own signs in ASCII."""
    return text.translate(_ASCII)
