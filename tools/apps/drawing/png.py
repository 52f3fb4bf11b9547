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
"""Sans-serif fonts of common systems. The renderer drops a text whose font is missing, without a fallback."""


def render_png(svg: str) -> bytes:
    """Return the PNG of one of our SVG pictures at twice its size, or smaller where that would exceed 100 megapixels.

    Raises:
        SettingsError: resvg-py is not installed, or there is no font to write with.
    """
    try:
        resvg: Any = importlib.import_module("resvg_py")
    except ModuleNotFoundError:
        raise SettingsError(
            "PNG needs the package resvg-py: pip install 'hopgraph[png]', or write the picture as svg"
        ) from None
    width, height = map(float, svg.partition('viewBox="0 0 ')[2].partition('"')[0].split())
    scale = min(_SCALE, (_MOST_PIXELS / (width * height)) ** 0.5)
    return bytes(
        resvg.svg_to_bytes(svg_string=svg, width=round(width * scale), sans_serif_family=_installed_font(resvg))
    )


def _installed_font(resvg: Any) -> str:
    """Return the first font of the list that draws anything."""
    blank = resvg.svg_to_bytes(svg_string=_PROBE.format(""))
    for name in _FONTS:
        letter = _PROBE.format(f'<text x="2" y="16" font-size="14" font-family="{name}">A</text>')
        if resvg.svg_to_bytes(svg_string=letter) != blank:
            return name
    raise SettingsError(
        "no known font is installed, so a PNG would have no text; install one (such as DejaVu Sans), "
        "or write the picture as svg"
    )
