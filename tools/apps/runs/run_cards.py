"""The nodes of a run's tree as cards, each below the one before, with the branches that they hang from.

The styles are named, not set: a picture that stands alone brings them along, a page has its own.
"""

from dataclasses import dataclass
from html import escape
from typing import Final

from hopgraph.tools.apps.drawing.measure import text_width, wrapped
from hopgraph.tools.apps.runs.run_signs import evidence_mark, sign
from hopgraph.tools.apps.runs.trees import ShownNode, Status, depth_below
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

PADDING, LINE, SMALL_LINE = 10.0, 18.0, 15.5
TEXT, SMALL = 13.5, 12.0
_READ = 10_000
"""Characters of a text that are looked at; all that a card has room for is among them."""
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
    """The column for sign and word; 0: they stand above the text."""
    gap: float = 9.0
    spoken: int = 1_000
    """Characters of each of a node's texts that a pointer on the card gets."""


@dataclass(frozen=True)
class TextLine:
    """A line of text in a card."""

    text: str
    style: str
    height: float


def cards_of(root: ShownNode, sizes: CardSizes, top: float) -> tuple[list[str], float]:
    """Draw all cards from above; gives the parts, branches first, and the lower edge."""
    step = min(sizes.indent, sizes.most_indent / max(depth_below(root), 1))
    branches, cards = list[str](), list[str]()
    waiting, y = [(root, sizes.margin, 0.0)], top
    while waiting:
        shown, x, above = waiting.pop()
        card, height = _card(shown, x, y, sizes)
        cards.append(card)
        if above:
            middle = y + min(height / 2, 17.0)
            kind = "branch evidence" if shown.evidence else "branch"
            branches.append(f'<path class="{kind}" d="M{x - step / 2:.1f} {above:.1f}V{middle:.1f}H{x:.1f}"/>')
        waiting += [(below, x + step, y + height) for below in reversed(shown.below)]
        y += height + sizes.gap
    plain = [branch for branch in branches if "evidence" not in branch]
    return [*plain, *(branch for branch in branches if "evidence" in branch), *cards], y - sizes.gap


def _card(shown: ShownNode, x: float, y: float, sizes: CardSizes) -> tuple[str, float]:
    width = sizes.width - sizes.margin - x
    beside = _beside if sizes.side else _above
    inner, height = beside(shown, x, y, width, sizes.side)
    kind = f"card {shown.status}{' evidence' if shown.evidence else ''}"
    parts = [
        f"<g><title>{escape(_spoken(shown, sizes.spoken))}</title>",
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"/>',
        *inner,
        "</g>",
    ]
    return "\n".join(parts), height


def _beside(shown: ShownNode, x: float, y: float, width: float, room: float) -> tuple[list[str], float]:
    """Draw a card's content with sign, word and label left of the text."""
    side = [TextLine(line, "label", SMALL_LINE) for line in wrapped_text(shown.label, SMALL, room - 28, 2)]
    if shown.evidence:
        side.append(TextLine("evidence", "label", SMALL_LINE))
    lines = _lines(shown, width - room - 2 * PADDING)
    height = max(sum(line.height for line in lines), LINE + sum(line.height for line in side)) + 2 * PADDING
    left, middle = x + PADDING, y + PADDING + 9
    parts = [
        sign(shown.status, left + 8, middle),
        _word(shown, left + 24, middle + 4.5),
        *texts(side, left + 24, y + PADDING + LINE),
        *texts(lines, x + PADDING + room, y + PADDING),
    ]
    if shown.evidence:
        parts.append(evidence_mark(left + 8, middle + LINE + sum(line.height for line in side[:-1])))
    return parts, height


def _above(shown: ShownNode, x: float, y: float, width: float, _room: float) -> tuple[list[str], float]:
    """Draw a card's content with sign, word and label on a line above the text."""
    lines = _lines(shown, width - 2 * PADDING)
    height = sum(line.height for line in lines) + LINE + 2 * PADDING
    left, middle = x + PADDING, y + PADDING + 7
    after = left + 22 + text_width(shown.word, SMALL, bold=True) + 8
    star = 18 if shown.evidence else 0
    label = wrapped_text(shown.label, SMALL, max(x + width - PADDING - star - after, SMALL), 1)
    parts = [
        sign(shown.status, left + 8, middle),
        _word(shown, left + 22, middle + 4.5),
        *texts([TextLine(line, "label", SMALL_LINE) for line in label], after, middle - 6.5),
        *texts(lines, left, y + PADDING + LINE),
    ]
    if shown.evidence:
        parts.append(evidence_mark(x + width - PADDING - 6, middle))
    return parts, height


def _word(shown: ShownNode, x: float, y: float) -> str:
    colour = _WORD_COLOURS[shown.status]
    return f'<text class="word" fill="{colour}" x="{x:.1f}" y="{y:.1f}">{escape(shown.word)}</text>'


def _lines(shown: ShownNode, width: float) -> list[TextLine]:
    asked = shown.kind == "question"
    most = 6 if asked else 4
    lines = [
        TextLine(line, "asked" if asked else "text", LINE)
        for line in wrapped_text(shown.text, TEXT, width, most, bold=asked) or [""]
    ]
    if shown.answer:
        lines += [
            TextLine(line, "answer", LINE) for line in wrapped_text(f"= {shown.answer}", TEXT, width, 3, bold=True)
        ]
    for note in shown.notes:
        lines += [TextLine(line, "note", SMALL_LINE) for line in wrapped_text(note, SMALL, width, 2)]
    return lines


def wrapped_text(text: str, size: float, width: float, most: int, *, bold: bool = False) -> list[str]:
    """Break foreign text into lines; none for a text that is empty."""
    line = sanitize_line(text[:_READ])
    return wrapped(line, size, width, most=most, bold=bold) if line else []


def texts(lines: list[TextLine], x: float, y: float) -> list[str]:
    """Draw lines of text, the first one below `y`."""
    parts = list[str]()
    for line in lines:
        y += line.height
        parts.append(f'<text class="{line.style}" x="{x:.1f}" y="{y - 4.5:.1f}">{escape(line.text)}</text>')
    return parts


def _spoken(shown: ShownNode, most: int) -> str:
    said = [f"{shown.label} {shown.word}".strip(), shown.text, shown.answer, *shown.notes]
    marked = "evidence: " if shown.evidence else ""
    return marked + "; ".join(truncate_line(part[:_READ], most) for part in said if part)
