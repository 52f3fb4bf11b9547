"""Answers as text for chat clients: markup escaped, and the marks [1], [2] that name citations left as they are."""

import re
from collections.abc import Callable
from itertools import accumulate

from hopgraph.tools.prompts import clean

_MARKUP = re.compile(
    r"""
    `                                     # code
    | \\(?=[!-/:-@\[-`{-~]|\Z)            # an escape character
    | (?<=\S)[*~] | \A[*~](?!\w)          # could end emphasis, so it does not begin it either
    | (?<!\s)_(?![^\W_])                  # the same; no emphasis within a word
    | (?<=\S)\$(?!\d) | \A\$(?!\w)       # the end of a formula, not a price
    | <(?=[A-Za-z/!?])                    # HTML
    | &(?=\#?\w+;)
    | \[(?=\d{1,3}\]) | \](?=[(\[:])      # a mark, a link
    | (?<=\[\d)\] | (?<=\[\d\d)\] | (?<=\[\d\d\d)\]
    | (?: (?<=\[\d\]) | (?<=\[\d\d\]) | (?<=\[\d\d\d\]))\(    # would turn a mark into a link
    | (?: (?<=\A\[\d\]) | (?<=\A\[\d\d\]) | (?<=\A\[\d\d\d\])):
    | \A(?:> | \#(?=\#{0,5}(?:\s|\Z)) | [-+](?=[\s-]|\Z))  # a quotation, a heading, a list
    """,
    re.VERBOSE,
)
"""Characters that Markdown, HTML or a formula would read as markup at their position."""
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_WRITTEN_MARKS = re.compile(r"( ?)\[(\d{1,3}(?: ?[,;] ?\d{1,3})*)\]")  # as models write them: [1], [1, 2]
_MARK = re.compile(r"(\[\d{1,3}\])")


UNSUPPORTED = "[?]"
"""Follows a statement in a long answer that cites no source, or is not entailed by its sources."""


def escape_markup(text: str) -> str:
    """Escape untrusted text so that a chat client shows it literally: on one line, with its markup escaped."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(clean(text).split()))


def unescape_markup(reply: str) -> str:
    """Remove the escapes of `escape_markup`, for a place where the text is not rendered as Markdown."""
    return _ESCAPED.sub(r"\1", reply)


def settle_marks(text: str, citations: int) -> str:
    """Write the marks of a model's text as [1][2], and drop those beyond the number of citations."""
    return rename_marks(" ".join(clean(text).split()), lambda number: number if 1 <= number <= citations else None)


def rename_marks(text: str, rename: Callable[[int], int | None]) -> str:
    """Write the marks of a model's text as [1][2], each with its new number, and drop the others."""

    def renamed(found: re.Match[str]) -> str:
        numbers = (rename(int(each)) for each in re.findall(r"\d+", found[2]))
        marks = "".join(f"[{number}]" for number in numbers if number is not None)
        return f"{found[1]}{marks}" if marks else ""

    return _WRITTEN_MARKS.sub(renamed, text)


def split_at_marks(text: str, citations: int) -> list[str]:
    """Split an answer at its marks: alternating text and mark, text first and last; one part if it has none."""
    parts = _MARK.split(text)
    for at in range(len(parts) - 2, 0, -2):
        if not 1 <= int(parts[at][1:-1]) <= citations:
            parts[at - 1 : at + 2] = ["".join(parts[at - 1 : at + 2])]
    return parts


def escape_but_marks(text: str, citations: int) -> str:
    """Escape untrusted text as `escape_markup` does, except for its marks."""
    return escape_piece(" ".join(clean(text).split()), citations)


def escape_piece(text: str, citations: int = 999) -> str:
    """Escape a piece of a line as `escape_but_marks` does a whole one, keeping its spaces."""
    parts = split_at_marks(text, citations)
    ends = list(accumulate(map(len, parts)))
    marks = {place for start, end in zip(ends[::2], ends[1::2], strict=False) for place in (start, end - 1)}
    return _MARKUP.sub(lambda found: found[0] if found.start() in marks else f"\\{found[0]}", text)


def marked_answer(answer: str, citations: int) -> str:
    """Return an answer with its marks for a chat client: its own, else one for each citation at the end."""
    text = escape_but_marks(answer, citations)
    return text if len(split_at_marks(answer, citations)) > 1 else append_marks(text, citations)


def answer_text(answer: str, citations: int, *, markdown: bool) -> str:
    """Return an answer for a chat client, which renders Markdown: a long one as it is."""
    return answer if markdown else marked_answer(answer, citations)


def append_marks(answer: str, citations: int) -> str:
    """Append a mark for each citation to an answer."""
    return f"{answer} {''.join(f'[{number}]' for number in range(1, citations + 1))}".rstrip()
