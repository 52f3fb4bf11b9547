"""Untrusted text and Markdown as harmless HTML."""

from collections.abc import MutableMapping, Sequence
from functools import cache
from html import escape
from typing import Any, cast

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from hopgraph.nodes.core.long_answer import markdown_parser
from hopgraph.nodes.core.marked_text import UNSUPPORTED, split_at_marks
from hopgraph.tools.prompts import clean
from hopgraph.tools.text.sanitize import sanitize_line

Tokens = Sequence[Token]
_HEADING_OFFSET = 2  # heading levels used by the page itself
_SCROLLABLE = 'tabindex="0" role="region"'  # so that the keyboard can scroll what is wider than a phone


def escape_text(text: str) -> str:
    """Escape untrusted text for use between tags and in quoted attributes, keeping white space."""
    # `gr.HTML` inserts its value as it is, without expanding what looks like a placeholder of Gradio's templates.
    return escape(clean(text))


def inline_html(text: str) -> str:
    """Escape a text as one line of HTML."""
    return escape_text(sanitize_line(text))


def problem_html(text: str) -> str:
    """Return an error as HTML; empty for an empty text."""
    return f'<p class="hg-problem" role="alert">{inline_html(text)}</p>' if text else ""


def markdown_html(text: str, marks: Sequence[str] = ()) -> str:
    """Return Markdown as HTML, replacing each citation mark by the HTML of that number in `marks`.

    The parser does not read HTML, links or images, so these remain text.
    """
    return cast("str", _drawer().render(clean(text), {"marks": marks}))


@cache
def _drawer() -> MarkdownIt:
    drawer = markdown_parser(xhtml=True)
    rules = {"text": _text, "heading_open": _heading, "heading_close": _heading, "fence": _fence}
    for name, rule in (rules | {"table_open": _table_open, "table_close": _table_close}).items():
        drawer.add_render_rule(name, rule)
    return drawer


def _text(_: RendererHTML, tokens: Tokens, at: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
    parts = split_at_marks(tokens[at].content, len(env["marks"]))
    plain = [escape_text(each).replace(UNSUPPORTED, f'<span class="hg-doubt">{UNSUPPORTED}</span>') for each in parts]
    plain[1::2] = [env["marks"][int(each[1:-1]) - 1] for each in parts[1::2]]
    return "".join(plain)


def _heading(_: RendererHTML, tokens: Tokens, at: int, *_others: Any) -> str:
    level = min(int(tokens[at].tag[1:]) + _HEADING_OFFSET, 6)
    return f"<h{level}>" if tokens[at].nesting == 1 else f"</h{level}>"


def _fence(_: RendererHTML, tokens: Tokens, at: int, *_others: Any) -> str:
    return f'<pre {_SCROLLABLE} aria-label="Code"><code>{escape_text(tokens[at].content)}</code></pre>'


def _table_open(*_: Any) -> str:
    return f'<div class="hg-table" {_SCROLLABLE} aria-label="Table"><table>'


def _table_close(*_: Any) -> str:
    return "</table></div>"
