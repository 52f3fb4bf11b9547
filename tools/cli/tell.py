"""What each kind of step event says, as lines for people.

`TELLERS` maps an event's kind to the function that makes its lines; a new kind of event gets an entry there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from hopgraph.state import Passage
from hopgraph.tools.cli.console import counted, on_one_line, shortened

Style = Literal["heading", "plain", "dim", "good", "bad", "warning"]

TEXT_SHOWN = 150
"""Characters of a passage that a line shows, unless everything is asked for."""
_TITLES_SHOWN = 3


@dataclass(frozen=True)
class Line:
    """One line of the account of a run, before wrapping."""

    label: str
    """The step's name for the left column; empty where the step above goes on."""
    text: str
    """On one line; safe for a terminal."""
    style: Style = "plain"
    mark: str = ""
    """A sign before the text, under which further lines do not begin."""


@dataclass(frozen=True)
class Told:
    """An event, and what else a teller works with."""

    data: Mapping[str, Any]
    passages: Mapping[str, Passage]
    """What the run found so far, by id."""
    several: bool
    """Whether the superstep has more events of this kind, so that each must say what it is about."""
    verbose: bool
    said: set[str]
    """The statements that were told before."""

    def about(self) -> str:
        """Name the query when there are several."""
        return f"“{on_one_line(self.data['query'])}”: " if self.several else ""

    def title(self, key: str) -> str:
        """Name a passage by its title; by its id where it has none."""
        passage = self.passages.get(key)
        return on_one_line(passage["title"] if passage and passage["title"] else key)

    def titles(self, keys: Sequence[str]) -> str:
        """Name the first passages of a list, and say how many more there are."""
        shown = keys if self.verbose else keys[:_TITLES_SHOWN]
        rest = len(keys) - len(shown)
        return " · ".join([*(self.title(key) for key in shown), *([f"{rest:,} more"] if rest else [])])

    def cut(self, text: str) -> str:
        """Shorten a text, unless everything is to be shown."""
        return on_one_line(text) if self.verbose else shortened(text, TEXT_SHOWN)


def _query(told: Told) -> list[Line]:
    return [Line("search", on_one_line(told.data["query"]))]


def _retrieved(told: Told) -> list[Line]:
    keys = cast("list[str]", told.data["passage_ids"])
    if not keys:
        return [Line("found", f"{told.about()}no passage", "bad")]
    return [Line("found", f"{told.about()}{counted(len(keys), 'passage')}: {told.titles(keys)}")]


def _filtered(told: Told) -> list[Line]:
    data, kept = told.data, cast("list[dict[str, Any]]", told.data["kept"])
    if not data["passages_in"]:
        return []
    sentences = (
        f", {counted(data['sentences_in'], 'sentence')} read" if data["sentences_in"] else ", passages stay whole"
    )
    counts = f"{len(kept)} of {counted(data['passages_in'], 'passage')} kept{sentences}"
    lines = [Line("filter", told.about() + counts, "plain" if kept else "bad")]
    lines += [_kept(told, each) for each in kept]
    return [*lines, *_dropped(told, kept)]


def _kept(told: Told, kept: dict[str, Any]) -> Line:
    passage = told.passages.get(kept["passage_id"])
    parts = [passage["text"][start:end] for start, end in kept["spans"]] if passage else []
    amount = "whole" if kept["whole"] else counted(kept["sentences"], "sentence")
    text = f"{told.title(kept['passage_id'])} ({amount})"
    return Line("", f"{text}: {told.cut(' … '.join(parts))}" if parts else text, "good", "+")


def _dropped(told: Told, kept: Sequence[dict[str, Any]]) -> list[Line]:
    lines: list[Line] = []
    for each in kept:
        passage = told.passages.get(each["passage_id"])
        gaps = _gaps(passage["text"], each["spans"]) if passage else []
        if gaps:
            text = f"{told.title(each['passage_id'])}, dropped: {told.cut(' … '.join(gaps))}"
            lines.append(Line("", text, "dim", "-"))
    passages = told.data["passages_in"] - len(kept)
    if passages:
        lines.append(Line("", f"{counted(passages, 'passage')} dropped", "dim", "-"))
    return lines


def _gaps(text: str, spans: Sequence[Sequence[int]]) -> list[str]:
    """List what lies between the kept spans of a passage."""
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    gaps = (text[start:end].strip() for start, end in zip(edges[::2], edges[1::2], strict=True))
    return [gap for gap in gaps if gap]


def _compressed(told: Told) -> list[Line]:
    kept = cast("list[dict[str, Any]]", told.data["kept"])
    counts = f"{told.data['how']}: {len(kept)} of {counted(told.data['passages_in'], 'passage')} kept"
    shown = [Line("", f"{told.title(each['passage_id'])}: {told.cut(each['text'])}", "good", "+") for each in kept]
    return [Line("compress", told.about() + counts, "plain" if kept else "bad"), *shown]


