"""A run's tree as a picture: cards below one another, connected by branches, with the answer at the bottom.

A sign, a word and the border show the outcome of a node, so that color is not needed. Cards have class names, for
which `draw_run_svg` adds a style, and the chat page has its own.
"""

from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import Final

from hopgraph.tools.apps.drawing import MARGIN, frame_svg, text_width, wrap_text
from hopgraph.tools.apps.runs.run_tree import RunNode, RunTree, Status, group_paragraphs, tree_depth
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

_PADDING, _LINE = 10.0, 18.0
_FONTS: Final = {
    "label": (12.0, False, 15.5),
    "text": (13.5, False, _LINE),
    "asked": (13.5, True, _LINE),
    "answer": (13.5, True, _LINE),
    "note": (12.0, False, 15.5),
    "end": (18.0, True, 25.0),
    "gap": (12.0, False, 6.0),
}
"""Size, weight and height of a line of text, by its class."""
_MAX_READ = 10_000  # characters of a text that are processed; more than fit on a card
_STAR = (
    '<polygon class="star" transform="translate({:.1f} {:.1f})" '
    'points="0,-6.5 1.6,-2.3 6.2,-2 2.7,0.9 3.8,5.3 0,2.8 -3.8,5.3 -2.7,0.9 -6.2,-2 -1.6,-2.3"/>'
)
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
"""The path in the sign's circle, around its center, and the color of the status's word. Paths do not need a font."""


@dataclass(frozen=True)
class CardSizes:
    """The dimensions of a picture, in its own units."""

    width: float
    margin: float
    indent: float
    """Indentation per level, as far as `most_indent` allows for all levels."""
    most_indent: float
    gap: float = 9.0
    tooltip: int = 1_000
    """Characters of each of a node's texts in the card's tooltip."""


_TextLine = tuple[str, str]  # a line's class and text
_SIZES = CardSizes(width=880.0, margin=MARGIN, indent=30.0, most_indent=300.0)
_STYLE = """
.word{font-size:12px;font-weight:600}
.label,.note{font-size:12px;fill:#57606a}
.text,.asked{font-size:13.5px;fill:#1f2328}
.answer{font-size:13.5px;fill:#116329}
.end{font-size:18px;fill:#1f2328}
.asked,.answer,.end{font-weight:600}
.branch{fill:none;stroke:#afb8c1;stroke-width:1.5}
.branch.evidence{stroke:#1a7f37;stroke-width:3.5}
.card{fill:#ffffff;stroke:#8c959f;stroke-width:1.2}
.card.accepted,.card.answered{fill:#f2fbf4;stroke:#1a7f37;stroke-width:1.6}
.card.expanded{fill:#f3f8ff;stroke:#4f7ac7}
.card.rejected{fill:#fbfbfb;stroke-dasharray:6 4}
.card.pruned{fill:#fbfbfb;stroke-dasharray:1.5 3.5}
.card.open,.card.found{stroke:#afb8c1}
.card.unknown{fill:#fff8f7;stroke:#b3261e;stroke-dasharray:9 3}
.card.evidence{stroke:#1a7f37;stroke-width:3.5;stroke-dasharray:none}
.disc{fill:#1a7f37}
.ring{fill:none;stroke-width:1.6}
.stroke{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.star{fill:#9a6700}
"""


def draw_run_svg(tree: RunTree, title: str) -> str:
    """Return the picture of a run's tree; equal trees give equal pictures."""
    body, bottom = draw_cards(group_paragraphs(tree.root), _SIZES, _SIZES.margin + 34)
    end, bottom = _end(tree, bottom + 14)
    return frame_svg(
        [*body, *end],
        truncate_line(title, 80),
        _SIZES.width,
        bottom + _SIZES.margin,
        style=_STYLE,
        title=f"{title}: {truncate_line(tree.root.text, 200)}",
        about=summarize_tree(tree),
    )


def summarize_tree(tree: RunTree) -> str:
    """Return a description of the picture in words."""
    counts = Counter(f"{node.kind} {node.status}" for node in tree.nodes[1:])
    kinds = ", ".join(f"{count} {what}" for what, count in counts.items())
    answer = f"Answer: {truncate_line(tree.answer, 1_000)}." if tree.answer else "No answer."
    quotes = (f"{sanitize_line(quote['title'])}: {truncate_line(quote['quote'], 300)}" for quote in tree.quotes)
    return " ".join([answer, f"Nodes: {kinds or 'none below the question'}.", *quotes])


