"""The steps of a turn as nested, collapsible items, in HTML.

The lines are the ones that `hopgraph ask` prints (`runs.narration`): an iteration's heading begins a
group, a labelled line an item, and the lines below it fold into that item.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.server.page.html_text import inline_html
from hopgraph.tools.text.sanitize import pluralize


@dataclass
class _Item:
    line: Line
    more: list[Line] = field(default_factory=list[Line])


@dataclass
class _Group:
    heading: str
    """Empty for what comes before the first heading."""
    items: list[_Item] = field(default_factory=list[_Item])


def steps_html(lines: Sequence[Line], *, running: bool, about: str = "", asked_with: str = "") -> str:
    """Draw the steps.

    Args:
        lines: what the run did so far.
        running: whether the turn is running; then the steps are unfolded, and only the last group of them.
        about: what the heading says beside the number of steps.
        asked_with: what stands above the steps.

    Returns:
        HTML, safe whatever the lines hold; empty when nothing was done and nothing is running.
    """
    groups = _grouped(lines)
    count = sum(len(group.items) for group in groups)
    if not count and not running:
        return ""
    said = " · ".join(filter(None, ["Working" if running else "", pluralize(count, "step"), about]))
    inner = f'<p class="hg-about">{inline_html(asked_with)}</p>' if asked_with else ""
    inner += "".join(_group_html(group, unfolded=running and group is groups[-1]) for group in groups)
    return (
        f'<details class="hg-steps{" hg-running" if running else ""}"{_open(running)}>'
        f"<summary>{inline_html(said)}</summary>{inner}</details>"
    )


def _grouped(lines: Iterable[Line]) -> list[_Group]:
    groups: list[_Group] = []
    for line in lines:
        if line.style == "heading":
            # A run that goes on after a pause names the iteration that it is in once more.
            if not groups or groups[-1].heading != line.text:
                groups.append(_Group(line.text))
            continue
        groups = groups or [_Group("")]
        items = groups[-1].items
        if line.label or not items:
            items.append(_Item(line))
        else:
            items[-1].more.append(line)
    return groups


def _group_html(group: _Group, *, unfolded: bool) -> str:
    items = f"<ul>{''.join(_item_html(item) for item in group.items)}</ul>"
    if not group.heading:
        return items
    summary = f"<summary>{inline_html(group.heading)}</summary>"
    return f'<details class="hg-group"{_open(unfolded)}>{summary}{items}</details>'


def _item_html(item: _Item) -> str:
    label = f'<span class="hg-label">{inline_html(item.line.label)}</span>'
    head = f"{label}{_line_html(item.line)}"
    if not item.more:
        return f'<li class="hg-step">{head}</li>'
    more = "".join(f"<li>{_line_html(line)}</li>" for line in item.more)
    return f'<li class="hg-step"><details><summary>{head}</summary><ul>{more}</ul></details></li>'


def _line_html(line: Line) -> str:
    mark = f'<span class="hg-mark">{inline_html(line.mark)}</span> ' if line.mark else ""
    return f'<span class="hg-line hg-{line.style}">{mark}{inline_html(line.text)}</span>'


def _open(unfolded: bool) -> str:
    return " open" if unfolded else ""
