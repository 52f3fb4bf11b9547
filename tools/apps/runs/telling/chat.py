"""What people take part in: turns of a conversation, and steps that wait for their approval."""

from hopgraph.tools.apps.runs.telling.told import Line, Told
from hopgraph.tools.text.sanitize import pluralize, sanitize_line


def contextualised(told: Told) -> list[Line]:
    """Tell the question that a message stands for, beside the turns before it."""
    turns = pluralize(told.data["turns"], "earlier turn")
    return [Line("question", f"{sanitize_line(told.data['question'])} (read with {turns})")]


def routed(told: Told) -> list[Line]:
    """Tell which method answers, and why."""
    kind, method, why = (sanitize_line(told.data[key]) for key in ("kind", "method", "why"))
    return [Line("route", f"{kind}: {f'{method}, ' if method else ''}{why}")]


def approved(told: Told) -> list[Line]:
    """Tell what a person decided about the next queries, or about the evidence."""
    data, kept, shown = told.data, len(told.data["kept"]), told.data["shown"]
    # An edited list of queries may hold others, and more than were proposed.
    replaced = (data["kind"], data["action"]) == ("queries", "edit")
    count = f"{kept} in place of {shown}" if replaced else f"{kept} of {shown} kept"
    return [Line("approve", f"{sanitize_line(data['kind'])}, {sanitize_line(data['action'])}: {count}")]
