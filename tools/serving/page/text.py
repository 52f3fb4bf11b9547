"""Foreign text in the page: shown as it is, doing nothing."""

import re

from hopgraph.tools.prompts import clean
from hopgraph.tools.serving.page.markup import escaped
from hopgraph.tools.shown import on_one_line

_ESCAPED = re.compile(r"\\([\\`*_\[\]<>~$|#])")
"""What a reply escapes, since most clients read it as Markdown (see `hopgraph.nodes.chat.reply.plain`)."""


def shown(text: str) -> str:
    """Write a text as HTML, on one line; no character in it is markup, and none is invisible."""
    return escaped(on_one_line(text))


def shown_lines(text: str) -> str:
    """Write a text as HTML with its line ends, for an element that keeps white space."""
    return escaped("\n".join(on_one_line(line) for line in clean(text).splitlines()))


def unescaped(reply: str) -> str:
    """Take the Markdown escapes out of a reply's text, for a place where nothing reads it as Markdown."""
    return _ESCAPED.sub(r"\1", reply)
