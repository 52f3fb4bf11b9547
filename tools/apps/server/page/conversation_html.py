"""The conversation and the diagrams of its runs as HTML, for running and for stored turns.

All untrusted text is escaped for `gr.HTML`; a chat message would be parsed as Markdown, which finds formatting and
links even in escaped text. The elements are in `conversation.html`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from jinja2 import Environment

from hopgraph.nodes.chat.reply import CUT_SHORT, DOUBTS, UNCITED, remarks, turn_text
from hopgraph.nodes.core.marked_text import UNSUPPORTED, append_marks, escape_markup, split_at_marks
from hopgraph.state import Citation, Passage, StepEvent
from hopgraph.state.chat import LookUpState
from hopgraph.state.events import QuerySent, Retrieved, parse_event
from hopgraph.tools.apps.runs.lines import Line
from hopgraph.tools.apps.runs.run_svg import CardSizes, draw_cards, summarize_tree
from hopgraph.tools.apps.runs.run_tree import RunNode, group_paragraphs, keep_evidence, limit_nodes, tree_size
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.apps.server.page.html_text import markdown_html
from hopgraph.tools.apps.server.page.page_turns import PageTurn
from hopgraph.tools.apps.server.page.texts import ENGLISH, Texts
from hopgraph.tools.apps.server.turn import replace_surrogates
from hopgraph.tools.prompts import clean
from hopgraph.tools.retrieval.passage_metadata import locate_source, name_citation
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

_TABLE = re.compile(r"^\|.*\|(?:\n\|.*\|)+$", re.MULTILINE)
_RULE = re.compile(r"\|(?:-{3,}\|)+")


class TextPart(NamedTuple):
    """Plain text with a quoted part in the middle."""

    before: str
    quoted: str = ""
    after: str = ""
    rows: tuple[()] = ()  # only tables have any


class ShownRow(NamedTuple):
    """A row of a table."""

    cells: list[str]
    quoted: bool = False
    is_head: bool = False


class TablePart(NamedTuple):
    """A table, as written by `format_table`."""

    rows: list[ShownRow]


def part_passage(text: str, start: int = 0, end: int = 0) -> list[TextPart | TablePart]:
    """Return a passage's parts in order, with the text from `start` to `end` quoted."""
    parts = list[TextPart | TablePart]()
    at = 0
    for found in _TABLE.finditer(text):
        first, last = found.span()
        parts += [*_text(text, at, first, start, end), _table(found[0], start - first, end - first)]
        at = last
    return [*parts, *_text(text, at, len(text), start, end)]


def _text(text: str, first: int, last: int, start: int, end: int) -> list[TextPart | TablePart]:
    start, end = min(max(start, first), last), max(min(end, last), first)
    if start >= end:
        return [TextPart(text[first:last])] if text[first:last].strip() else []
    return [TextPart(text[first:start], text[start:end], text[end:last])]


def _table(text: str, start: int, end: int) -> TablePart:
    lines, rows, at = text.split("\n"), list[ShownRow](), 0
    has_header = len(lines) > 2 and _RULE.fullmatch(lines[1])
    for number, line in enumerate(lines):
        is_head = bool(has_header) and number == 0
        if not (has_header and number == 1):
            rows.append(ShownRow(line[1:-1].split(" | "), start < at + len(line) and at < end and not is_head, is_head))
        at += len(line) + 1
    return TablePart(rows)


_SIZES = CardSizes(width=336.0, margin=2.0, indent=14.0, most_indent=84.0, gap=8.0, tooltip=240)
_MAX_NODES = 60  # drawn nodes; in a larger run those on the path to the answer come first
_MAX_SUMMARY = 1_500  # characters of the text alternative
_MAX_UNTITLED = 80  # characters shown of a passage without a title
_MAX_TITLES, _MAX_QUERY = 4, 80  # titles per search, and characters of a query, on a simple page
_TITLE_BY_KIND: Final = {"model": "model_knowledge", "reviewer": "by_reviewer"}
_REMARKS: Final = {UNCITED: "uncited", DOUBTS: "doubts", CUT_SHORT: "cut_short"}


@dataclass(frozen=True)
class View:
    """How conversations are drawn."""

    texts: Texts = ENGLISH
    simple: bool = False
    """Show the steps as one folded line, without method and model."""
    welcome: str = ""
    """HTML that replaces the page's own greeting."""
    examples: Sequence[str] = ()
    link: Callable[[PageTurn, Citation], str] = lambda turn, citation: ""
    """Returns the URL of a citation's document; empty if it cannot be opened."""


