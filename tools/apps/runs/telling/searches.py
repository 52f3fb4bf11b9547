"""What queries found, and what was kept of it."""

from collections.abc import Sequence
from typing import Any, cast

from hopgraph.tools.apps.runs.telling.told import Line, Told
from hopgraph.tools.text.sanitize import pluralize, sanitize_line


def query(told: Told) -> list[Line]:
    """Tell what is searched."""
    return [Line("search", sanitize_line(told.data["query"]))]


def retrieved(told: Told) -> list[Line]:
    """Tell what a query found."""
    keys = cast("list[str]", told.data["passage_ids"])
    if not keys:
        return [Line("found", f"{told.about()}no passage", "bad")]
    return [Line("found", f"{told.about()}{pluralize(len(keys), 'passage')}: {told.titles(keys)}")]


def filtered(told: Told) -> list[Line]:
    """Tell which sentences of which passages were kept."""
    data, kept = told.data, cast("list[dict[str, Any]]", told.data["kept"])
    if not data["passages_in"]:
        return []
    sentences = (
        f", {pluralize(data['sentences_in'], 'sentence')} read" if data["sentences_in"] else ", passages stay whole"
    )
    counts = f"{len(kept)} of {pluralize(data['passages_in'], 'passage')} kept{sentences}"
    lines = [Line("filter", told.about() + counts, "plain" if kept else "bad")]
    lines += [_kept(told, each) for each in kept]
    return [*lines, *_dropped(told, kept)]


def _kept(told: Told, kept: dict[str, Any]) -> Line:
    passage = told.passages.get(kept["passage_id"])
    parts = [passage["text"][start:end] for start, end in kept["spans"]] if passage and passage["text"] else []
    amount = "whole" if kept["whole"] else pluralize(kept["sentences"], "sentence")
    text = f"{told.title(kept['passage_id'])} ({amount})"
    return Line("", f"{text}: {told.cut(' … '.join(parts))}" if parts else text, "good", "+")


def _dropped(told: Told, kept: Sequence[dict[str, Any]]) -> list[Line]:
    lines: list[Line] = []
    for each in kept:
        passage = told.passages.get(each["passage_id"])
        gaps = _gaps(passage["text"], each["spans"]) if passage and passage["text"] else []
        if gaps:
            text = f"{told.title(each['passage_id'])}, dropped: {told.cut(' … '.join(gaps))}"
            lines.append(Line("", text, "dim", "-"))
    passages = told.data["passages_in"] - len(kept)
    if passages:
        lines.append(Line("", f"{pluralize(passages, 'passage')} dropped", "dim", "-"))
    return lines


def _gaps(text: str, spans: Sequence[Sequence[int]]) -> list[str]:
    """List what lies between the kept spans of a passage."""
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    gaps = (text[start:end].strip() for start, end in zip(edges[::2], edges[1::2], strict=True))
    return [gap for gap in gaps if gap]


def compressed(told: Told) -> list[Line]:
    """Tell what passages were cut down to."""
    kept = cast("list[dict[str, Any]]", told.data["kept"])
    counts = f"{told.data['how']}: {len(kept)} of {pluralize(told.data['passages_in'], 'passage')} kept"
    shown = [Line("", f"{told.title(each['passage_id'])}: {told.cut(each['text'])}", "good", "+") for each in kept]
    return [Line("compress", told.about() + counts, "plain" if kept else "bad"), *shown]


def recalled(told: Told) -> list[Line]:
    """Tell what the model knows itself."""
    if not told.data["known"]:
        return [Line("recall", f"{told.about()}the model knows nothing about it", "dim")]
    return [Line("recall", f"{told.about()}from the model's own knowledge: {told.cut(told.data['text'])}")]


def reranked(told: Told) -> list[Line]:
    """Tell which passages a reranker kept."""
    keys, before = cast("list[str]", told.data["passage_ids"]), pluralize(told.data["passages_in"], "passage")
    titles = f": {told.titles(keys)}" if keys else ""
    return [Line("rerank", f"{told.about()}{len(keys)} of {before} kept{titles}", "plain" if keys else "bad")]


def given(told: Told) -> list[Line]:
    """Tell which passages the caller gave."""
    return [Line("given", told.titled(told.data["passage_ids"]))]


def weighed(told: Told) -> list[Line]:
    """Tell what the model said about what a query found, before it chose."""
    return [Line("weigh", f"{told.about()}{told.cut(told.data['judgement'])}")]


def blended(told: Told) -> list[Line]:
    """Tell the queries that are searched side by side."""
    queries = cast("dict[str, str]", told.data["queries"])
    lines = [Line("blend", pluralize(len(queries), "query", "queries"))]
    names = ((sanitize_line(name).replace("_", " "), text) for name, text in queries.items())
    return [*lines, *(Line("", f"{name}: {told.cut(text)}", "plain", "•") for name, text in names)]


def topic(told: Told) -> list[Line]:
    """Tell the topic that the model named."""
    named = sanitize_line(told.data["topic"])
    return [Line("topic", named or "none named", "plain" if named else "dim")]


def united(told: Told) -> list[Line]:
    """Tell what all queries together kept."""
    keys = cast("list[str]", told.data["passage_ids"])
    return [Line("unite", told.titled(keys), "plain" if keys else "bad")]
