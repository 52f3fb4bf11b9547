"""The page's colours, made of one that its operator names: texts in them can be read on light and on dark."""

from collections.abc import Sequence

Rgb = tuple[int, int, int]
WHITE, BLACK, DARK_PAGE = (255, 255, 255), (0, 0, 0), (24, 34, 53)
_SHADES = (0.95, 0.9, 0.75, 0.55, 0.3, 0.1, 0.0, -0.15, -0.3, -0.45, -0.6)
"""Of a palette, from 50 to 950: how far each lies towards white, or, below zero, towards black."""
_CONTRAST = 4.6  # what WCAG asks of small texts is 4.5


def parse_color(text: str) -> Rgb:
    """Return the red, green and blue of `#RRGGBB`."""
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def write_color(rgb: Sequence[int]) -> str:
    """Return `#rrggbb`."""
    return "#" + "".join(f"{each:02x}" for each in rgb)


def mix(one: Rgb, other: Rgb, share: float) -> Rgb:
    """Return a colour with a share of another one in it."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast of two colours by WCAG, from 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def readable_on(color: Rgb, ground: Rgb) -> Rgb:
    """Return a colour, moved away from a ground as far as a text in it needs to be read there."""
    goal = WHITE if _luminance(ground) < 0.2 else BLACK
    return next(found for step in range(101) if contrast(found := mix(color, goal, step / 100), ground) >= _CONTRAST)


def palette(color: Rgb) -> list[str]:
    """Return the eleven shades of a Gradio palette, the lightest first; white text can be read on the seventh."""
    base = readable_on(color, WHITE)
    return [write_color(mix(base, WHITE if share > 0 else BLACK, abs(share))) for share in _SHADES]


def _luminance(color: Rgb) -> float:
    parts = [each / 255 for each in color]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