@cache
def _template() -> Any:
    elements: Any = Environment(autoescape=True, finalize=_clean_text)
    elements.filters |= {"line": sanitize_line, "lines": _clean_lines, "markdown": markdown_html}
    written = Path(__file__).with_name("conversation.html").read_text(encoding="utf-8")
    return elements.from_string("".join(map(str.strip, written.splitlines())))


@cache
def _elements(texts: Texts) -> Any:
    """Return the macros of `conversation.html` in a language; they escape their arguments."""
    return _template().make_module({"t": texts})


def _clean_text(value: object) -> object:
    return clean(value) if type(value) is str else value  # leave the macros' own HTML


def _clean_lines(text: str) -> str:
    return "\n".join(map(sanitize_line, clean(text).splitlines()))


def conversation_html(turns: Iterable[PageTurn], view: View | None = None, *, welcome: bool = False) -> str:
    """Draw turns, oldest first; without turns, a greeting with example questions if `welcome`, else nothing."""
    view = view or View()
    drawn = [(turn, _answer(turn, view), *(_searches if view.simple else _steps)(turn, view.texts)) for turn in turns]
    return replace_surrogates(str(_elements(view.texts).conversation(drawn, welcome, view)))


def conversation_markdown(turns: Iterable[PageTurn], title: str, t: Texts = ENGLISH) -> str:
    """Write a conversation as Markdown: each question as a heading, then its answer, numbered sources and rating."""
    written = [f"# {escape_markup(title)}"]
    for turn in turns:
        answer = turn_text(cast("LookUpState", turn.told)) if turn.told else turn.said
        written += [f"## {escape_markup(turn.asked)}", answer or escape_markup(t.problem(turn.problem))]
        if turn.feedback:
            comment = escape_markup(turn.comment)
            written.append(f"*{t('rated')}: {t(turn.feedback)}*{': ' if comment else ''}{comment}")
    return "\n\n".join(filter(None, written)) + "\n"


def picture_html(turn: PageTurn | None, texts: Texts = ENGLISH) -> str:
    """Draw a turn's tree or chain, or a placeholder."""
    drawn = picture(turn.told.get("question") or turn.asked, turn.events, turn.passages) if turn else ""
    return replace_surrogates(drawn or f'<p class="hg-nothing">{escape(texts("picture_grows"))}</p>')


def _answer(turn: PageTurn, view: View) -> dict[str, Any]:
    """Return the arguments of the template's `answer`; empty if nothing was looked up, as for small talk.

    `turn.told` is what the node `reply` wrote into its message's `additional_kwargs`. For a passage that the turn does
    not have, only the quote is shown.
    """
    reply, t = turn.told, view.texts
    question, answer = (str(reply.get(key) or "") for key in ("question", "answer"))
    reason = reply.get("stop_reason")
    if not (question and answer):
        key = "not_found_in_budget" if reason == "budget" else "not_found"
        return {"remarks": [t(key, question=question)]} if question else {}
    citations = cast("list[Citation]", reply.get("citations") or [])
    sources: list[dict[str, Any]] = [
        {"number": number, "key": f"source-{turn.id}-{number}", "link": view.link(turn, each)}
        | _source(each, turn.passages.get(each["passage_id"]), t)
        for number, each in enumerate(citations, start=1)
    ]
    long = bool(reply.get("markdown"))
    marks = [str(_elements(t).mark(each)) for each in sources] if long else []
    marked = answer if long or len(split_at_marks(answer, len(citations))) > 1 else append_marks(answer, len(citations))
    doubts = long and UNSUPPORTED in answer
    return {
        "answer": answer,
        "html": markdown_html(answer, marks) if long else "",
        "parts": split_at_marks(answer, len(citations)),
        "copied": "\n\n".join([marked, *map(_source_line, sources)]),
        "remarks": [t(_REMARKS[each]) for each in remarks(citations, reason, doubts=doubts)],
        "sources": sources,
    }


def _source_line(source: Mapping[str, Any]) -> str:
    """Return a source as copied text: its number, title, file, page and quote."""
    name = " · ".join(filter(None, (source["title"], source["place"])))
    return f"[{source['number']}] {name}" + (f": “{source['quote']}”" if source["quote"] else "")


