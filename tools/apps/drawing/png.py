"""An SVG picture as PNG."""

import importlib
from typing import Any

from hopgraph.state import SettingsError

_SCALE = 2
"""Pixels to each of the picture's units, so that small text stays sharp."""
_MOST_PIXELS = 100_000_000
_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" width="20" height="20">{}</svg>'
_FONTS = (
    "Segoe UI",
    "Helvetica Neue",
    "Arial",
    "DejaVu Sans",
    "Liberation Sans",
    "Noto Sans",
    "Roboto",
    "Ubuntu",
    "Cantarell",
    "FreeSans",
    "Open Sans",
    "Lato",
)
"""Sans-serif fonts of the systems that people have. The renderer leaves a text out whose font is missing, and does
not look for another one."""


def png_of(svg: str) -> bytes:
    """Make a PNG of one of our pictures, twice its size; smaller where it would be beyond all bounds.

    Raises:
        SettingsError: resvg-py is not installed, or there is no font to write with.
    """
    try:
        resvg: Any = importlib.import_module("resvg_py")
    except ModuleNotFoundError:
        raise SettingsError(
            "PNG needs the package resvg-py: pip install 'hopgraph[png]', or write the picture as svg"
        ) from None
    width, height = _size(svg)
    scale = min(_SCALE, (_MOST_PIXELS / (width * height)) ** 0.5)
    return bytes(
        resvg.svg_to_bytes(svg_string=svg, width=round(width * scale), sans_serif_family=_installed_font(resvg))
    )


def _size(svg: str) -> tuple[float, float]:
    """Read a picture's size off its first line."""
    width, height = svg.partition('viewBox="0 0 ')[2].partition('"')[0].split()
    return float(width), float(height)


def _installed_font(resvg: Any) -> str:
    """Find the first font that leaves a trace."""
    blank = resvg.svg_to_bytes(svg_string=_PROBE.format(""))
    for name in _FONTS:
        letter = _PROBE.format(f'<text x="2" y="16" font-size="14" font-family="{name}">A</text>')
        if resvg.svg_to_bytes(svg_string=letter) != blank:
            return name
    raise SettingsError(
        "no known font is installed, so that a PNG would have no text; install one (as DejaVu Sans), "
        "or write the picture as svg"
    )