def _recalled(told: Told) -> list[Line]:
    if not told.data["known"]:
        return [Line("recall", f"{told.about()}the model knows nothing about it", "dim")]
    return [Line("recall", f"{told.about()}from the model's own knowledge: {told.cut(told.data['text'])}")]


def _extracted(told: Told) -> list[Line]:
    statements = cast("list[dict[str, Any]]", told.data["statements"])
    new = [each for each in statements if each["statement"] not in told.said]
    told.said.update(each["statement"] for each in new)
    again = f", {len(statements) - len(new)} of them seen before" if len(new) < len(statements) else ""
    counts = f"{counted(len(statements), 'statement')}{again}"
    lines = [Line("extract", told.about() + counts, "plain" if statements else "bad")]
    lines += [Line("", _sourced(told, each["statement"], each["passage_ids"]), "plain", "•") for each in new]
    if dropped := told.data["dropped"]:
        text = f"{counted(dropped, 'statement')} without a passage that was shown, dropped"
        lines.append(Line("", text, "warning", "-"))
    return lines


def _sourced(told: Told, statement: str, keys: Sequence[str]) -> str:
    """Add the titles of a statement's passages, unless it begins with them."""
    text = on_one_line(statement)
    titles = [title for key in keys if not text.startswith(title := told.title(key))]
    return f"{text} [{', '.join(titles)}]" if titles else text


def _verified(told: Told) -> list[Line]:
    statements = cast("list[dict[str, Any]]", told.data["statements"])
    known = f"; {told.data['repeated']} known already" if told.data["repeated"] else ""
    if not statements:
        return [Line("verify", f"nothing new to check{known}", "dim")] if known else []
    rejected = [each for each in statements if not each["kept"]]
    kept = len(statements) - len(rejected)
    counts = f"{kept} of {counted(len(statements), 'statement')} verified{known}"
    lines = [Line("verify", counts, "good" if kept else "bad", "✓" if kept else "✗")]
    for each in rejected:
        text = f"rejected: {on_one_line(each['statement'])} ({each['score']:.2f})"
        lines.append(Line("", text, "bad", "✗"))
    return lines


def _decided(told: Told) -> list[Line]:
    data, label = told.data, "conclude" if told.data["final"] else "decide"
    if data["answer"]:
        sure = f" (confidence {data['confidence']} of 5)" if data["confidence"] else ""
        return [Line(label, f"answer: {on_one_line(data['answer'])}{sure}", "good")]
    if data["final"]:
        return [Line(label, "no answer in what was found", "bad")]
    return [Line(label, "not enough yet"), Line("missing", on_one_line(data["missing"]))]


def _generated(told: Told) -> list[Line]:
    queries = cast("list[str]", told.data["queries"])
    if not queries:
        return [Line("next", "no new query is left to ask", "bad")]
    # Each of them is told when it is searched for.
    return [Line("next", counted(len(queries), "new query", "new queries"))]


def _asked(told: Told) -> list[Line]:
    data = told.data
    role, failures = on_one_line(data["role"]), data["parse_failures"]
    lines: list[Line] = []
    if told.verbose:
        tokens = f"{data['prompt_tokens']:,} + {data['completion_tokens']:,} tokens, {data['seconds']:.2f} s"
        lines.append(Line("call", f"{role}, {on_one_line(data['model'])}: {tokens}", "dim"))
    if failures:
        then = "its fallback is used" if data["outcome"] == "fallback" else "asked again"
        what = counted(failures, "unusable reply", "unusable replies")
        lines.append(Line("warning", f"{role}: {what}; {then}", "warning"))
    if data["outcome"] == "budget":
        lines.append(Line("warning", f"{role}: not asked to its end, the budget is used up", "warning"))
    return lines


def _retrying(told: Told) -> list[Line]:
    data = told.data
    failure = f"HTTP {data['status']}" if data["status"] else "no usable reply"
    text = f"{on_one_line(data['role'])}: request {data['attempt']} failed ({failure}); again in {data['wait']:.1f} s"
    return [Line("warning", text, "warning")]


def _answered(_told: Told) -> list[Line]:
    return []  # the answer itself is printed at the end


TELLERS: dict[str, Callable[[Told], list[Line]]] = {
    "query": _query,
    "retrieved": _retrieved,
    "filtered": _filtered,
    "compressed": _compressed,
    "recalled": _recalled,
    "extracted": _extracted,
    "verified": _verified,
    "decided": _decided,
    "generated": _generated,
    "asked": _asked,
    "retrying": _retrying,
    "answered": _answered,
}

AT_ONCE = frozenset({"retrying"})
"""What is told as it happens, not with its superstep in order: it says why nothing else happens."""
