"""Read XML as a document if it has paragraphs or tables, else as records."""

import re
from collections import defaultdict
from collections.abc import Iterator
from html import escape, unescape
from html.entities import name2codepoint
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from hopgraph.tools.documents.conversion import can_convert
from hopgraph.tools.documents.elements import Document, join_text, parse_xml
from hopgraph.tools.documents.encodings import decode, open_binary
from hopgraph.tools.documents.html import CHARSET, read_html

XML = frozenset(
    re.findall(r"\S+", ".xml .atom .dbk .dita .fb2 .kml .nxml .opml .plist .resx .rss .svg .tei .tmx .xlf .xliff")
)
"""Suffixes of XML files with text or data, but not code."""
_MAX_PARSED = 1 << 26  # bytes
_DECLARATION = re.compile(r"\A\s*+<\?xml\s[^>]{0,500}>")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)(\w{2,10});")
_TAGS = dict[str, str](
    re.findall(
        r"(\S+) (\S+)",
        "p p para p simpara p v p l p lg div desc p text p itemizedlist ul simplelist ul list ul ul ul "
        "orderedlist ol ol ol listitem li list-item li item li li li table table Table table informaltable table "
        "thead thead tbody tbody tr tr th th td td programlisting pre screen pre codeblock pre code-block pre "
        "pre pre sub sub sup sup",
    )
)
"""Element names of DocBook, JATS, TEI, DITA, FictionBook and SVG → HTML."""
_HEADINGS = frozenset({"title", "head", "heading", "article-title", "bridgehead"})
_CAPTIONED = frozenset({"table", "informaltable", "figure", "example", "table-wrap", "fig", "caption"})
_PROSE = frozenset({"p", "para", "simpara", "svg"})
_ROWS, _CELLS = frozenset({"row", "Row", "tr"}), frozenset({"entry", "cell", "Cell", "td", "th"})
_DATA = frozenset({"feed", "rss", "RDF", "plist"})
_RECORDS = frozenset({"entry", "item", "page", "record", "row", "url"})
"""Elements that become a list even if there is only one."""
_SKIPPED_NAMESPACES = ("{http://www.w3.org/XML", "{http://www.w3.org/2001/XMLSchema")
_XHTML = "{http://www.w3.org/1999/xhtml}"


def read_xml_file(path: Path) -> Document | JsonValue:
    """Return a document, or the root's content as JSON, keyed by element and attribute names.

    Returns None if it is not well-formed or too large, or if the extra `documents` is not installed.
    """
    if path.stat().st_size > _MAX_PARSED or not can_convert():
        return None
    with open_binary(path) as file:
        content = file.read()
    declared = CHARSET.search(content[:1000])
    text = _DECLARATION.sub("", decode(content, declared[1].decode() if declared else None), count=1)
    try:
        root = parse_xml(_ENTITY.sub(_resolve_entity, text).encode())
        if _name(root) in _DATA or not any(_name(each) in _PROSE or _is_row(each) for each in root.iter()):
            return _value_of(root)
        return read_html("".join(_to_html(root, 0)))
    except (SyntaxError, RecursionError):
        return None


def _resolve_entity(entity: re.Match[str]) -> str:
    return unescape(entity[0]) if entity[1] in name2codepoint else entity[0]


def _name(node: Any) -> str:
    """Return the local name of an element; empty for comments and processing instructions."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _is_row(node: Any) -> bool:
    return _name(node) in _ROWS and len(node) > 0 and all(_name(each) in _CELLS for each in node)


def _is_mixed(node: Any) -> bool:
    """Return whether a node has mixed content, i.e. text between its child elements."""
    return len(node) > 0 and any(text and text.strip() for text in (node.text, *(each.tail for each in node)))


def _to_html(node: Any, level: int) -> Iterator[str]:
    """Yield the content of a node as HTML; its headings are one level deeper if it has any."""
    level += any(_name(each) in _HEADINGS for each in node)
    yield escape(node.text or "") if _name(node) else ""
    for each in node if _name(node) else ():
        name = _name(each)
        tag = _TAGS.get(name) or ("span" if _is_mixed(node) else "div")
        if name in _HEADINGS:
            tag = "p" if _name(node) in _CAPTIONED else f"h{min(level, 6)}"
        elif _is_row(each) or _is_row(node):
            tag = "tr" if _is_row(each) else "td"
        is_mark = name == "xref" and (each.text or "").strip().isdigit() and each.get("ref-type") in ("bibr", "fn")
        is_shown = not is_mark and name != "binary"
        yield f"<{tag}>"
        yield from _to_html(each, level) if is_shown else ()
        yield f"</{tag}>{escape(each.tail or '')}"


def _value_of(node: Any) -> JsonValue:
    """Return the text of a node, or a mapping of its attributes and children by name; its text has an empty name."""
    children = [each for each in node if _name(each)]
    if _name(node) == "dict":  # in a property list
        return {key.text or "": _value_of(each) for key, each in zip(children[::2], children[1::2], strict=False)}
    text = (node.text or "").strip()
    if _is_mixed(node) or any(each.tag.startswith(_XHTML) for each in children):
        children, text = [], "\n\n".join(join_text([each]) for each in read_html("".join(_to_html(node, 6))).elements)
    found = defaultdict[str, list[JsonValue]](list)
    for key, value in node.items():
        found[key.rpartition("}")[2]] += [value] if value.strip() and not key.startswith(_SKIPPED_NAMESPACES) else []
    for each in children:
        found[_name(each)].append(_value_of(each))
    if text:
        found[""].append(text)
    if found.keys() <= {""}:
        return text
    return {key: each if len(each) > 1 or key in _RECORDS else each[0] for key, each in found.items() if each}
