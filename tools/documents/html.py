"""Read the main content of HTML, without navigation, forms and hidden elements."""

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, BinaryIO

from hopgraph.tools.documents.elements import (
    CHINESE_BREAK,
    Document,
    Element,
    UnreadableFileError,
    format_number,
    join_text,
    make_table,
    super_or_subscript,
    tidy,
)
from hopgraph.tools.documents.encodings import decode

_DROPPED = (
    "script, style, noscript, template, nav, button:not(:is(h1, h2, h3, h4, h5, h6, dt, summary) *), "
    "option:not([selected]), svg title, svg desc, iframe, object, video, audio, canvas, annotation, annotation-xml, "
    "del, rt, rp, [hidden]:not([hidden=until-found]), [aria-hidden=true], [role=navigation], [role=banner], "
    "[role=contentinfo], [role=search], [role=doc-noteref], [epub\\:type=noteref], [role=doc-pagebreak], "
    "[epub\\:type=pagebreak], "
    "[style*='display:none']:not(:has(math)), [style*='display: none']:not(:has(math)), "  # Wikipedia hides its MathML
    "[style*='visibility:hidden'], [style*='visibility: hidden'], dialog:not([open]), "
    ".mw-editsection, .linenos, .lineno, .MsoFootnoteReference"
)
_BANNERS = ", ".join(
    f"[{name}*=cookie i][{name}*={part} i]"
    for name in ("id", "class")
    for part in ("banner", "bar", "consent", "message", "modal", "notice", "popup")
)
_NAVIGATION = (
    "#nav, .nav, #navbar, .navbar, #navigation, .navigation, ul.menu, .breadcrumb, .breadcrumbs, #breadcrumbs, "
    ".skip-link, #sidebar, .sidebar, #footer, .footer, .page-footer, .site-footer"
)
"""Selectors for navigation in pages that have no `main` element."""
_INSERTED = (
    (":is(mfrac, msup, msub, msubsup, munder, munderover) > mrow:has(> :nth-child(2))", "(", ")"),
    ("mfrac > :last-child", "/", ""),
    (":is(msub, munder) > :last-child, :is(msubsup, munderover) > :nth-child(2)", "_", ""),
    (":is(msup, msubsup, mover, munderover) > :last-child", "^", ""),
    ("msqrt", "√(", ")"),
    ("q", '"', '"'),
    (":is([type=checkbox], [type=radio])[checked]", "☒ ", ""),
    (":is([type=checkbox], [type=radio]):not([checked])", "☐ ", ""),
)
"""Selector of an element of a formula or form, with the text inserted before and after it."""
_NUMBERS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure "
        "footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu ol p pre search section summary table "
        "tbody td tfoot th thead title tr ul",
    )
)
_LONG_TAG, _MAX_ATTRIBUTES = re.compile(r"<[a-zA-Z][^<>]{10000,}"), 2000  # more take the parser minutes
_MAX_LINE_WORDS = 10
"""Lines of up to this many words stay separate; longer ones are joined as prose."""
_MAX_SPAN = 100
"""Maximum rows or columns that a cell may span."""
_RELATIVE_URL = re.compile(r"(?![A-Za-z][\w+.-]*:|//|#)\S.{0,299}")
"""A relative URL of another document."""
_SPACE, _PARAGRAPHS = re.compile(r"\s+"), re.compile(r"\n\s*\n")
CHARSET = re.compile(
    rb"""(?:<meta[^>]{0,200}charset|<\?xml[^>]{0,200}encoding)\s*=\s*["']?\s*([\w-]{1,40})""", re.IGNORECASE
)
_XHTML = re.compile(r"<\?xml|xmlns\s*=")
_SELF_CLOSING = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)([a-zA-Z][\w:-]*+)([^<>]*)/>"
)
"""A self-closing XHTML element that an HTML parser would leave open."""
_FOOTNOTE_MARK = re.compile(r"\W{0,5}(?:\w{1,3}|[*†‡§¶])\W{0,5}")
_LINK_MARK = re.compile(r"\W{1,5}")
"""The text of a permalink of a heading, or of a backlink of a footnote."""


def read_page(page: BinaryIO | bytes, encoding: str | None = None) -> Document:
    """Decode a page by `decode`, with the encoding that it declares or else `encoding`, and read it by `read_html`."""
    content = page if isinstance(page, bytes) else page.read()
    declared = CHARSET.search(content[:4096])
    return read_html(decode(content, declared[1].decode() if declared else encoding))


