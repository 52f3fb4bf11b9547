"""The picture of a run: its growing tree or chain of reasoning, narrow enough for a phone.

It is the drawing of `hopgraph draw --run` (`hopgraph.tools.apps.drawing`) at another width, with its colours left to
the page's style, which has them for light and dark.
"""

from collections.abc import Mapping, Sequence
from html import escape

from hopgraph.state import Passage, StepEvent
from hopgraph.tools.apps.runs.run_svg import CardSizes, draw_cards, summarize_tree
from hopgraph.tools.apps.runs.run_tree import RunNode, group_paragraphs, limit_nodes
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.text.sanitize import truncate_line

_SIZES = CardSizes(width=336.0, margin=2.0, indent=14.0, most_indent=84.0, gap=8.0, tooltip=240)
_MOST = 60
"""Nodes that are drawn; of a larger run those on the way to the answer come first."""
_SUMMARY = 1_500
"""Characters of the text alternative."""
_UNTITLED = 80
"""Characters of a passage that stand for its title where it has none."""


def picture(question: str, events: Sequence[StepEvent], passages: Mapping[str, Passage]) -> str:
    """Return the picture of a run so far as HTML, for `gr.HTML`; empty for a run without events.

    All texts in it are escaped and cut to what a card has room for; a run of 500 nodes takes some 65 kB. It is drawn
    anew from all events each time, in about 0.1 s for such a run, so a page that follows a run gathers a few events.

    Args:
        question: the question as it was looked up.
        events: the step events of the run so far, in any order.
        passages: what is known of the passages that the events name, by id; may lack any of them.
    """
    if not events:
        return ""
    tree = build_tree(question, events)
    for node in tree.nodes:
        if node.kind == "paragraph":
            node.text = _titles(node, passages)
    cards, bottom = draw_cards(limit_nodes(group_paragraphs(tree.root), _MOST), _SIZES, _SIZES.margin)
    about = truncate_line(f"The run as a tree. {summarize_tree(tree)}", _SUMMARY)
    width, height = _SIZES.width, round(bottom + _SIZES.margin)
    return (
        f'<div class="hg-tree"><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'style="max-width:{1.25 * width:.0f}px" role="img" aria-label="{escape(about)}">{"".join(cards)}</svg></div>'
    )


def _titles(node: RunNode, passages: Mapping[str, Passage]) -> str:
    """Return the titles of a node's passages, or their first words; the node's text where one is not known."""
    found = [passages[key] for key in node.passage_ids if key in passages]
    if not found or len(found) < len(node.passage_ids):
        return node.text
    return " · ".join(passage["title"] or truncate_line(passage["text"], _UNTITLED) for passage in found)
