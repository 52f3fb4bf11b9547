"""Delimiting untrusted text in a prompt, so that it cannot leave its block.

Every variable becomes a block `<name>…</name>`. Inside a block, a `<` that could begin a tag is written as
`&lt;`; `unescape` undoes exactly that in what a model copies back.
"""

import re
from collections.abc import Mapping, Sequence

Value = str | int | Sequence[str] | Sequence[Mapping[str, str]]
"""A prompt variable: a text, a number (inserted without a block), a list of texts, or a list of passages with
the keys `title` and `text`."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff"  # zero-width, bidirectional controls
    "\ud800-\udfff\U000e0000-\U000e007f]"  # lone surrogates, invisible tag letters
)
_TAG_START = re.compile(r"<(?=[\s/\\\u200c\u200d]*[^\W\d_])")
_LOOKS_ESCAPED = re.compile(r"&(?=(?:amp;)*(?:lt|quot);)")


def clean(text: str) -> str:
    """Remove characters that a reader cannot see; line ends become line feeds."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def escape(text: str) -> str:
    """Write text so that no part of it is a tag."""
    return _TAG_START.sub("&lt;", _LOOKS_ESCAPED.sub("&amp;", clean(text)))


def unescape(text: str) -> str:
    """Undo `escape` in text that a model copied; other text stays as it is."""
    plain = text.replace("&lt;", "<").replace("&quot;", '"')
    return re.sub(r"&amp;(?=(?:amp;)*(?:lt|quot);)", "&", plain)


def format_attribute(text: str) -> str:
    """Write text as the value of a tag's attribute, on one line."""
    return " ".join(escape(text).replace('"', "&quot;").split())


def format_block(name: str, value: Value) -> str:
    """Write a variable as a delimited block.

    Passages and texts of a list are numbered from 1 in their order; an empty list or a blank text is
    written as `(none)`. A number is written as it is, without a block.
    """
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f"<{name}>\n{escape(value).strip() or '(none)'}\n</{name}>"
    entries = [_entry(number, entry) for number, entry in enumerate(value, start=1)]
    return "\n".join([f"<{name}>", *(entries or ["(none)"]), f"</{name}>"])


def _entry(number: int, entry: str | Mapping[str, str]) -> str:
    if isinstance(entry, str):
        return f'<item id="{number}">{escape(entry)}</item>'
    title, text = format_attribute(entry["title"]), escape(entry["text"])
    return f'<passage id="{number}" title="{title}">\n{text}\n</passage>'
