"""Foreign text in the page: shown as it is, doing nothing."""

from hopgraph.tools.apps.server.page.markup import escaped
from hopgraph.tools.prompts import clean
from hopgraph.tools.text.sanitize import sanitize_line


def shown(text: str) -> str:
    """Write a text as HTML, on one line; no character in it is markup, and none is invisible."""
    return escaped(sanitize_line(text))


def shown_lines(text: str) -> str:
    """Write a text as HTML with its line ends, for an element that keeps white space."""
    return escaped("\n".join(sanitize_line(line) for line in clean(text).splitlines()))
