"""The nodes of a run's tree as cards, each below the one before, with the branches that they hang from.

The parts have class names and no style: an SVG file brings its own, a page has its own for light and dark.
"""

from dataclasses import dataclass
from html import escape
from math import cos, pi, sin
from typing import Final

from hopgraph.tools.apps.drawing.measure import text_width, wrap_text
from hopgraph.tools.apps.runs.run_tree import RunNode, Status, tree_depth
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

PADDING, LINE, SMALL_LINE = 10.0, 18.0, 15.5
TEXT, SMALL = 13.5, 12.0
_MAX_READ = 10_000
"""Characters of a text that are read; more than a card has room for."""
_CHECK = "M-3.6 0.2L-1 2.8L3.8 -2.6"
_SIGNS: Final[dict[Status, tuple[str, str]]] = {
    "open": ("", "#57606a"),
    "expanded": ("M-3.6 0H3.4M0.6 -2.8L3.4 0L0.6 2.8", "#2f5aa8"),
    "found": ("M0 0V0.1", "#57606a"),
    "accepted": (_CHECK, "#116329"),
    "rejected": ("M-3 -3L3 3M3 -3L-3 3", "#6e2d28"),
    "pruned": ("M-3.2 0H3.2", "#57606a"),
    "answered": (_CHECK, "#116329"),
    "unknown": ("M-2.2 -1.8C-2.2 -5 2.6 -5 2.3 -1.8C2.1 -0.2 0 -0.3 0 1.4M0 4V4.1", "#b3261e"),
}
"""The path in the sign's circle, around its centre, and the colour of the status's word. Shapes need no font."""


@dataclass(frozen=True)
class CardSizes:
    """The measures of a picture, in its own units."""

    width: float
    margin: float
    indent: float
    """Of each level, as far as `most_indent` reaches for all of them."""
    most_indent: float
    gap: float = 9.0
    tooltip: int = 1_000
    """Characters of each of a node's texts in the card's tooltip."""


@dataclass(frozen=True)
class TextLine:
    """A line of text in a card."""

    text: str
    style: str
    height: float


def draw_cards(root: RunNode, sizes: CardSizes, top: float) -> tuple[list[str], float]:
    """Draw all cards from the top; return the parts, branches first, and the lower edge."""
    step = min(sizes.indent, sizes.most_indent / max(tree_depth(root), 1))
    branches, cards = list[str](), list[str]()
    waiting, y = [(root, sizes.margin, 0.0)], top
    while waiting:
        node, x, above = waiting.pop()
        card, height = _card(node, x, y, sizes)
        cards.append(card)
        if above:
            middle = y + min(height / 2, 17.0)
            kind = "branch evidence" if node.evidence else "branch"
            branches.append(f'<path class="{kind}" d="M{x - step / 2:.1f} {above:.1f}V{middle:.1f}H{x:.1f}"/>')
        waiting += [(child, x + step, y + height) for child in reversed(node.children)]
        y += height + sizes.gap
    plain = [branch for branch in branches if "evidence" not in branch]
    return [*plain, *(branch for branch in branches if "evidence" in branch), *cards], y - sizes.gap


def _card(node: RunNode, x: float, y: float, sizes: CardSizes) -> tuple[str, float]:
    """Draw a card with sign, word and label on a line above the text; return it with its height."""
    width = sizes.width - sizes.margin - x
    lines = _lines(node, width - 2 * PADDING)
    height = sum(line.height for line in lines) + LINE + 2 * PADDING
    left, middle = x + PADDING, y + PADDING + 7
    after = left + 22 + text_width(node.word, SMALL, bold=True) + 8
    star = 18 if node.evidence else 0
    label = wrap_untrusted(node.label, SMALL, max(x + width - PADDING - star - after, SMALL), 1)
    kind, colour = f"card {node.status}{' evidence' if node.evidence else ''}", _SIGNS[node.status][1]
    parts = [
        f"<g><title>{escape(_tooltip(node, sizes.tooltip))}</title>",
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"/>',
        _sign(node.status, left + 8, middle),
        f'<text class="word" fill="{colour}" x="{left + 22:.1f}" y="{middle + 4.5:.1f}">{escape(node.word)}</text>',
        *draw_texts([TextLine(line, "label", SMALL_LINE) for line in label], after, middle - 6.5),
        *draw_texts(lines, left, y + PADDING + LINE),
        *([_star(x + width - PADDING - 6, middle)] if node.evidence else []),
        "</g>",
    ]
    return "\n".join(parts), height


def _sign(status: Status, x: float, y: float) -> str:
    """Draw a status's sign around a point: a check in a disc; a cross, an arrow or another stroke in a ring."""
    path, colour = _SIGNS[status]
    kind, outline = 'class="ring"', f' stroke="{colour}"'
    if path == _CHECK:
        kind, outline, colour = 'class="disc"', "", "#ffffff"
    circle = f'<circle {kind}{outline} cx="{x:.1f}" cy="{y:.1f}" r="7.5"/>'
    stroke = f'<path class="stroke" stroke="{colour}" transform="translate({x:.1f} {y:.1f})" d="{path}"/>'
    return f"{circle}{stroke}" if path else circle


def _star(x: float, y: float) -> str:
    corners = ((6.5 if number % 2 == 0 else 2.8, pi * (number / 5 - 0.5)) for number in range(10))
    points = " ".join(f"{x + radius * cos(angle):.1f},{y + radius * sin(angle):.1f}" for radius, angle in corners)
    return f'<polygon class="star" points="{points}"/>'


def _lines(node: RunNode, width: float) -> list[TextLine]:
    asked = node.kind == "question"
    style, most = ("asked", 6) if asked else ("text", 4)
    text = wrap_untrusted(node.text, TEXT, width, most, bold=asked) or [""]
    answer = wrap_untrusted(f"= {node.answer}", TEXT, width, 3, bold=True) if node.answer else []
    lines = [*(TextLine(line, style, LINE) for line in text), *(TextLine(line, "answer", LINE) for line in answer)]
    for note in node.notes:
        lines += [TextLine(line, "note", SMALL_LINE) for line in wrap_untrusted(note, SMALL, width, 2)]
    return lines


def wrap_untrusted(text: str, size: float, width: float, most: int, *, bold: bool = False) -> list[str]:
    """Break untrusted text into lines; none for a text that is empty."""
    line = sanitize_line(text[:_MAX_READ])
    return wrap_text(line, size, width, most=most, bold=bold) if line else []


def draw_texts(lines: list[TextLine], x: float, y: float) -> list[str]:
    """Draw lines of text, the first one below `y`."""
    parts = list[str]()
    for line in lines:
        y += line.height
        parts.append(f'<text class="{line.style}" x="{x:.1f}" y="{y - 4.5:.1f}">{escape(line.text)}</text>')
    return parts


def _tooltip(node: RunNode, most: int) -> str:
    parts = [f"{node.label} {node.word}".strip(), node.text, node.answer, *node.notes]
    prefix = "evidence: " if node.evidence else ""
    return prefix + "; ".join(truncate_line(part[:_MAX_READ], most) for part in parts if part)
