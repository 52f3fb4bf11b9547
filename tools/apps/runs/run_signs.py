"""The signs of a run's picture, drawn as shapes that need no font."""

from math import cos, pi, sin
from typing import Final

from hopgraph.tools.apps.runs.run_tree import Status

SIGN_STYLE = """
.disc{fill:#1a7f37}
.ring{fill:none;stroke-width:1.6}
.stroke{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.star{fill:#9a6700}
"""

_RADIUS = 7.5
_STROKES: Final[dict[Status, tuple[str, str]]] = {
    "accepted": ("M-3.6 0.2L-1 2.8L3.8 -2.6", "#ffffff"),
    "answered": ("M-3.6 0.2L-1 2.8L3.8 -2.6", "#ffffff"),
    "rejected": ("M-3 -3L3 3M3 -3L-3 3", "#6e2d28"),
    "expanded": ("M-3.6 0H3.4M0.6 -2.8L3.4 0L0.6 2.8", "#2f5aa8"),
    "pruned": ("M-3.2 0H3.2", "#57606a"),
    "unknown": ("M-2.2 -1.8C-2.2 -5 2.6 -5 2.3 -1.8C2.1 -0.2 0 -0.3 0 1.4M0 4V4.1", "#b3261e"),
    "found": ("M0 0V0.1", "#57606a"),
    "open": ("", "#57606a"),
}
"""The path in the circle, around its centre, and its colour."""


def draw_sign(status: Status, x: float, y: float) -> str:
    """Draw a status's sign around a point: a check in a disc; a cross, an arrow or another stroke in a ring."""
    path, colour = _STROKES[status]
    if status in ("accepted", "answered"):
        circle = f'<circle class="disc" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}"/>'
    else:
        circle = f'<circle class="ring" stroke="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}"/>'
    if not path:
        return circle
    return f'{circle}<path class="stroke" stroke="{colour}" transform="translate({x:.1f} {y:.1f})" d="{path}"/>'


def draw_star(x: float, y: float) -> str:
    """Draw the star of evidence around a point."""
    corners = ((6.5 if number % 2 == 0 else 2.8, pi * (number / 5 - 0.5)) for number in range(10))
    points = " ".join(f"{x + radius * cos(angle):.1f},{y + radius * sin(angle):.1f}" for radius, angle in corners)
    return f'<polygon class="star" points="{points}"/>'
