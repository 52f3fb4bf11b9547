"""Self-contained SVG pictures, without scripts or external fonts; text widths; conversion to PNG."""

import unicodedata
from collections.abc import Iterable
from html import escape
from itertools import accumulate

from hopgraph.state import SettingsError
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.prompts import clean

MARGIN = 26.0
"""Margin around a picture's content."""
_FONTS = (
    "Segoe UI, Helvetica Neue, Arial, DejaVu Sans, Liberation Sans, Noto Sans, Roboto, Ubuntu, Cantarell, FreeSans, "
    "Open Sans, Lato, sans-serif"
)
"""Sans-serif fonts of common systems. The PNG renderer drops a text if none of them is installed."""
_FRAME_STYLE = """
.background{fill:#ffffff;stroke:#d0d7de}
.title{font-size:17px;font-weight:600;fill:#1f2328}
"""


def frame_svg(
    parts: Iterable[str], heading: str, width: float, height: float, *, style: str, title: str = "", about: str = ""
) -> str:
    """Return a picture with a heading from SVG parts; `title` and `about` are for screen readers."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="{_FONTS}" role="img">',
        f"<title>{escape(title or heading)}</title>",
        *([f"<desc>{escape(about)}</desc>"] if about else []),
        f"<style>{_FRAME_STYLE}{style}</style>",
        f'<rect class="background" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="10"/>',
        f'<text class="title" x="{MARGIN:.0f}" y="{MARGIN + 12:.0f}">{escape(heading)}</text>',
        *parts,
        "</svg>\n",
    ]
    return clean("\n".join(lines))


_SCALE, _MAX_PIXELS = 2, 100_000_000
"""Pixels per unit of the picture, so that small text stays sharp; and the maximum in total."""
_PROBE = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{_FONTS}" width="20" height="20">{{}}</svg>'


def render_png(svg: str) -> bytes:
    """Return a PNG of one of our pictures at twice its size, or less if that would exceed 100 megapixels."""
    resvg = require("resvg_py", "png")
    empty, letter = (_PROBE.format(text) for text in ("", '<text x="2" y="16">A</text>'))
    if resvg.svg_to_bytes(svg_string=empty) == resvg.svg_to_bytes(svg_string=letter):
        raise SettingsError(
            "no known font is installed, so a PNG would have no text; install one (such as DejaVu Sans), "
            "or write the picture as svg"
        )
    width, height = map(float, svg.partition('viewBox="0 0 ')[2].partition('"')[0].split())
    scale = min(_SCALE, (_MAX_PIXELS / (width * height)) ** 0.5)
    return bytes(resvg.svg_to_bytes(svg_string=svg, width=round(width * scale)))


_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[] "), frozenset("mwMWQOGDHNU@%")
_BOLD = 1.18


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return a generous estimate of a text's width at a font size, as the font is unknown."""
    return sum(map(_ems, text)) * size * (_BOLD if bold else 1.0)


def _ems(char: str) -> float:
    if char in _NARROW:
        return 0.36
    if char in _WIDE:
        return 0.92
    if char.isascii():
        return 0.72 if char.isupper() else 0.62
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):  # combining marks have no width
        return 0.0
    if unicodedata.east_asian_width(char) in "WF" or char.isupper():
        return 1.05
    return 0.78


def wrap_text(text: str, size: float, width: float, *, most: int, bold: bool = False) -> list[str]:
    """Return a text broken into one or more lines of at most this width, breaking longer words.

    A text that needs more than `most` lines is truncated, ending in `…`.
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
    """Return how many of a text's characters fit."""
    widths = accumulate(map(_ems, text))
    return next((count for count, wide in enumerate(widths) if wide > ems), len(text))