def _source(citation: Citation, passage: Passage | None, t: Texts) -> dict[str, Any]:
    """Return a citation with its passage split at the quote: at its offsets if they match, else at its first match."""
    quote, text, url = citation["quote"], passage["text"] if passage else "", citation.get("url", "")
    start, end = citation["start"], citation["end"]
    if not (text[start:end] and quote.endswith(text[start:end])):
        start = text.find(quote)
        end = start + len(quote)
    found = bool(quote and text and start >= 0)
    title = t(_TITLE_BY_KIND[citation["kind"]]) if citation["kind"] in _TITLE_BY_KIND else name_citation(citation)
    return {
        "kind": "passage" if citation["kind"] == "passage" else "other",
        "title": title,
        "place": _place(citation, title, t),
        "url": url if url.startswith(("https://", "http://")) else "",  # it may come from a caller
        "quote": text[start:end] if found else quote,
        "quoted": part_passage(quote),
        "parts": part_passage(text, start, end)
        if found
        else [*([TextPart("", quote)] if quote else []), TextPart(text)],
    }


def _place(citation: Citation, title: str, t: Texts) -> str:
    """Return the file's path in its folder, the page, and the section unless the title contains it."""
    page, section = str(citation.get("page", "")), citation.get("section", "")
    named = section in title
    parts = (locate_source(citation), t("page", n=page) if page else "", "" if named else section)
    return ", ".join(filter(None, parts))


def _searches(turn: PageTurn, t: Texts) -> tuple[list[tuple[str, list[str]]], str]:
    """Return each search with the titles it found, and a summary line; both empty if nothing was searched."""
    searches, passages, query = list[tuple[str, list[str]]](), set[str](), ""
    for event in turn.events:
        if event["event"] in (QuerySent.event, Retrieved.event):
            record = parse_event(event)
            query = cast("QuerySent | Retrieved", record).query
            if isinstance(record, Retrieved):
                passages.update(record.passage_ids)
                searches.append((query, [*dict.fromkeys(filter(None, record.titles))][:_MAX_TITLES]))
    if not turn.ended:
        return searches, t("searching", query=truncate_line(query, _MAX_QUERY)) if query else t("working")
    if not searches:
        return [], ""
    return searches, t(
        "looked_up", passages=t.count("passages", len(passages)), searches=t.count("searches", len(searches))
    )


def _steps(turn: PageTurn, t: Texts) -> tuple[list[tuple[str, list[list[Line]]]], str]:
    """Return the groups of a turn's steps, and a summary line; both empty for an ended turn without steps."""
    groups = _grouped(turn.lines)
    count = sum(len(items) for _, items in groups)
    if not count and turn.ended:
        return groups, ""
    notes = ["" if turn.ended else t("working"), t.count("steps", count), str(turn.told.get("method", ""))]
    return groups, " · ".join(filter(None, [*notes, t("by_rules") if turn.stand_in else ""]))


def _grouped(lines: Iterable[Line]) -> list[tuple[str, list[list[Line]]]]:
    """Return each group's heading (empty before the first) and its items: a labeled line and those folded into it."""
    groups: list[tuple[str, list[list[Line]]]] = []
    for line in lines:
        if line.style == "heading":
            # A run that resumes after a pause repeats the heading of its iteration.
            if not groups or groups[-1][0] != line.text:
                groups.append((line.text, []))
            continue
        groups = groups or [("", [])]
        items = groups[-1][1]
        if line.label or not items:
            items.append([])
        items[-1].append(line)
    return groups


def picture(question: str, events: Sequence[StepEvent], passages: Mapping[str, Passage]) -> str:
    """Draw the tree or chain of reasoning of a run so far, narrow enough for a phone; empty for a run without events.

    Once there is an answer, the nodes that support it come first, with the whole tree folded below. All texts are
    escaped and truncated. Each call redraws all events, in any order: 500 nodes take about 0.1 s, and 65 kB. `passages`
    may lack some that the events name.
    """
    if not events:
        return ""
    tree = build_tree(question, events)
    for node in tree.nodes:
        if node.kind == "paragraph":
            node.text = _titles(node, passages)
    about = truncate_line(f"The run as a tree. {summarize_tree(tree)}", _MAX_SUMMARY)
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
    cards, bottom = draw_cards(limit_nodes(root, _MAX_NODES), _SIZES, _SIZES.margin)
    width, height = _SIZES.width, round(bottom + _SIZES.margin)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'style="max-width:{1.25 * width:.0f}px" role="img" aria-label="{escape(about)}">{"".join(cards)}</svg>'
    )


def _titles(node: RunNode, passages: Mapping[str, Passage]) -> str:
    """Return the titles, or first words, of a node's passages; the node's text if any passage is unknown."""
    found = [passages[key] for key in node.passage_ids if key in passages]
    if not found or len(found) < len(node.passage_ids):
        return node.text
    return " · ".join(passage["title"] or truncate_line(passage["text"], _MAX_UNTITLED) for passage in found)
