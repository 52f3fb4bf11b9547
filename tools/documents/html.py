"""HTML as elements: its main content, without navigation, forms and hidden parts."""

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, BinaryIO

from hopgraph.tools.documents.elements import Document, Element, UnreadableFileError, make_table, tidy
from hopgraph.tools.documents.encodings import UTF_8, find_encoding

_DROPPED = (
    "script, style, noscript, template, nav, button, select, textarea, input, svg, iframe, object, annotation, "
    "[hidden], [aria-hidden=true], [role=navigation], [role=banner], [role=contentinfo], [role=search], "
    "[style*='display:none'], [style*='display: none']"
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer "
        "form h1 h2 h3 h4 h5 h6 header hr li main ol p pre section summary table tbody td tfoot th thead title tr ul",
    )
)
_LONG_TAG, _MOST_ATTRIBUTES = re.compile(r"<[a-zA-Z][^<>]{10000,}"), 2000  # for more the parser takes minutes
_MOST_SPAN = 100
"""Rows or columns that one cell may span."""


_LOCAL = re.compile(r"(?![A-Za-z][\w+.-]*:|//|#)\S.{0,299}")
"""A link to a document beside this one."""
_SPACE, _PARAGRAPHS = re.compile(r"\s+"), re.compile(r"\n\s*\n")
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w-]{1,40})""", re.IGNORECASE)


def read_html_file(file: BinaryIO) -> Document:
    """Read a page whose encoding is UTF-8, or what it says, or else guessed."""
    content = file.read()
    encoding = find_encoding(content)
    if encoding not in (UTF_8, "utf-16", "utf-32") and (named := _CHARSET.search(content[:4096])):
        try:
            return read_html(content.decode(named[1].decode()))
        except (LookupError, UnicodeDecodeError):
            pass  # it is not what it says
    return read_html(content.decode(encoding, "replace"))


def read_html(content: str) -> Document:
    """Read a page. Links leave their text, images what is said for those who cannot see them, footnotes' marks nothing.

    The title is its only or first `h1`, else what its head says.
    """
    from selectolax.lexbor import LexborHTMLParser

    if any(len(tag[0].split()) > _MOST_ATTRIBUTES for tag in _LONG_TAG.finditer(content)):
        raise UnreadableFileError(f"a tag has more than {_MOST_ATTRIBUTES:,} attributes")
    tree: Any = LexborHTMLParser(content)
    named = tree.css_first("title")
    document = Document(title=tidy(named.text()) if named else "")
    root = _main_content(tree)
    if root is not None:
        document.elements += _walk(root)
    document.title = next(
        (each.text for each in document.elements if (each.kind, each.number) == ("heading", 1)), document.title
    )
    return document


def _main_content(tree: Any) -> Any:
    body = tree.body
    if body is None:
        return tree.root
    everything = len(body.text())
    for each in body.css(_DROPPED):
        each.decompose()
    for each in body.css("form"):
        if len(each.text()) < everything / 2:  # some pages are one form
            each.decompose()
    for each in body.css("sup a[href^='#']"):
        each.decompose()
    mains = [each for each in body.css("main, [role=main]") if tidy(each.text())] or body.css("article")
    if len(mains) == 1 or (mains and mains[0].tag == "main"):
        body = max(mains, key=lambda each: len(each.text()))
    for each in body.css("header, footer"):
        if not _has_ancestor(each, ("article", "main", "section")):
            each.decompose()
    for each in body.css("header ul, footer ul"):
        each.decompose()
    return body


def _has_ancestor(node: Any, tags: tuple[str, ...]) -> bool:
    while (node := node.parent) is not None:
        if node.tag in tags:
            return True
    return False


class _Writer:
    """Gathers the text of blocks while their nodes come by."""

    def __init__(self) -> None:
        self.found: list[Element] = []
        self._text: list[str] = []
        self._links: list[tuple[str, str]] = []
        self._mark = ""
        self._lists: list[Iterator[int] | None] = []
        self._heading = self._code = 0

    def enter(self, node: Any) -> bool:
        """Take a node; whether its children have been taken, too."""
        tag = node.tag
        if tag == "-text":
            text = node.text_content or ""
            self._text.append(text if self._code else _SPACE.sub(" ", text))
        elif tag in ("br", "img"):
            self._text.append("\n" if tag == "br" else f" {node.attributes.get('alt') or ''} ")
        elif tag == "a":
            self._links += _link_of(node)
        elif tag in _BLOCKS:
            self.flush()
            if tag in ("ul", "ol"):
                self._lists.append(count(_number(node, "start", 1)) if tag == "ol" else None)
            elif tag == "li":
                numbers = self._lists[-1] if self._lists else None
                indent = "  " * (len(self._lists) - 1)
                self._mark = f"{indent}{next(numbers)}. " if numbers else f"{indent}- "
            elif tag in _HEADINGS:
                self._heading = int(tag[1])
            elif tag == "pre":
                self._code += 1
            elif tag == "table" and _is_data(node):
                self.found += _read_table(node)
                return True
        return False

    def leave(self, tag: str) -> None:
        """Take the end of a node."""
        if tag not in _BLOCKS:
            return
        self.flush()
        if tag in ("ul", "ol"):
            self._lists.pop()
        elif tag == "li":
            self._mark = ""
        elif tag in _HEADINGS:
            self._heading = 0
        elif tag == "pre":
            self._code -= 1

    def flush(self) -> None:
        """Make an element of the text so far."""
        text, self._text = "".join(self._text), []
        if not text.strip():
            return
        links, self._links = tuple(self._links), []
        if self._heading:
            self.found.append(Element("heading", tidy(text), self._heading, links=links))
        elif self._code:
            self.found.append(Element("code", text.strip("\n").replace("\xa0", " "), links=links))
        else:
            for paragraph in _PARAGRAPHS.split(text):
                if line := tidy(paragraph):
                    self.found.append(Element("item" if self._mark else "text", self._mark + line, links=links))
                    self._mark = ""


def _walk(root: Any) -> list[Element]:
    writer, node, top = _Writer(), root.child, root.mem_id  # nodes are compared by all they contain
    while node is not None:
        is_taken = writer.enter(node)
        if node.child is not None and not is_taken:
            node = node.child
            continue
        if not is_taken:
            writer.leave(node.tag)
        while node.next is None and node.parent is not None and node.parent.mem_id != top:
            node = node.parent
            writer.leave(node.tag)
        node = node.next
    writer.flush()
    return writer.found


def _link_of(node: Any) -> list[tuple[str, str]]:
    href = (node.attributes.get("href") or "").strip()
    return [(tidy(node.text()), href)] if href.isprintable() and _LOCAL.fullmatch(href) else []


def _number(node: Any, name: str, default: int) -> int:
    value = (node.attributes.get(name) or "").strip()
    return min(int(value), 10**6) if value.isascii() and value.isdigit() else default


def _is_data(table: Any) -> bool:
    """Return whether a table holds values, rather than the layout of a page."""
    if table.attributes.get("role") == "presentation" or table.css_first("table table, h1, h2, h3, pre") is not None:
        return False
    return any(len(row.css("td, th")) > 1 for row in table.css("tr"))


def _read_table(table: Any) -> Iterator[Element]:
    caption = table.css_first("caption")
    if caption is not None and (text := tidy(_text_of(caption))):
        yield Element("text", text)
    rows, heads, spans = list[list[str]](), list[bool](), dict[int, tuple[int, str]]()
    for row in table.css("tr"):
        cells, values = row.css("td, th"), list[str]()
        for cell in cells:
            _fill_down(values, spans)
            text = tidy(_text_of(cell))
            width, height = (min(_number(cell, name, 1), _MOST_SPAN) or 1 for name in ("colspan", "rowspan"))
            if height > 1:
                spans[len(values)] = (height - 1, text)
            values += [text, *[""] * (width - 1)]
        _fill_down(values, spans)
        rows.append(values)
        heads.append(all(cell.tag == "th" for cell in cells))
    keyed = all(row.css_first("th") is not None and row.css_first("td") is not None for row in table.css("tr"))
    first = next((number for number, is_head in enumerate(heads) if not is_head), 1)
    links = tuple(link for each in table.css("a[href]") for link in _link_of(each))
    yield from (each._replace(links=links) for each in make_table(rows, heads=0 if keyed else first or None))


def _fill_down(values: list[str], spans: dict[int, tuple[int, str]]) -> None:
    """Repeat the cells that span this row, too."""
    while (place := len(values)) in spans:
        left, text = spans.pop(place)
        values.append(text)
        if left > 1:
            spans[place] = (left - 1, text)


def _text_of(node: Any) -> str:
    return " ".join(each.text.removeprefix("- ") for each in _walk(node)) if node.child is not None else ""
