"""Paths of paragraphs that are reviewed."""

from collections.abc import Mapping
from typing import Any, cast

from hopgraph.tools.apps.runs.telling.told import Line, Told
from hopgraph.tools.text.sanitize import pluralize, sanitize_line


def grown(told: Told) -> list[Line]:
    """Tell the paragraphs that paths were lengthened by."""
    keys = [key for node in _nodes(told) for key in node["passage_ids"]]
    paths = pluralize(len(_nodes(told)), "new path")
    return [Line("grow", f"{paths}, by {told.titled(list(dict.fromkeys(keys)), 'paragraph')}")]


def pruned(told: Told) -> list[Line]:
    """Tell the paragraphs that no path is lengthened by, with the reasons."""
    reasons: dict[str, list[str]] = {}
    for node in _nodes(told):
        reasons.setdefault(sanitize_line(node.get("why", "")), []).extend(node["passage_ids"])
    return [
        Line("prune", f"{told.titled(keys, 'paragraph')}{f' ({why})' if why else ''}", "dim", "-")
        for why, keys in reasons.items()
    ]


def _nodes(told: Told) -> list[Mapping[str, Any]]:
    return cast("list[Mapping[str, Any]]", told.data["nodes"])


def reviewed(told: Told) -> list[Line]:
    """Tell what the review of a path decided, by the path's last paragraphs."""
    data = told.data
    titles, analysis, verdict = told.titles(data["passage_ids"]), told.cut(data["analysis"]), data["verdict"]
    if verdict == "accept":
        why = f" ({analysis})" if analysis else ""
        return [Line("review", f"{titles}, accepted: {sanitize_line(data['answer'])}{why}", "good", "✓")]
    if verdict == "search":
        return [Line("review", f"{titles}, not enough{f': {analysis}' if analysis else ''}", "plain", "→")]
    if verdict == "reject":
        return [Line("review", f"{titles}, rejected", "dim", "✗")]
    return [Line("review", f"{titles}, no usable review", "warning", "?")]


def expanded(told: Told) -> list[Line]:
    """Tell who wrote a path's query, in the long account; the query itself is told when it is searched."""
    data = told.data
    who = {"call": "a call for the missing paragraph", "review": "the review", "question": "nobody; the question"}
    author = who.get(data["written_by"], sanitize_line(data["written_by"]))
    text = f"path {sanitize_line(data['id'])}: {sanitize_line(data['query'])} (written by {author})"
    return [Line("expand", text, "dim")] if told.verbose else []


def fused(told: Told) -> list[Line]:
    """Tell what the answer is read from."""
    pieces = cast("list[Mapping[str, Any]]", told.data["pieces"])
    left = len(told.data["left_out"])
    rest = f", {left} left out for want of room" if left else ""
    keys = list(dict.fromkeys(key for piece in pieces for key in piece["passage_ids"]))
    return [Line("fuse", f"{pluralize(len(pieces), 'accepted path')}{rest}; {told.titled(keys)}")]
