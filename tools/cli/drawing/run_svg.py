"""A run's tree as an SVG picture that stands alone: from the question down, a card for each node, its end below.

What became of a node is told by a sign, a word and the card's border, so that no colour is needed to read it.
"""

from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import Final

from hopgraph.tools.cli.console import on_one_line, shortened
from hopgraph.tools.cli.drawing.measure import wrapped
from hopgraph.tools.cli.drawing.run_signs import SIGN_STYLE, evidence_mark, sign
from hopgraph.tools.trees import RunTree, ShownNode, Status, depth_below, view_of

WIDTH = 880.0
"""Of the picture, in its own units; it is as high as it needs to be."""
_MARGIN, _PADDING, _GAP = 26.0, 10.0, 9.0
_INDENT, _MOST_INDENT = 30.0, 300.0
_SIDE = 132.0
"""The column for sign and word."""
_LINE, _SMALL_LINE = 18.0, 15.5
_TEXT, _SMALL = 13.5, 12.0
_FULL_TEXT = 1_000
"""Characters of a node's text that a reader without eyes, or a pointer on the card, gets."""
_STYLE = (
    """
.background{fill:#ffffff;stroke:#d0d7de}
.title{font:600 17px FONT;fill:#1f2328}
.word{font:600 12px FONT}
.label{font:400 12px FONT;fill:#57606a}
.text{font:400 13.5px FONT;fill:#1f2328}
.asked{font:600 13.5px FONT;fill:#1f2328}
.answer{font:600 13.5px FONT;fill:#116329}
.note{font:400 12px FONT;fill:#57606a}
.end{font:600 18px FONT;fill:#1f2328}
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
"""
    + SIGN_STYLE
).replace("FONT", "'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif")
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
class _Line:
    """A line of text in a card."""

    text: str
    style: str
    height: float


def svg_of_run(tree: RunTree, title: str) -> str:
    """Draw a run's tree; the same tree gives the same text."""
    body, bottom = _tree(view_of(tree), _MARGIN + 34)
    end, bottom = _end(tree, bottom + 14)
    height = round(bottom + _MARGIN)
    about = escape(f"{title}: {shortened(tree['nodes'][0]['text'], 200)}")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height}" width="{WIDTH:.0f}" '
        f'height="{height}" role="img" aria-labelledby="title about">\n'
        f'<title id="title">{about}</title>\n<desc id="about">{escape(_summary(tree))}</desc>\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect class="background" x="0.5" y="0.5" width="{WIDTH - 1:.0f}" height="{height - 1}" rx="10"/>\n'
        f'<text class="title" x="{_MARGIN:.0f}" y="{_MARGIN + 12:.0f}">{escape(shortened(title, 80))}</text>'
    )
    return "\n".join([head, *body, *end, "</svg>"]) + "\n"


def _summary(tree: RunTree) -> str:
    """Say in words what the picture shows."""
    counts = Counter(f"{node['kind']} {node['status']}" for node in tree["nodes"][1:])
    told = ", ".join(f"{count} {what}" for what, count in counts.items())
    answer = f"Answer: {shortened(tree['answer'], _FULL_TEXT)}." if tree["answer"] else "No answer."
    quotes = (f"{on_one_line(quote['title'])}: {shortened(quote['quote'], 300)}" for quote in tree["quotes"])
    return " ".join([answer, f"Nodes: {told or 'none below the question'}.", *quotes])


def _tree(root: ShownNode, top: float) -> tuple[list[str], float]:
    """Draw all cards from above, each with the branch that it hangs from; gives the parts and the lower edge."""
    step = min(_INDENT, _MOST_INDENT / max(depth_below(root), 1))
    branches, cards = list[str](), list[str]()
    waiting, y = [(root, _MARGIN, 0.0)], top
    while waiting:
        shown, x, above = waiting.pop()
        card, height = _card(shown, x, y)
        cards.append(card)
        if above:
            middle = y + min(height / 2, 17.0)
            kind = "branch evidence" if shown.evidence else "branch"
            branches.append(f'<path class="{kind}" d="M{x - step / 2:.1f} {above:.1f}V{middle:.1f}H{x:.1f}"/>')
        waiting += [(below, x + step, y + height) for below in reversed(shown.below)]
        y += height + _GAP
    plain = [branch for branch in branches if "evidence" not in branch]
    return [*plain, *(branch for branch in branches if "evidence" in branch), *cards], y - _GAP


