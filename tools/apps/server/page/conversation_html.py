"""The conversation and the pictures of its runs in HTML: drawn alike for a running turn and for a stored one."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from hopgraph.state import Passage, StepEvent
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.run_svg import CardSizes, draw_cards, summarize_tree
from hopgraph.tools.apps.runs.run_tree import RunNode, group_paragraphs, keep_evidence, limit_nodes, tree_size
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.apps.server.page.answer_html import answer_html
from hopgraph.tools.apps.server.page.html_text import inline_html, multiline_html, problem_html
from hopgraph.tools.apps.server.page.page_turns import PageTurn
from hopgraph.tools.apps.server.turn import replace_surrogates
from hopgraph.tools.text.sanitize import pluralize, truncate_line

_SIZES = CardSizes(width=336.0, margin=2.0, indent=14.0, most_indent=84.0, gap=8.0, tooltip=240)
_MOST = 60
"""Nodes that are drawn; of a larger run those on the way to the answer come first."""
_SUMMARY = 1_500
"""Characters of the text alternative."""
_UNTITLED = 80
"""Characters of a passage that stand for its title where it has none."""
_WELCOME = (
    '<div class="hg-welcome"><h2>Ask your documents</h2><p>A question may take several steps: what is found for one'
    " tells what to look for next. Each step is shown while it happens, and each answer names the sentences that it"
    " rests on.</p>{}</div>"
)
_RATINGS = {"good": "Good", "bad": "Bad"}
_STAND_IN = "by the stand-in, no language model"
_STATUS_NOTES = {
    "stopped": "Stopped before there was an answer.",
    "paused": "Waiting for your review.",
    "elsewhere": "This is being answered elsewhere; open the conversation again to see what came of it.",
}


def conversation_html(turns: Iterable[PageTurn], *, welcome: bool = False, examples: Iterable[str] = ()) -> str:
    """Draw turns, the oldest first; for none a greeting with example questions if `welcome`, else nothing."""
    drawn = "".join(_turn_html(turn) for turn in turns)
    offered = "".join(f"<li>{_button('ask', inline_html(each))}</li>" for each in examples)
    greeting = _WELCOME.format(f'<ul class="hg-examples">{offered}</ul>' if offered else "")
    return replace_surrogates(drawn or (greeting if welcome else ""))


def picture_html(turn: PageTurn | None) -> str:
    """Draw a turn's tree or chain; a placeholder where there is none."""
    drawn = picture(turn.told.get("question") or turn.asked, turn.events, turn.passages) if turn else ""
    return replace_surrogates(drawn or '<p class="hg-nothing">The picture of the search grows here.</p>')


def _turn_html(turn: PageTurn) -> str:
    return (
        f'<article class="hg-turn" data-turn="{inline_html(turn.id)}">'
        f'<div class="hg-asked"><span class="hg-unseen">You: </span>'
        f'<span class="hg-question">{multiline_html(turn.asked)}</span></div>'
        f"{_steps_html(turn)}"
        f'<div class="hg-reply" aria-live="polite">{_reply_html(turn)}</div>'
        f"{_actions_html(turn) if turn.ended else ''}</article>"
    )


def _button(act: str, label: str, more: str = "") -> str:
    return f'<button type="button" data-act="{act}"{more}>{label}</button>'


def _actions_html(turn: PageTurn) -> str:
    """Draw what can be done with a turn that has ended; `page.js` does it."""
    shown = [_button("resume", "Continue")] if turn.ended in ("stopped", "failed") else []
    shown += [_button("copy", "Copy")] if turn.told or turn.said else []
    shown += [_button("again", "Ask again"), _button("edit", "Edit")]
    for value, label in _RATINGS.items() if turn.told else ():
        shown.append(
            _button("rate", label, f' data-value="{value}" aria-pressed="{str(turn.feedback == value).lower()}"')
        )
    return f'<div class="hg-actions" role="group" aria-label="This turn">{"".join(shown)}</div>'


def _reply_html(turn: PageTurn) -> str:
    if turn.ended == "failed":
        return problem_html(turn.problem)
    if turn.ended in _STATUS_NOTES:
        return f'<p class="hg-note">{_STATUS_NOTES[turn.ended]}</p>'
    if turn.told:
        return answer_html(turn.told, turn.passages, f"source-{turn.id}")
    return f'<p class="hg-said">{multiline_html(turn.said)}</p>' if turn.said else ""