def read_html(content: str) -> Document:
    """Read a page; images are replaced by their alternative text, and footnote marks are dropped.

    The title is that of the first `h1`, else of the `title` element.
    """
    from selectolax.lexbor import LexborHTMLParser

    if any(len(tag[0].split()) > _MAX_ATTRIBUTES for tag in _LONG_TAG.finditer(content)):
        raise UnreadableFileError(f"a tag has more than {_MAX_ATTRIBUTES:,} attributes")
    tree: Any = LexborHTMLParser(
        _SELF_CLOSING.sub(r"<\1\2></\1>", content) if _XHTML.search(content[:1000]) else content
    )
    head_title, top = tree.css_first("head title"), tree.css_first("h1")
    document = Document(title=tidy(head_title.text()) if head_title else "")
    heading = tidy(top.text()) if top else ""
    root = _main_content(tree)
    if root is not None:
        document.elements += _walk(root)
    tops = [each.text for each in document.elements if (each.kind, each.number) == ("heading", 1)]
    if not tops and heading and document.title.startswith(heading):  # it is outside the main content
        document.elements.insert(0, Element("heading", heading, 1))
        tops = [heading]
    document.title = next(iter(tops), document.title)
    return document


def _main_content(tree: Any) -> Any:
    body = tree.body
    if body is None:
        return tree.root
    _insert_text(body)
    _drop_hidden(body)
    mains = [each for each in body.css("main, [role=main]") if tidy(each.text())]
    if not mains:  # an `article` may be only a teaser
        for each in body.css(_NAVIGATION):
            if 2 * len(each.text()) < len(body.text()) and each.css_first("h1") is None:
                each.decompose()
        first, *others = sorted(body.css("article:not(article *)"), key=lambda each: -len(each.text())) or [body]
        is_most = 2 * len(first.text()) > len(body.text())
        is_alone = not others or 3 * len(others[0].text()) < len(first.text())
        mains = [first] if (is_most and is_alone) or (not others and first.css_first("h1")) else []
    if mains:
        body = max(mains, key=lambda each: len(each.text()))
    for each in body.css(":is(header:not(:has(h1)), footer):not(:is(article, blockquote, main, section) *)"):
        each.decompose()
    for each in body.css("header ul, footer ul"):
        each.decompose()
    return body


def _insert_text(body: Any) -> None:
    for selector, before, after in _INSERTED:
        for each in body.css(selector):
            each.insert_before(before)
            each.insert_after(after)


def _drop_hidden(body: Any) -> None:
    """Drop hidden elements, navigation, forms, and footnote marks."""
    length = len(body.text())
    for each in body.css(f"{_DROPPED}, {_BANNERS}"):
        if each.mem_id != body.mem_id:
            each.decompose()
    for each in body.css("form"):
        if len(each.text()) < length / 2:  # some pages are one form
            each.decompose()
    for each in body.css("sup a[href*='#'], a[href*='#'] > sup"):
        if _FOOTNOTE_MARK.fullmatch(each.text()):
            each.decompose()
    for each in body.css("a[href^='#']"):
        if _LINK_MARK.fullmatch(each.text()):
            each.decompose()


class _ElementBuilder:
    """Collects the elements of a page while its nodes are visited in order."""

    def __init__(self) -> None:
        self.found: list[Element] = []
        self._text: list[str] = []
        self._links: list[tuple[str, str]] = []
        self._mark = ""
        self._lists: list[tuple[Iterator[int], str] | None] = []
        self._inside: list[str] = []
        self._term_at = -1
        self._script = ""

    def enter(self, node: Any) -> bool:
        """Visit a node; return True if its children have been read, too."""
        tag = node.tag
        if tag == "-text":
            text = node.text_content or ""
            text = text if "pre" in self._inside else _SPACE.sub(" ", CHINESE_BREAK.sub("", text))
            self._text.append(super_or_subscript(text, raised=self._script == "sup") if self._script else text)
        elif tag in ("br", "img", "text"):
            self._text.append("\n" if tag == "br" else f" {node.attributes.get('alt') or ''} ")
        elif tag in ("sub", "sup"):
            self._script = tag
        elif tag == "a":
            self._links += _relative_link(node)
        elif tag in _BLOCKS:
            self.flush()
            if tag == "table" and _is_data(node):
                self.found += _read_table(node)
                return True
            self._enter_block(node, tag)
        return False

    def _enter_block(self, node: Any, tag: str) -> None:
        is_heading = node.attributes.get("role") == "heading"
        self._inside.append(f"h{_number(node, 'aria-level', 2)}" if is_heading else tag)
        if tag in ("ul", "ol"):
            form = _NUMBERS.get(node.attributes.get("type") or "", "decimal")
            self._lists.append((count(_number(node, "start", 1)), form) if tag == "ol" else None)
        elif tag == "li":
            numbers, form = (self._lists[-1] if self._lists else None) or (None, "")
            indent = "  " * (len(self._lists) - 1)
            if numbers and (number := _number(node, "value", 0)):
                self._lists[-1] = numbers, form = count(number), form
            self._mark = f"{indent}{format_number(next(numbers), form)}. " if numbers else f"{indent}- "

    def leave(self, tag: str) -> None:
        if tag in ("sub", "sup"):
            self._script = ""
        if tag not in _BLOCKS:
            return
        self.flush()
        self._inside.pop()
        if tag in ("ul", "ol"):
            self._lists.pop()
        elif tag == "li":
            self._mark = ""

    def flush(self) -> None:
        text, self._text = "".join(self._text), []
        if not text.strip():
            return
        links, self._links = tuple(self._links), []
        if heading := next((tag for tag in self._inside if tag in _HEADINGS), ""):
            self.found.append(Element("heading", tidy(text), int(heading[1]), links=links))
        elif "pre" in self._inside:
            self.found.append(Element("code", text.strip("\n").replace("\xa0", " "), links=links))
        else:
            for paragraph in _PARAGRAPHS.split(text):
                self._add(paragraph, links)

    def _add(self, paragraph: str, links: Sequence[tuple[str, str]]) -> None:
        lines = [line for each in paragraph.split("\n") if (line := tidy(each))]
        if not lines:
            return
        text, is_term = " ".join(lines), "dt" in self._inside
        if self._mark:
            self.found.append(Element("item", self._mark + text, links=links))
            self._mark = ""
        elif self._term_at == len(self.found) and not is_term:
            term = self.found.pop()
            colon = ":" * term.text[-1].isalnum()
            self.found.append(Element("item", f"- {term.text}{colon} {text}", links=(*term.links, *links)))
        elif len(lines) > 1 and max(len(line.split()) for line in lines) <= _MAX_LINE_WORDS:
            self.found.append(Element("code", "\n".join(lines), links=links))
        else:
            self.found.append(Element("text", text, links=links))
        self._term_at = len(self.found) if is_term else -1


