"""The nodes of a run's tree as cards, each below the one before, with the branches that they hang from.

The parts have class names and no style: an SVG file brings its own, a page has its own for light and dark.
"""

from dataclasses import dataclass
from html import escape
from typing import Final

from hopgraph.tools.apps.drawing.measure import text_width, wrap_text
from hopgraph.tools.apps.runs.run_signs import draw_sign, draw_star
from hopgraph.tools.apps.runs.run_tree import RunNode, Status, tree_depth
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

PADDING, LINE, SMALL_LINE = 10.0, 18.0, 15.5
TEXT, SMALL = 13.5, 12.0
_MAX_READ = 10_000
"""Characters of a text that are read; more than a card has room for."""
_WORD_COLOURS: Final[dict[Status, str]] = {
    "open": "#57606a",
    "expanded": "#2f5aa8",
    "found": "#57606a",
    "accepted": "#116329",
    "rejected": "#6e2d28",
    "pruned": "#57606a",
    "answered": "#116329",
    "unknown": "#b3261e",
}


@dataclass(frozen=True)
class CardSizes:
    """The measures of a picture, in its own units."""

    width: float
    margin: float
    indent: float
    """Of each level, as far as `most_indent` reaches for all of them."""
    most_indent: float
    side: float
    """Width of the column for sign and word; 0 to put them above the text."""
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
    width = sizes.width - sizes.margin - x
    draw = _wide_card if sizes.side else _narrow_card
    inner, height = draw(node, x, y, width, sizes.side)
    kind = f"card {node.status}{' evidence' if node.evidence else ''}"
    parts = [
        f"<g><title>{escape(_tooltip(node, sizes.tooltip))}</title>",
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"/>',
        *inner,
        "</g>",
    ]
    return "\n".join(parts), height


def _wide_card(node: RunNode, x: float, y: float, width: float, room: float) -> tuple[list[str], float]:
    """Draw a card's content with sign, word and label left of the text."""
    side = [TextLine(line, "label", SMALL_LINE) for line in wrap_untrusted(node.label, SMALL, room - 28, 2)]
    if node.evidence:
        side.append(TextLine("evidence", "label", SMALL_LINE))
    lines = _lines(node, width - room - 2 * PADDING)
    height = max(sum(line.height for line in lines), LINE + sum(line.height for line in side)) + 2 * PADDING
    left, middle = x + PADDING, y + PADDING + 9
    parts = [
        draw_sign(node.status, left + 8, middle),
        _word(node, left + 24, middle + 4.5),
        *draw_texts(side, left + 24, y + PADDING + LINE),
        *draw_texts(lines, x + PADDING + room, y + PADDING),
    ]
    if node.evidence:
        parts.append(draw_star(left + 8, middle + LINE + sum(line.height for line in side[:-1])))
    return parts, height


def _narrow_card(node: RunNode, x: float, y: float, width: float, _room: float) -> tuple[list[str], float]:
    """Draw a card's content with sign, word and label on a line above the text."""
    lines = _lines(node, width - 2 * PADDING)
    height = sum(line.height for line in lines) + LINE + 2 * PADDING
    left, middle = x + PADDING, y + PADDING + 7
    after = left + 22 + text_width(node.word, SMALL, bold=True) + 8
    star = 18 if node.evidence else 0
    label = wrap_untrusted(node.label, SMALL, max(x + width - PADDING - star - after, SMALL), 1)
    parts = [
        draw_sign(node.status, left + 8, middle),
        _word(node, left + 22, middle + 4.5),
        *draw_texts([TextLine(line, "label", SMALL_LINE) for line in label], after, middle - 6.5),
        *draw_texts(lines, left, y + PADDING + LINE),
    ]
    if node.evidence:
        parts.append(draw_star(x + width - PADDING - 6, middle))
    return parts, height


def _word(node: RunNode, x: float, y: float) -> str:
    colour = _WORD_COLOURS[node.status]
    return f'<text class="word" fill="{colour}" x="{x:.1f}" y="{y:.1f}">{escape(node.word)}</text>'


def _lines(node: RunNode, width: float) -> list[TextLine]:
    asked = node.kind == "question"
    most = 6 if asked else 4
    lines = [
        TextLine(line, "asked" if asked else "text", LINE)
        for line in wrap_untrusted(node.text, TEXT, width, most, bold=asked) or [""]
    ]
    if node.answer:
        lines += [
            TextLine(line, "answer", LINE) for line in wrap_untrusted(f"= {node.answer}", TEXT, width, 3, bold=True)
        ]
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
