"""PDF as elements, page by page: LiteParse's blocks, where they lack no words that PDFium finds."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, BinaryIO

from markdown_it import MarkdownIt

from hopgraph.tools.documents.elements import Document, Element, UnreadableFileError, make_table, tidy

MOST_PAGES = 5000
_MISSING = 0.05
"""The share of a page's words that LiteParse may lack."""
_OPTIONS = {
    "ocr_enabled": False,
    "quiet": True,
    "output_format": "markdown",
    "image_mode": "off",
    "extract_links": False,
    "extract_blocks": True,
    "keep_headers_footers": True,
    "num_workers": 1,
    "max_pages": MOST_PAGES,
    "continue_on_page_error": True,
}
_INLINE = MarkdownIt("zero").enable(["escape", "emphasis"])
_NO_TEXT = str.maketrans("", "", "\0\x02\ufffe")
_WORD = re.compile(r"\w+")
_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\xad\x02\ufffe]\r?\n\s*(?=[a-zß-ÿ])")
_OPEN_END = re.compile(r"[\w,;\-\u2013]\s*$")
_EDGE = 2
"""Blocks at the top and at the bottom of a page that may be its header or footer."""


def read_pdf(file: BinaryIO) -> Document:
    """Read a PDF; a sentence that goes on on the next page stands on the page where it begins.

    Lines that repeat at the top or bottom of pages are kept once.
    """
    content = file.read()
    content = content[max(content[:1024].find(b"%PDF-"), 0) :]
    plain = _plain_pages(content)
    if not any(page.strip() for page in plain):
        raise UnreadableFileError("it has no text; scanned pages have to be recognised (OCR) first")
    blocks = _blocks_of(content)
    pages = [_page(text, blocks.get(number, [])) for number, text in enumerate(plain, 1)]
    pages = _join_sentences(_drop_repeated(pages))
    found = Document(
        [each for number, page in enumerate(pages, 1) if page for each in (Element("page", "", number), *page)]
    )
    found.title = next((each.text for each in pages[0] if each.kind == "heading"), "")
    empty = [str(number) for number, text in enumerate(plain, 1) if not text.strip()]
    if empty:
        named = ", ".join(empty[:10]) + ", …" * (len(empty) > 10)
        have = "has no text" if len(empty) == 1 else "have no text"
        found.notes.append(f"{len(empty)} of {len(plain)} pages {have} and would have to be recognised (OCR): {named}")
    return found


def _plain_pages(content: bytes) -> list[str]:
    import pypdfium2

    library: Any = pypdfium2
    try:
        document = library.PdfDocument(content)
    except library.PdfiumError as error:
        encrypted = "password" in str(error).lower()
        raise UnreadableFileError("it is encrypted" if encrypted else "it is damaged, or no PDF") from None
    if len(document) > MOST_PAGES:
        raise UnreadableFileError(f"it has more than {MOST_PAGES:,} pages")
    pages = list[str]()
    for number in range(len(document)):
        try:
            page = document[number]
            text_page = page.get_textpage()
            pages.append(text_page.get_text_range())
            text_page.close()
            page.close()
        except library.PdfiumError:  # one damaged page
            pages.append("")
    return pages


def _blocks_of(content: bytes) -> dict[int, Sequence[Any]]:
    """Return page → LiteParse's blocks; no page where it fails."""
    import liteparse

    if not content.startswith(b"%PDF-"):  # it would look for programs that convert other kinds
        return {}
    library: Any = liteparse
    try:
        return {page.page_num: page.blocks or [] for page in library.LiteParse(**_OPTIONS).parse(content).pages}
    except library.ParseError:
        return {}


def _page(plain: str, blocks: Sequence[Any]) -> list[Element]:
    whole = _LINE_END_HYPHEN.sub("", plain).translate(_NO_TEXT)
    elements = [each for block in blocks for each in _elements(block)]
    if _lacks(whole, elements):
        paragraphs = re.split(r"\r?\n\s*\r?\n", whole)
        return [Element("text", text) for paragraph in paragraphs if (text := tidy(paragraph))]
    return elements


def _lacks(plain: str, elements: Sequence[Element]) -> bool:
    """Whether elements lack more than a few of a page's words, joined as either has them."""
    said = " ".join(each.text or " ".join(cell for row in each.rows for cell in row) for each in elements)
    theirs, ours = Counter(_WORD.findall(plain.lower())), Counter(_WORD.findall(said.lower()))
    missing = theirs - ours
    if missing.total() <= _MISSING * theirs.total():
        return False
    # The letters may be the same, in words that are joined or parted otherwise.
    letters, others = (Counter("".join(_WORD.findall(text.lower()))) for text in (plain, said))
    return (letters - others).total() > _MISSING * letters.total() or missing.total() > 0.3 * theirs.total()


def _elements(block: Any) -> Iterator[Element]:
    if block.kind == "table":
        lines: list[list[Any]] = [block.header or [], *(block.rows or [])]
        yield from make_table([_unmarked(cell.text) for cell in line] for line in lines)
    elif block.lines:
        yield Element("code", "\n".join(line.rstrip() for line in block.lines))
    elif block.text and (text := _unmarked(block.text)):
        if block.kind == "heading":
            yield Element("heading", text, block.level or 1)
        elif block.kind == "list_item":
            yield Element("item", f"{'  ' * (block.level or 0)}{block.marker or '-'} {text}")
        else:
            yield Element("text", text)


def _unmarked(text: str) -> str:
    """Return LiteParse's Markdown without marks and escapes."""
    if "*" not in text and "\\" not in text:
        return tidy(text)
    (token,) = _INLINE.parseInline(text)
    return tidy("".join("\n" if "break" in each.type else each.content for each in token.children or []))


def _drop_repeated(pages: list[list[Element]]) -> list[list[Element]]:
    """Leave out what stands at the edges of several pages, but for its numbers, on all of them except the first."""
    seen = Counter(key for page in pages for key in {_edge_key(page[at]) for at in _edges(page)})
    repeated = {key for key, times in seen.items() if key and times > max(2, len(pages) // 4)}
    done, kept = set[str](), list[list[Element]]()
    for page in pages:
        dropped = {at for at in _edges(page) if (key := _edge_key(page[at])) in repeated and key in done}
        done |= {_edge_key(page[at]) for at in _edges(page)}
        kept.append([each for at, each in enumerate(page) if at not in dropped])
    return kept


def _edges(page: Sequence[Element]) -> set[int]:
    return {*range(min(_EDGE, len(page))), *range(max(0, len(page) - _EDGE), len(page))}


def _edge_key(element: Element) -> str:
    return re.sub(r"\d+", "0", element.text) if len(element.text) < 200 and element.kind != "table" else ""


def _join_sentences(pages: list[list[Element]]) -> list[list[Element]]:
    """Move the end of a sentence, and of a hyphenated word, from the top of a page to where it begins."""
    filled = [number for number, page in enumerate(pages) if page]
    for before, after in pairwise(filled):
        last, first = pages[before][-1], pages[after][0]
        if (last.kind, first.kind) not in (("text", "text"), ("item", "text")) or after != before + 1:
            continue
        if not (_OPEN_END.search(last.text) and first.text[:1].islower()):
            continue
        end = re.search(r"[.!?](?=\s|$)", first.text)
        moved, rest = (first.text[: end.end()], first.text[end.end() :].strip()) if end else (first.text, "")
        joined = re.sub(r"(?<=[^\W\d_])-$", "", last.text)
        joined += ("" if joined != last.text else " ") + moved
        pages[before][-1] = last._replace(text=joined)
        pages[after][:1] = [first._replace(text=rest)] if rest else []
    return pages