def _steps_html(turn: PageTurn) -> str:
    """Draw the steps as nested, collapsible items; while the turn runs they and the last group are unfolded.

    The lines are the ones that `hopgraph ask` prints (`runs.narration`): an iteration's heading begins a group, a
    labelled line an item, and the lines below it fold into that item.
    """
    running = not turn.ended
    groups = _grouped(turn.lines)
    count = sum(len(items) for _, items in groups)
    if not count and not running:
        return ""
    notes = ["Working" if running else "", pluralize(count, "step"), str(turn.told.get("method", ""))]
    said = " · ".join(filter(None, [*notes, _STAND_IN if turn.stand_in else ""]))
    inner = f'<p class="hg-about">{inline_html(turn.about)}</p>' if turn.about else ""
    inner += "".join(_group_html(*group, unfolded=running and group is groups[-1]) for group in groups)
    return (
        f'<details class="hg-steps{" hg-running" if running else ""}"{" open" if running else ""}>'
        f"<summary>{inline_html(said)}</summary>{inner}</details>"
    )


def _grouped(lines: Iterable[Line]) -> list[tuple[str, list[list[Line]]]]:
    """Return each group's heading, empty before the first one, and its items: a line, and those that fold into it."""
    groups: list[tuple[str, list[list[Line]]]] = []
    for line in lines:
        if line.style == "heading":
            # A run that goes on after a pause names the iteration that it is in once more.
            if not groups or groups[-1][0] != line.text:
                groups.append((line.text, []))
            continue
        groups = groups or [("", [])]
        items = groups[-1][1]
        if line.label or not items:
            items.append([])
        items[-1].append(line)
    return groups


def _group_html(heading: str, items: Iterable[list[Line]], *, unfolded: bool) -> str:
    drawn = f"<ul>{''.join(_item_html(*item) for item in items)}</ul>"
    if not heading:
        return drawn
    opened = " open" if unfolded else ""
    return f'<details class="hg-group"{opened}><summary>{inline_html(heading)}</summary>{drawn}</details>'


def _item_html(line: Line, *more: Line) -> str:
    head = f'<span class="hg-label">{inline_html(line.label)}</span>{_line_html(line)}'
    if more:
        below = "".join(f"<li>{_line_html(each)}</li>" for each in more)
        head = f"<details><summary>{head}</summary><ul>{below}</ul></details>"
    return f'<li class="hg-step">{head}</li>'


def _line_html(line: Line) -> str:
    mark = f'<span class="hg-mark">{inline_html(line.mark)}</span> ' if line.mark else ""
    return f'<span class="hg-line hg-{line.style}">{mark}{inline_html(line.text)}</span>'


def picture(question: str, events: Sequence[StepEvent], passages: Mapping[str, Passage]) -> str:
    """Draw the tree or chain of reasoning of a run so far, narrow enough for a phone; empty for a run without events.

    Once there is an answer, the nodes that it rests on come first, and the whole is folded below them. All texts are
    escaped and cut to what a card has room for; a run of 500 nodes takes some 65 kB. It is drawn anew from all
    events, in any order, each time: in about 0.1 s for such a run. Of the passages that the events name any may be
    unknown. Colours are left to the page's style, which has them for light and dark.
    """
    if not events:
        return ""
    tree = build_tree(question, events)
    for node in tree.nodes:
        if node.kind == "paragraph":
            node.text = _titles(node, passages)
    about = truncate_line(f"The run as a tree. {summarize_tree(tree)}", _SUMMARY)
    whole = _svg(group_paragraphs(tree.root), about)
    path = keep_evidence(tree.root)
    left_out = len(tree.nodes) - tree_size(path)
    if not tree.answer or not path.children or not left_out:
        return f'<div class="hg-tree">{whole}</div>'
    return (
        f'<div class="hg-tree">{_svg(group_paragraphs(path), about)}<details class="hg-whole">'
        f"<summary>The whole search: {left_out:,} more</summary>{whole}</details></div>"
    )


def _svg(root: RunNode, about: str) -> str:
    cards, bottom = draw_cards(limit_nodes(root, _MOST), _SIZES, _SIZES.margin)
    width, height = _SIZES.width, round(bottom + _SIZES.margin)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'style="max-width:{1.25 * width:.0f}px" role="img" aria-label="{escape(about)}">{"".join(cards)}</svg>'
    )


def _titles(node: RunNode, passages: Mapping[str, Passage]) -> str:
    """Return the titles of a node's passages, or their first words; the node's text where one is not known."""
    found = [passages[key] for key in node.passage_ids if key in passages]
    if not found or len(found) < len(node.passage_ids):
        return node.text
    return " · ".join(passage["title"] or truncate_line(passage["text"], _UNTITLED) for passage in found)
