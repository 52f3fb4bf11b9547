"""Text width and line breaks in a picture; widths are estimated on the large side, as the font is not known."""

import unicodedata

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
    lines, line = list[str](), ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if text_width(joined, size, bold=bold) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *full, line = _pieces(word, size, width, bold=bold)
        lines += full
        if len(lines) > most:
            break
    lines.append(line)
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    while last and text_width(f"{last}…", size, bold=bold) > width:
        last = last[:-1]
    return [*lines[: most - 1], f"{last.rstrip()}…"]


def _pieces(word: str, size: float, width: float, *, bold: bool) -> list[str]:
    pieces, piece, used = list[str](), "", 0.0
    for char in word:
        wide = text_width(char, size, bold=bold)
        if piece and used + wide > width:
            pieces.append(piece)
            piece, used = "", 0.0
        piece, used = piece + char, used + wide
    return [*pieces, piece]
