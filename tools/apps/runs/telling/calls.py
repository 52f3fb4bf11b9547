"""Calls: their cost, and what goes wrong with them."""

from hopgraph.tools.apps.runs.telling.told import Line, Told
from hopgraph.tools.text.sanitize import pluralize, sanitize_line


def asked(told: Told) -> list[Line]:
    """Tell what a model call cost, and what was wrong with its replies."""
    data = told.data
    role, failures = sanitize_line(data["role"]), data["parse_failures"]
    lines: list[Line] = []
    if told.verbose:
        tokens = f"{data['prompt_tokens']:,} + {data['completion_tokens']:,} tokens, {data['seconds']:.2f} s"
        lines.append(Line("call", f"{role}, {sanitize_line(data['model'])}: {tokens}", "dim"))
    if failures:
        then = "its fallback is used" if data["outcome"] == "fallback" else "asked again"
        what = pluralize(failures, "unusable reply", "unusable replies")
        lines.append(Line("warning", f"{role}: {what}; {then}", "warning"))
    if data["outcome"] == "budget":
        lines.append(Line("warning", f"{role}: not asked to its end, the budget is used up", "warning"))
    return lines


def retrying(told: Told) -> list[Line]:
    """Tell that a request is sent again."""
    data = told.data
    failure = f"HTTP {data['status']}" if data["status"] else "no usable reply"
    text = f"{sanitize_line(data['role'])}: request {data['attempt']} failed ({failure}); again in {data['wait']:.1f} s"
    return [Line("warning", text, "warning")]


def cache_failed(told: Told) -> list[Line]:
    """Tell that a reply could not be kept."""
    text = (
        f"{sanitize_line(told.data['role'])}: the reply is not kept in the cache: {sanitize_line(told.data['problem'])}"
    )
    return [Line("warning", text, "warning")]