def _card(shown: ShownNode, x: float, y: float) -> tuple[str, float]:
    width = WIDTH - _MARGIN - x
    side = [_Line(line, "label", _SMALL_LINE) for line in _wrapped(shown.label, _SMALL, _SIDE - 28, 2)]
    if shown.evidence:
        side.append(_Line("evidence", "label", _SMALL_LINE))
    lines = _lines(shown, width - _SIDE - 2 * _PADDING)
    height = max(sum(line.height for line in lines), _LINE + sum(line.height for line in side)) + 2 * _PADDING
    kind = f"card {shown.status}{' evidence' if shown.evidence else ''}"
    left, middle = x + _PADDING, y + _PADDING + 9
    parts = [
        f"<g><title>{escape(_spoken(shown))}</title>",
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"/>',
        sign(shown.status, left + 8, middle),
        f'<text class="word" fill="{_WORD_COLOURS[shown.status]}" x="{left + 24:.1f}" y="{middle + 4.5:.1f}">'
        f"{escape(shown.word)}</text>",
        *_texts(side, left + 24, y + _PADDING + _LINE),
        *_texts(lines, x + _PADDING + _SIDE, y + _PADDING),
        "</g>",
    ]
    if shown.evidence:
        parts.insert(-1, evidence_mark(left + 8, middle + _LINE + sum(line.height for line in side[:-1])))
    return "\n".join(parts), height


def _lines(shown: ShownNode, width: float) -> list[_Line]:
    asked = shown.kind == "question"
    most = 6 if asked else 4
    lines = [
        _Line(line, "asked" if asked else "text", _LINE)
        for line in _wrapped(shown.text, _TEXT, width, most, bold=asked) or [""]
    ]
    if shown.answer:
        lines += [_Line(line, "answer", _LINE) for line in _wrapped(f"= {shown.answer}", _TEXT, width, 3, bold=True)]
    for note in shown.notes:
        lines += [_Line(line, "note", _SMALL_LINE) for line in _wrapped(note, _SMALL, width, 2)]
    return lines


def _wrapped(text: str, size: float, width: float, most: int, *, bold: bool = False) -> list[str]:
    """Break foreign text into lines; none for a text that is empty."""
    return wrapped(line, size, width, most=most, bold=bold) if (line := on_one_line(text)) else []


def _texts(lines: list[_Line], x: float, y: float) -> list[str]:
    parts = list[str]()
    for line in lines:
        y += line.height
        parts.append(f'<text class="{line.style}" x="{x:.1f}" y="{y - 4.5:.1f}">{escape(line.text)}</text>')
    return parts


def _spoken(shown: ShownNode) -> str:
    said = [f"{shown.label} {shown.word}".strip(), shown.text, shown.answer, *shown.notes]
    marked = "evidence: " if shown.evidence else ""
    return marked + "; ".join(shortened(part, _FULL_TEXT) for part in said if part)


def _end(tree: RunTree, y: float) -> tuple[list[str], float]:
    """Draw how the run ended: its answer, and what it cites."""
    width = WIDTH - 2 * _MARGIN
    known = bool(tree["answer"])
    reason = on_one_line(tree["stop_reason"]).replace("_", " ")
    said = f"Answer: {tree['answer']}" if known else f"No answer{f' ({reason})' if reason else ' yet'}"
    lines = [_Line(line, "end", 25.0) for line in _wrapped(said, 18, width - 2 * _PADDING, 4, bold=True)]
    for number, quote in enumerate(tree["quotes"], start=1):
        lines.append(_Line("", "note", 6.0))
        name = f"[{number}] {quote['title'] or quote['passage_id']}"
        lines += [_Line(line, "asked", _LINE) for line in _wrapped(name, _TEXT, width - 2 * _PADDING, 2, bold=True)]
        cited = f"“{quote['quote']}”"
        lines += [_Line(line, "note", _SMALL_LINE) for line in _wrapped(cited, _SMALL, width - 2 * _PADDING, 3)]
    height = sum(line.height for line in lines) + 2 * _PADDING
    kind = "card evidence" if known else "card unknown"
    box = f'<rect class="{kind}" x="{_MARGIN:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"/>'
    return [box, *_texts(lines, _MARGIN + _PADDING, y + _PADDING)], y + height
