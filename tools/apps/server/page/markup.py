"""Text that nobody vouches for, in a page."""

from html import escape

from hopgraph.tools.prompts import clean


def escaped(text: str) -> str:
    """Write untrusted text so that a page shows it as it is, between tags and in quoted attributes alike.

    White space stays, since the text may be a piece of a longer one. Gradio puts the value of `gr.HTML` into the page
    as it is, so that braces and dollar signs, which begin a placeholder in its templates, mean nothing here.
    """
    return escape(clean(text))
