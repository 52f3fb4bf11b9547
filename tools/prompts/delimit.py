"""Delimit untrusted text in prompts, so that it cannot close or imitate its block.

Every variable becomes a block `<name>…</name>`. In its text, the first character of anything that starts a tag, looks
like one, or starts a role marker of a chat template (`<|im_end|>`, `[/INST]`, `<start_of_turn>`) is replaced with an
entity: `<` with `&lt;`, others with their number, e.g. `&#xFF1C;`. `unescape` reverts exactly that in replies.
"""

import re
from collections.abc import Mapping, Sequence

from hopgraph.tools.text.analyzer import once_per_passage

Value = str | int | Sequence[str] | Sequence[Mapping[str, str]]
"""A prompt variable: a text, a number (inserted without a block), a list of texts, or a list of passages with the
keys `title`, `text` and optionally `id`, by default their number."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff"  # zero-width, bidirectional controls
    "\ud800-\udfff\U000e0000-\U000e007f]"  # lone surrogates, invisible tag letters
)
_IGNORABLE = (  # Unicode's Default_Ignorable_Code_Point, except letters, which a tag name may start with
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_LESS, _LOOKS_LESS = "<\ufe64\uff1c", "\u02c2\u1438\u2039\u2329\u276c\u276e\u27e8\u3008"
_SLASHES = "/\\\\\u2044\u2215\u2571\u27cb\u29f8\uff0f\uff3c\ufe68"
_TAG_START = re.compile(
    rf"[{_LESS}](?=[\s{_SLASHES}{_IGNORABLE}]*(?:[^\W\d]|[&|\uff5c]))"
    rf"|[{_LOOKS_LESS}](?=[\s{_IGNORABLE}]*(?:[{_SLASHES}]|(?:passages?|item)\b))"  # elsewhere quotation marks
    r"|\[(?=[|/]|(?:INST|SYSTEM_PROMPT|(?:AVAILABLE_)?TOOL\w*|THINK|ARGS|g?MASK|CLS|SEP|PAD|UNK|BOS|EOS|unused\d+)\])"
)
_ENTITIES = {each: "&lt;" if each == "<" else f"&#x{ord(each):X};" for each in f"[{_LESS}{_LOOKS_LESS}"}
_ENTITY = rf"(?:amp;)*(?:lt|quot|#0*60|#x0*(?:{'|'.join(f'{ord(each):x}' for each in _ENTITIES)}));"
_LOOKS_ESCAPED = re.compile(f"&(?={_ENTITY})", re.IGNORECASE)
_ESCAPED = re.compile(f"&amp;(?={_ENTITY})", re.IGNORECASE)


def clean(text: str) -> str:
    """Remove invisible characters and normalize line ends to line feeds."""
    if text.isprintable():
        return text
    return _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


@once_per_passage
def escape(text: str) -> str:
    """Escape text so that no part of it is a tag or a role marker."""
    return _TAG_START.sub(lambda found: _ENTITIES[found[0]], _LOOKS_ESCAPED.sub("&amp;", clean(text)))


def unescape(text: str) -> str:
    """Revert `escape` in text copied by a model; other text is unchanged."""
    if "&" not in text:
        return text
    plain = text.replace("&quot;", '"')
    for character, entity in _ENTITIES.items():
        plain = plain.replace(entity, character)
    return _ESCAPED.sub("&", plain)


def format_block(name: str, value: Value) -> str:
    """Format a variable as a delimited block.

    List items, and passages without an id, are numbered from 1; an empty list or blank text becomes `(none)`. A number
    is returned without a block.
    """
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f"<{name}>\n{escape(value).strip() or '(none)'}\n</{name}>"
    entries = [_format_entry(number, entry) for number, entry in enumerate(value, start=1)]
    return "\n".join([f"<{name}>", *(entries or ["(none)"]), f"</{name}>"])


def _format_entry(number: int, entry: str | Mapping[str, str]) -> str:
    if isinstance(entry, str):
        return f'<item id="{number}">{escape(entry)}</item>'
    key, title = format_attribute(entry.get("id", str(number))), format_attribute(entry["title"])
    return f'<passage id="{key}" title="{title}">\n{escape(entry["text"])}\n</passage>'


def format_attribute(text: str) -> str:
    """Escape text for a double-quoted attribute, on one line."""
    return " ".join(escape(text).replace('"', "&quot;").split())