def _walk(root: Any) -> list[Element]:
    builder, node, top = _ElementBuilder(), root.child, root.mem_id  # `==` would compare the content of nodes
    while node is not None:
        is_done = builder.enter(node)
        if node.child is not None and not is_done:
            node = node.child
            continue
        if not is_done:
            builder.leave(node.tag)
        while node.next is None and node.parent is not None and node.parent.mem_id != top:
            node = node.parent
            builder.leave(node.tag)
        node = node.next
    builder.flush()
    return builder.found


def _relative_link(node: Any) -> list[tuple[str, str]]:
    href = (node.attributes.get("href") or "").strip()
    return [(tidy(node.text()), href)] if href.isprintable() and _RELATIVE_URL.fullmatch(href) else []


def _number(node: Any, name: str, default: int) -> int:
    value = (node.attributes.get(name) or "").strip()
    return min(int(value), 10**6) if value.isascii() and value.isdigit() else default


def _children(node: Any, *tags: str) -> Iterator[Any]:
    return (child for child in node.iter() if child.tag in tags)


def _rows_of(table: Any) -> list[tuple[Any, list[Any]]]:
    """Return the rows of a table, but not of nested ones: the section that each is in, and its cells."""
    parts = sorted(_children(table, "thead", "tbody", "tfoot"), key=lambda part: part.tag == "tfoot")
    return [(part, list(_children(row, "td", "th"))) for part in parts for row in _children(part, "tr")]


def _is_data(table: Any) -> bool:
    """Return whether a table holds data, rather than the layout of a page."""
    rows = [cells for _, cells in _rows_of(table)]
    if table.attributes.get("role") == "presentation" or max(map(len, rows), default=0) < 2:
        return False
    has_header = any(cell.tag == "th" for cells in rows for cell in cells)
    return has_header or all(each.mem_id == table.mem_id for each in table.css("table, h1, h2, h3, pre"))


def _read_table(table: Any) -> Iterator[Element]:
    for caption in _children(table, "caption"):
        yield from _walk(caption)
    rows, is_header, spans, keyed = list[list[str]](), list[bool](), dict[int, tuple[int, str]](), True
    merged = 0
    for part, cells in _rows_of(table):
        values, tags = list[str](), {cell.tag for cell in cells}
        for cell in cells:
            _fill_down(values, spans)
            parts = _walk(cell) if cell.child is not None else []
            text = join_text(each._replace(text=each.text.removeprefix("- ")) for each in parts)
            width, height = (min(_number(cell, name, 1), _MAX_SPAN) or 1 for name in ("colspan", "rowspan"))
            if height > 1:
                spans[len(values)] = (height - 1, text)
            values += [text, *[""] * (width - 1)]
        _fill_down(values, spans)
        merged += merged == len(rows) and len(cells) > 1 and any(_number(cell, "colspan", 1) > 1 for cell in cells)
        rows.append(values)
        only_names = "th" in tags and all(cell.tag == "th" or not tidy(cell.text()) for cell in cells)
        is_header.append(part.tag == "thead" or only_names)
        keyed = keyed and tags == {"th", "td"}
    declared = is_header.index(False) if False in is_header else 1
    links = tuple(link for each in table.css("a[href]") for link in _relative_link(each))
    header_rows = max(declared, merged + 1 if merged else 0) or (0 if keyed else None)
    yield from (each._replace(links=links) for each in make_table(rows, header_rows=header_rows))


def _fill_down(values: list[str], spans: dict[int, tuple[int, str]]) -> None:
    """Append the cells above that span this row, too."""
    while (column := len(values)) in spans:
        left, text = spans.pop(column)
        values.append(text)
        if left > 1:
            spans[column] = (left - 1, text)
