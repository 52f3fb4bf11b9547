"""Make untrusted text safe to display: without control sequences, on one line, truncated."""

import re
import unicodedata

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colors, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"  # strings: titles, links
    r"|\x1b[ -/]*[0-~]?"  # the rest, and a string without an end
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_JOINERS = "\u200c\u200d"  # needed by some scripts and emoji
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NOT_IN_XML: dict[int, None] = dict.fromkeys((0xFFFE, 0xFFFF))
_ASCII = str.maketrans("·“”✓✗•○★", '|""+x*o*') | str.maketrans({"…": "...", "→": "->", "δ": "delta"})


def sanitize_line(text: str) -> str:
    """Return untrusted text as one line that is safe to print on a terminal, with normalized white space.

    Terminal escape sequences, control and format characters, and characters that XML forbids are removed.
    """
    plain = " ".join(_ESCAPES.sub("", text).translate(_NOT_IN_XML).split())
    return "".join(char for char in plain if char in _JOINERS or unicodedata.category(char) not in _UNPRINTABLE)


def strip_controls(text: str) -> str:
    """Return untrusted text without terminal escape sequences and control characters, but with its white space."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text)) if _CONTROLS.search(text) else text


def truncate_line(text: str, columns: int) -> str:
    """Return untrusted text as one line of at most `columns` characters, with `…` at the end if truncated."""
    start = text[: 16 * columns + 4096]  # a text may be of any size
    line = sanitize_line(start)
    return line if len(line) <= columns and start == text else f"{line[: columns - 1].rstrip()}…"


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 passage`, `2,000 passages`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def to_ascii(text: str) -> str:
    """Replace the non-ASCII symbols that hopgraph prints (`…`, `→`, `✓`) with ASCII."""
    return text.translate(_ASCII)
