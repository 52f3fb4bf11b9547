"""Untrusted text as HTML: shown as it is, doing nothing."""

from html import escape

from hopgraph.tools.prompts import clean
from hopgraph.tools.text.sanitize import sanitize_line


def escape_text(text: str) -> str:
    """Escape untrusted text for use between tags and in quoted attributes; white space stays."""
    # `gr.HTML` puts it into the page as it is; what Gradio's templates take for a placeholder is none here.
    return escape(clean(text))


def inline_html(text: str) -> str:
    """Write a text as HTML on one line."""
    return escape_text(sanitize_line(text))


def problem_html(text: str) -> str:
    """Write an error as HTML; empty for none."""
    return f'<p class="hg-problem" role="alert">{inline_html(text)}</p>' if text else ""