def _end(tree: RunTree, y: float) -> tuple[list[str], float]:
    """Draw the answer with its citations."""
    width = _SIZES.width - 2 * _SIZES.margin
    inner = width - 2 * _PADDING
    reason = sanitize_line(tree.stop_reason).replace("_", " ")
    conclusion = f"Answer: {tree.answer}" if tree.answer else f"No answer{f' ({reason})' if reason else ' yet'}"
    lines = _wrap("end", conclusion, inner, 4)
    for number, quote in enumerate(tree.quotes, start=1):
        title = f"[{number}] {quote['title']}"
        lines += [("gap", ""), *_wrap("asked", title, inner, 2), *_wrap("note", f"“{quote['quote']}”", inner, 3)]
    height = _height(lines) + 2 * _PADDING
    kind = "card evidence" if tree.answer else "card unknown"
    box = f'<rect class="{kind}" x="{_SIZES.margin:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"/>'
    return [box, *_draw_texts(lines, _SIZES.margin + _PADDING, y + _PADDING)], y + height


def draw_cards(root: RunNode, sizes: CardSizes, top: float) -> tuple[list[str], float]:
    """Draw all cards from the top down; return the parts, branches first, and the bottom edge."""
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
    branches.sort(key=lambda branch: "evidence" in branch)  # draw evidence on top
    return [*branches, *cards], y - sizes.gap


def _card(node: RunNode, x: float, y: float, sizes: CardSizes) -> tuple[str, float]:
    """Draw a card, with sign, word and label on a line above the text; return it and its height."""
    width = sizes.width - sizes.margin - x
    room, (style, most) = width - 2 * _PADDING, ("asked", 6) if node.kind == "question" else ("text", 4)
    lines = _wrap(style, node.text, room, most) or [(style, "")]
    lines += _wrap("answer", f"= {node.answer}", room, 3) if node.answer else []
    lines += [line for note in node.notes for line in _wrap("note", note, room, 2)]
    height = _height(lines) + _LINE + 2 * _PADDING
    left, middle = x + _PADDING, y + _PADDING + 7
    after = left + 22 + text_width(node.word, 12, bold=True) + 8
    star = 18 if node.evidence else 0
    label = _wrap("label", node.label, max(x + width - _PADDING - star - after, 12), 1)
    kind, color = f"card {node.status}{' evidence' if node.evidence else ''}", _SIGNS[node.status][1]
    said = [f"{node.label} {node.word}".strip(), node.text, node.answer, *node.notes]
    tooltip = "; ".join(truncate_line(part[:_MAX_READ], sizes.tooltip) for part in said if part)
    parts = [
        f"<g><title>{'evidence: ' if node.evidence else ''}{escape(tooltip)}</title>",
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"/>',
        _sign(node.status, left + 8, middle),
        f'<text class="word" fill="{color}" x="{left + 22:.1f}" y="{middle + 4.5:.1f}">{escape(node.word)}</text>',
        *_draw_texts(label, after, middle - 6.5),
        *_draw_texts(lines, left, y + _PADDING + _LINE),
        *([_STAR.format(x + width - _PADDING - 6, middle)] if node.evidence else []),
        "</g>",
    ]
    return "\n".join(parts), height


def _sign(status: Status, x: float, y: float) -> str:
    """Draw a status's sign around a point: a check in a disc; a cross, an arrow or another stroke in a ring."""
    path, color = _SIGNS[status]
    kind, outline = 'class="ring"', f' stroke="{color}"'
    if path == _CHECK:
        kind, outline, color = 'class="disc"', "", "#ffffff"
    circle = f'<circle {kind}{outline} cx="{x:.1f}" cy="{y:.1f}" r="7.5"/>'
    stroke = f'<path class="stroke" stroke="{color}" transform="translate({x:.1f} {y:.1f})" d="{path}"/>'
    return f"{circle}{stroke}" if path else circle


def _wrap(style: str, text: str, width: float, most: int) -> list[_TextLine]:
    """Break untrusted text into lines; no lines for an empty text."""
    line, (size, bold, _) = sanitize_line(text[:_MAX_READ]), _FONTS[style]
    return [(style, part) for part in wrap_text(line, size, width, most=most, bold=bold)] if line else []


def _height(lines: list[_TextLine]) -> float:
    return sum(_FONTS[style][2] for style, _ in lines)


def _draw_texts(lines: list[_TextLine], x: float, y: float) -> list[str]:
    """Draw lines of text, the first one below `y`."""
    parts = list[str]()
    for style, text in lines:
        y += _FONTS[style][2]
        if text:
            parts.append(f'<text class="{style}" x="{x:.1f}" y="{y - 4.5:.1f}">{escape(text)}</text>')
    return parts
