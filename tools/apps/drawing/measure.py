"""Text width and line breaks in a picture; widths are estimated on the large side, as the font is not known."""

import unicodedata
from itertools import accumulate

_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[] "), frozenset("mwMWQOGDHNU@%")
_BOLD = 1.18


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the estimated width of a text in a font of this size."""
    return sum(map(_ems, text)) * size * (_BOLD if bold else 1.0)


def _ems(char: str) -> float:
    if char in _NARROW:
        return 0.36
    if char in _WIDE:
        return 0.92
    if char.isascii():
        return 0.72 if char.isupper() else 0.62
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):  # marks stand above or below the letter before
        return 0.0
    if unicodedata.east_asian_width(char) in "WF" or char.isupper():
        return 1.05
    return 0.78


def wrap_text(text: str, size: float, width: float, *, most: int, bold: bool = False) -> list[str]:
    """Return a text broken into lines of at most this width, at least one; a longer word is broken, too.

    A text that needs more than `most` lines ends in `…`.
    """
    ems = width / size / (_BOLD if bold else 1.0)
    lines = list[str]()
    while len(lines) < most:
        end = _fitting(text, ems)
        if end == len(text):
            return [*lines, text]
        end = text.rfind(" ", 1, end + 1) if " " in text[1 : end + 1] else max(end, 1)
        lines.append(text[:end])
        text = text[end:].lstrip(" ")
    last = lines.pop()
    return [*lines, f"{last[: _fitting(last, ems - _ems('…'))].rstrip()}…"] if text else [*lines, last]


def _fitting(text: str, ems: float) -> int:
    """Return how many of a text's characters have room."""
    widths = accumulate(map(_ems, text))
    return next((count for count, wide in enumerate(widths) if wide > ems), len(text))
