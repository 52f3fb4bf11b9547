"""A run's tree as a self-contained SVG picture: from the question down, a card for each node, the answer below.

A sign, a word and the card's border show what became of a node, so that no colour is needed to read it.
"""

from collections import Counter
from html import escape

from hopgraph.tools.apps.runs.run_cards import (
    LINE,
    PADDING,
    SMALL,
    SMALL_LINE,
    TEXT,
    CardSizes,
    TextLine,
    draw_cards,
    draw_texts,
    wrap_untrusted,
)
from hopgraph.tools.apps.runs.run_tree import RunTree, group_paragraphs
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

WIDTH = 880.0
"""Of the picture, in its own units; it is as high as it needs to be."""
_SIZES = CardSizes(width=WIDTH, margin=26.0, indent=30.0, most_indent=300.0)
_FULL_TEXT = 1_000
"""Characters of the answer in the text alternative."""
_STYLE = """
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
.disc{fill:#1a7f37}
.ring{fill:none;stroke-width:1.6}
.stroke{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.star{fill:#9a6700}
""".replace("FONT", "'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif")


def draw_run_svg(tree: RunTree, title: str) -> str:
    """Return the picture of a run's tree; the same for the same tree."""
    body, bottom = draw_cards(group_paragraphs(tree.root), _SIZES, _SIZES.margin + 34)
    end, bottom = _end(tree, bottom + 14)
    height = round(bottom + _SIZES.margin)
    about = escape(f"{title}: {truncate_line(tree.root.text, 200)}")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height}" width="{WIDTH:.0f}" '
        f'height="{height}" role="img" aria-labelledby="title about">\n'
        f'<title id="title">{about}</title>\n<desc id="about">{escape(summarize_tree(tree))}</desc>\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect class="background" x="0.5" y="0.5" width="{WIDTH - 1:.0f}" height="{height - 1}" rx="10"/>\n'
        f'<text class="title" x="{_SIZES.margin:.0f}" y="{_SIZES.margin + 12:.0f}">'
        f"{escape(truncate_line(title, 80))}</text>"
    )
    return "\n".join([head, *body, *end, "</svg>"]) + "\n"


def summarize_tree(tree: RunTree) -> str:
    """Return in words what the picture shows."""
    counts = Counter(f"{node.kind} {node.status}" for node in tree.nodes[1:])
    kinds = ", ".join(f"{count} {what}" for what, count in counts.items())
    answer = f"Answer: {truncate_line(tree.answer, _FULL_TEXT)}." if tree.answer else "No answer."
    quotes = (f"{sanitize_line(quote['title'])}: {truncate_line(quote['quote'], 300)}" for quote in tree.quotes)
    return " ".join([answer, f"Nodes: {kinds or 'none below the question'}.", *quotes])


def _end(tree: RunTree, y: float) -> tuple[list[str], float]:
    """Draw the answer with its citations."""
    width = WIDTH - 2 * _SIZES.margin
    inner = width - 2 * PADDING
    reason = sanitize_line(tree.stop_reason).replace("_", " ")
    conclusion = f"Answer: {tree.answer}" if tree.answer else f"No answer{f' ({reason})' if reason else ' yet'}"
    lines = [TextLine(line, "end", 25.0) for line in wrap_untrusted(conclusion, 18, inner, 4, bold=True)]
    for number, quote in enumerate(tree.quotes, start=1):
        title, text = f"[{number}] {quote['title'] or quote['passage_id']}", f"“{quote['quote']}”"
        lines.append(TextLine("", "note", 6.0))
        lines += [TextLine(line, "asked", LINE) for line in wrap_untrusted(title, TEXT, inner, 2, bold=True)]
        lines += [TextLine(line, "note", SMALL_LINE) for line in wrap_untrusted(text, SMALL, inner, 3)]
    height = sum(line.height for line in lines) + 2 * PADDING
    kind = "card evidence" if tree.answer else "card unknown"
    box = f'<rect class="{kind}" x="{_SIZES.margin:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"/>'
    return [box, *draw_texts(lines, _SIZES.margin + PADDING, y + PADDING)], y + height
