"""Read PDF: each page as LiteParse's blocks, or as PDFium's plain text if the blocks lack some of its words."""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref, c_double
from importlib import import_module
from itertools import repeat, takewhile
from pathlib import Path
from typing import Any, BinaryIO

from markdown_it import MarkdownIt

from hopgraph.state import SettingsError
from hopgraph.tools.documents.elements import (
    CHINESE,
    Document,
    Element,
    Row,
    UnreadableFileError,
    make_table,
    super_or_subscript,
    tidy,
)
from hopgraph.tools.text.common_words import FUNCTION_WORDS

MAX_PDF_PAGES = 5000
_MAX_MISSING = 0.05
"""Maximum share of a page's words that LiteParse may miss."""
_OPTIONS = {
    "ocr_enabled": False,
    "quiet": True,
    "output_format": "markdown",
    "image_mode": "off",
    "extract_links": False,
    "extract_blocks": True,
    "extract_annotations": True,
    "extract_form_fields": True,
    "keep_headers_footers": True,
    "num_workers": 1,
    "max_pages": MAX_PDF_PAGES,
    "continue_on_page_error": True,
}
_OCR_ADVICE = "--ocr eng would read scanned ones (pip install 'hopgraph[ocr]')"
_INLINE = MarkdownIt("zero").enable(["escape", "emphasis"])
_NOT_TEXT = str.maketrans("", "", "\0\x02\ufffe")
_WORD = re.compile(r"\w+")
_LINE_END_HYPHEN = re.compile(r"([^\W\d_])[-\u2010\xad\x02\ufffe]\r?\n\s*([^\W\d_])")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_OPEN_END = re.compile(r"[\w,;\-\u2013]\s*$")
_OPEN_WORDS = frozenset(FUNCTION_WORDS.split())
"""Words that do not end a sentence."""
_MIN_ROWS, _MAX_CELL_WORDS, _MIN_PROSE_WORDS, _MAX_COMPARISONS = 3, 4, 3, 1_000_000
"""Minimum lines and maximum average words per line of a paragraph that may be a table column; minimum average words
per row of prose; maximum of a page's blocks times its text items."""
_NOT_SPACE = re.compile(r"\S+")
_LETTER_SPACED = re.compile(r"(?<!\S)(?:[^\W\d_] ){3,}[^\W\d_](?!\S)")
_MAX_SCRIPT_SIZE, _MIN_RAISED, _MIN_WORD_LETTERS = 0.85, 0.05, 4
"""Maximum size and minimum rise of superscripts, relative to the font size; minimum letters of a word, not a unit."""
_TOLERANCE, _MAX_FIELDS = 3, 1000
"""Tolerance of coordinates in points; maximum form fields, or annotations, per page."""
_WITHIN_CHINESE = re.compile(f"(?<={CHINESE})[ \n]+(?={CHINESE})")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff]")
_MARK_BEFORE = re.compile(r"(?<!\S)([.,:;!?\u060c\u061b\u061f]+)([^\W_][\w.,:/]*)")
_PREFIX_BEHIND = re.compile("(?<![\\d.,])(\\d[\\d.,]*+)-([\u05d0-\u05ea])(?!\\w)")
_EDGE_BLOCKS = 2
"""Blocks at the top and bottom of a page that may be running headers or footers."""


def read_pdf(file: BinaryIO, ocr: str = "") -> Document:
    """Read a PDF; a sentence that continues on the next page is moved to the page where it starts.

    Running headers and footers are kept once. Pages without text are read by Tesseract if `ocr` names its languages,
    e.g. `eng+deu`; otherwise a note names them.
    """
    content = file.read()
    content = content[max(content[:1024].find(b"%PDF-"), 0) :]
    plain, superscripts = _plain_pages(content)
    if ocr:
        _recognize(content, plain, ocr)
    empty = [str(number) for number, text in enumerate(plain, 1) if not text.strip()]
    have = f"{len(empty)} of {len(plain)} pages {'has' if len(empty) == 1 else 'have'} no text"
    if len(empty) == len(plain):
        raise UnreadableFileError(f"{have}; {_OCR_ADVICE}")
    parsed = {page.page_num: page for page in _parse(content, {})}
    pages = [_page(text, parsed.get(number), superscripts[number - 1]) for number, text in enumerate(plain, 1)]
    pages = _join_sentences(_drop_repeated(pages))
    found = Document(
        [each for number, page in enumerate(pages, 1) if page for each in (Element("page", "", number), *page)]
    )
    headings = [each for each in pages[0] if each.kind == "heading"]
    found.title = min(headings, key=lambda each: each.number).text if headings else ""
    if empty:
        named = ", ".join(empty[:10]) + ", …" * (len(empty) > 10)
        found.notes.append(f"{have}: {named}; {_OCR_ADVICE}")
    return found


def _plain_pages(content: bytes) -> tuple[list[str], list[dict[str, str]]]:
    import pypdfium2

    library: Any = pypdfium2
    try:
        document = library.PdfDocument(content)
    except library.PdfiumError as error:
        encrypted = "password" in str(error).lower()
        raise UnreadableFileError("it is encrypted" if encrypted else "it is damaged, or not a PDF") from None
    if len(document) > MAX_PDF_PAGES:
        raise UnreadableFileError(f"it has more than {MAX_PDF_PAGES:,} pages")
    pages, superscripts = list[str](), [dict[str, str]() for _ in range(len(document))]
    for number in range(len(document)):
        try:
            page = document[number]
            text_page = page.get_textpage()
            whole, shown = text_page.get_text_range(), text_page.get_text_bounded()
            is_cropped = len("".join(shown.split())) < (1 - _MAX_MISSING) * len("".join(whole.split()))
            pages.append(shown if is_cropped else whole)  # the bounded text lacks some spaces
            superscripts[number] = {} if is_cropped else _find_superscripts(text_page, whole)
            text_page.close()
            page.close()
        except library.PdfiumError:  # one damaged page
            pages.append("")
    return pages, superscripts


def _find_superscripts(page: Any, text: str) -> dict[str, str]:
    """Map each word with superscript digits, and the word before it, to the same with Unicode superscripts.

    Footnote marks, which follow a word or a sentence, are dropped.
    """
    raw: Any = import_module("pypdfium2.raw")
    found, before, x, y = dict[str, str](), "", c_double(), c_double()

    def height(at: int) -> float:
        raw.FPDFText_GetCharOrigin(page, at, byref(x), byref(y))
        return y.value

    for word in _NOT_SPACE.finditer(text):
        for at in range(word.start() + 1, word.end()):
            size = raw.FPDFText_GetFontSize(page, at - 1) if text[at] in "123456789" else 0
            is_small = raw.FPDFText_GetFontSize(page, at) < _MAX_SCRIPT_SIZE * size
            if is_small and height(at) - height(at - 1) > _MIN_RAISED * size:
                base = text[word.start() : at]
                digits = "".join(takewhile(str.isdigit, text[at : word.end()]))
                is_mark = not base[-1].isalnum() or (base.isalpha() and len(base) >= _MIN_WORD_LETTERS)
                shown = "" if is_mark else super_or_subscript(digits, raised=True)
                found[f"{before}{word[0]}"] = f"{before}{base}{shown}{text[at + len(digits) : word.end()]}"
                break
        before = f"{word[0]} "
    return found


def find_tessdata(languages: str) -> Path:
    """Return the folder with Tesseract's data for languages, e.g. `eng+deu`; SettingsError if any is missing."""
    folder = Path(os.environ.get("TESSDATA_PREFIX") or Path(sys.prefix, "share", "tessdata"))
    missing = [each for each in languages.split("+") if not (folder / f"{each}.traineddata").is_file()]
    if missing:
        install = "pip install 'hopgraph[ocr]' brings eng; TESSDATA_PREFIX names another folder"
        raise SettingsError(f"--ocr {languages:.40}: {folder} has no {missing[0]:.40}.traineddata ({install})")
    return folder


def _recognize(content: bytes, plain: list[str], languages: str) -> None:
    """Replace the text of empty pages with the text that Tesseract recognizes."""
    tessdata = str(find_tessdata(languages))
    if empty := ",".join(str(number) for number, text in enumerate(plain, 1) if not text.strip()):
        options = {"ocr_enabled": True, "ocr_language": languages, "tessdata_path": tessdata, "target_pages": empty}
        for page in _parse(content, options):
            plain[page.page_num - 1] = page.text or ""


def _parse(content: bytes, options: dict[str, Any]) -> Sequence[Any]:
    """Return LiteParse's pages; empty if it fails."""
    import liteparse

    library: Any = liteparse
    try:
        # For other files LiteParse would look for converter programs.
        return library.LiteParse(**_OPTIONS | options).parse(content).pages if content.startswith(b"%PDF-") else ()
    except library.ParseError:
        return ()


def _page(plain: str, page: Any, superscripts: Mapping[str, str]) -> list[Element]:
    blocks, items = (page.blocks or (), page.text_items or ()) if page else ((), ())
    whole = _LINE_END_HYPHEN.sub(lambda each: each[1] + each[2] if each[2].islower() else each[0], plain)
    whole = whole.translate(_NOT_TEXT)
    elements = list(_with_columns(blocks, items))
    if _misses_words(whole, elements) or any(_is_prose(each, items, plain) for each in blocks if each.kind == "table"):
        words = set(_WORD.findall(whole))
        fields = [each.text for each in elements if words.isdisjoint(_WORD.findall(each.text))]  # form fields
        paragraphs = [*re.split(r"\r?\n\s*\r?\n", whole), *fields]
        elements = [Element("text", text) for paragraph in paragraphs if (text := tidy(paragraph))]
    fixes = [*((old, repeat(new)) for old, new in superscripts.items()), *(_check_boxes(page) if page else ())]
    for old, new in fixes if len(fixes) * len(elements) < _MAX_COMPARISONS else ():
        elements = _replace_text(elements, re.compile(rf"(?<![☐☒] ){re.escape(old)}(?!\w)"), new)
    elements += _typed_text(page) if page else ()

    def join(letters: re.Match[str]) -> str:
        word = letters[0].replace(" ", "")
        return word if word in plain else letters[0]

    return [each._replace(text=_fix_order_and_spaces(_LETTER_SPACED.sub(join, each.text))) for each in elements]


def _replace_text(elements: list[Element], old: re.Pattern[str], new: Iterator[str]) -> list[Element]:
    def fix(text: str) -> str:
        return old.sub(lambda found: next(new, found[0]), text)

    return [each._replace(text=fix(each.text), rows=[[*map(fix, row)] for row in each.rows] or ()) for each in elements]


def _check_boxes(page: Any) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield each check box's label, and the replacement: the label after ☐ or ☒."""
    for field in (page.form_fields or ())[:_MAX_FIELDS]:
        if field.checked is not None and (box := field.rect):
            line = [each for each in page.text_items if each.y < box.y + box.height / 2 < each.y + each.height]
            right = min((each for each in line if each.x >= box.x), key=lambda each: each.x, default=None)
            if right and right.x > box.x + box.width / 2:
                yield tidy(right.text), iter([f"{'☐☒'[field.checked]} {tidy(right.text)}"])


def _typed_text(page: Any) -> Iterator[Element]:
    """Yield the values of form fields and the free-text annotations that are not in the page's text."""
    drawn = tidy(" ".join(each.text for each in page.text_items))
    fields = [each for each in (page.form_fields or ())[:_MAX_FIELDS] if each.type == "text"]
    found = [(f"{each.alternate_name or each.name}: ", tidy(each.value or "")) for each in fields]
    found += [
        ("", tidy(each.contents or "")) for each in (page.annotations or ())[:_MAX_FIELDS] if each.subtype == "freetext"
    ]
    yield from (Element("text", f"{name}{text}") for name, text in found if text and text not in drawn)


def _fix_order_and_spaces(text: str) -> str:
    """Remove spaces at line ends in Chinese and Japanese; move punctuation after the words in Arabic and Hebrew."""
    text = _WITHIN_CHINESE.sub("", text)
    return _MARK_BEFORE.sub(r"\2\1", _PREFIX_BEHIND.sub(r"\2-\1", text)) if _RIGHT_TO_LEFT.search(text) else text


def _with_columns(blocks: Sequence[Any], items: Sequence[Any]) -> Iterator[Element]:
    """Yield the elements of blocks; paragraphs aligned line by line with each other, or a table, become columns."""
    if len(blocks) * len(items) > _MAX_COMPARISONS:
        items = ()
    lines = {at: _lines_of(block, items) for at, block in enumerate(blocks) if block.kind in ("paragraph", "table")}
    columns = {at: each for at, each in lines.items() if blocks[at].kind == "paragraph" and _may_be_column(each)}
    taken = set[int]()
    for at, block in enumerate(blocks):
        rows_y = lines[at].keys() if at in columns or block.kind == "table" else set[int]()
        near = [key for key, each in columns.items() if len(rows_y & each.keys()) > 0.8 * len(rows_y | each.keys())]
        near = [key for key in near if key not in taken]
        aligned = [[columns[key].get(y, "") for key in near] for y in sorted(rows_y)]
        if block.kind == "table" and near and len(rows := _cells(block)) == len(aligned):
            taken.update(near)
            yield from make_table([*row, *others] for row, others in zip(rows, aligned, strict=True))
        elif len(near) > 1:
            taken.update(near)
            yield from make_table(aligned)
        elif at not in taken and block.kind == "table" and (rows := _join_rest(block, blocks[at + 1 : at + 2], items)):
            taken.add(at + 1)
            yield from make_table(rows)
        elif at not in taken and block.kind == "heading":
            yield from (
                Element("heading", text, block.level or 1) for text in _headings(_plain_text(block.text), items)
            )
        elif at not in taken:
            yield from _elements(block)


def _join_rest(table: Any, after: Sequence[Any], items: Sequence[Any]) -> list[list[str]]:
    """Return the rows of a table if its last row continues in the paragraph right below it; otherwise empty."""
    rows, rest = _cells(table), next((each for each in after if each.kind == "paragraph"), None)
    if not (rest and rest.bbox and table.bbox) or abs(rest.bbox.y - table.bbox.y - table.bbox.height) >= _TOLERANCE:
        return []
    lefts = [each.x for each in _items_in(table, items) if each.y < table.bbox.y + _TOLERANCE]
    column = next((at for at, x in enumerate(lefts) if at and abs(x - rest.bbox.x) < _TOLERANCE), None)
    if column is None or len(lefts) != len(rows[-1]):
        return []
    rows[-1][column] += f" {_plain_text(rest.text)}"
    return rows


def _headings(text: str, items: Sequence[Any]) -> list[str]:
    """Split a heading where the alignment of its lines (left, right or centered) changes."""
    for at in range(len(items)):
        parts, covered, left, right = list[str](), "", 0.0, 0.0
        for before, each in zip((None, *items[at:]), items[at:], strict=False):
            covered = tidy(f"{covered} {each.text}")
            if not text.startswith(covered):
                break
            start, end = left if before and round(before.y) == round(each.y) else each.x, each.x + each.width
            is_aligned = min(abs(start - left), abs(end - right), abs(start + end - left - right)) < _TOLERANCE
            parts[-1:] = [tidy(f"{parts[-1]} {each.text}")] if parts and is_aligned else [*parts[-1:], tidy(each.text)]
            left, right = start, end
            if covered == text:
                return parts
    return [text]


def _items_in(block: Any, items: Sequence[Any]) -> Iterator[Any]:
    box = block.bbox
    for each in items if box else ():
        if box.x - 1 <= each.x <= box.x + box.width and box.y - 1 <= each.y <= box.y + box.height:
            yield each


def _lines_of(block: Any, items: Sequence[Any]) -> dict[int, str]:
    """Return y → text of the lines of a block."""
    lines = dict[int, str]()
    for each in _items_in(block, items):
        lines[round(each.y)] = f"{lines.get(round(each.y), '')} {each.text}"
    return lines


def _is_prose(table: Any, items: Sequence[Any], plain: str) -> bool:
    """Return whether a table is really justified prose: most of its rows start in lower case.

    In addition, they start in the middle of the page's lines, or the table lacks words of that area.
    """
    lines = [" ".join(row).split() for row in _cells(table)]
    mid_sentence = sum(line[0][0].islower() for line in lines if line) > len(lines) / 2
    if not mid_sentence or sum(map(len, lines)) < _MIN_PROSE_WORDS * len(lines):
        return False
    within = sum(f" {' '.join(line[:2])}" in plain for line in lines)
    return within > len(lines) / 2 or _misses_words(" ".join(_lines_of(table, items).values()), list(_elements(table)))


def _may_be_column(lines: Mapping[int, str]) -> bool:
    words = sum(len(text.split()) for text in lines.values())
    return len(lines) >= _MIN_ROWS and words <= _MAX_CELL_WORDS * len(lines)


def _misses_words(plain: str, elements: Sequence[Element]) -> bool:
    """Return whether elements lack more than a few of a page's words, whichever way words are split."""
    read = " ".join(each.text or " ".join(cell for row in each.rows for cell in row) for each in elements)
    expected, actual = Counter(_WORD.findall(plain.lower())), Counter(_WORD.findall(read.lower()))
    missing = expected - actual
    if missing.total() <= _MAX_MISSING * expected.total():
        return False
    # The letters may be the same, but split into other words.
    letters, others = (Counter("".join(_WORD.findall(text.lower()))) for text in (plain, read))
    return (letters - others).total() > _MAX_MISSING * letters.total() or missing.total() > 0.3 * expected.total()


def _elements(block: Any) -> Iterator[Element]:
    if block.kind == "table":
        yield from make_table(_cells(block))
    elif block.lines:
        yield Element("code", "\n".join(line.rstrip() for line in block.lines))
    elif block.text and (text := _plain_text(block.text)):
        is_item = block.kind == "list_item"
        mark = f"{'  ' * (block.level or 0)}{block.marker or '-'} " if is_item else ""
        yield Element("item" if is_item else "text", f"{mark}{text}")


def _cells(table: Any) -> list[list[str]]:
    lines: list[list[Any]] = [table.header, *(table.rows or [])]
    return [[_plain_text(cell.text) for cell in line] for line in lines if line]


def _plain_text(text: str) -> str:
    """Return LiteParse's Markdown as plain text."""
    if "*" not in text and "\\" not in text:
        return tidy(text)
    (token,) = _INLINE.parseInline(text)
    return tidy("".join("\n" if "break" in each.type else each.content for each in token.children or []))


def _drop_repeated(pages: list[list[Element]]) -> list[list[Element]]:
    """Keep running headers and footers, which differ only in numbers, once, at the top of their first page."""
    seen = Counter(key for page in pages for key in {_edge_key(page[at]) for at in _edges(page)})
    repeated = {key for key, times in seen.items() if key and times > max(2, len(pages) // 4)}
    done, kept = set[str](), list[list[Element]]()
    for page in pages:
        edges = {at: key for at in sorted(_edges(page)) if (key := _edge_key(page[at])) in repeated}
        first = [page[at] for at, key in edges.items() if key not in done]
        done |= set(edges.values())
        kept.append([*first, *(each for at, each in enumerate(page) if at not in edges)])
    return kept


def _edges(page: Sequence[Element]) -> set[int]:
    return {*range(min(_EDGE_BLOCKS, len(page))), *range(max(0, len(page) - _EDGE_BLOCKS), len(page))}


def _edge_key(element: Element) -> str:
    return re.sub(r"\d+|^[ivxlc]+$", "0", element.text) if len(element.text) < 200 and element.kind != "table" else ""


def _join_sentences(pages: list[list[Element]]) -> list[list[Element]]:
    """Move the end of a sentence, or of a hyphenated word, from the top of a page or column to where it starts.

    A table that continues on the next page without a header gets that of the previous page.
    """
    before: list[Element] = []
    for page in pages:
        joined = list[Element]()
        for each in page:
            last = (joined or before or [Element("page")])[-1]
            is_first = not joined
            if (each.kind, last.kind) == ("table", "table") and is_first and len(each.rows[0]) == len(last.rows[0]):
                each = _with_header(each, last.rows[0])
            elif each.kind == "text" and (found := _continue(last, each.text)):
                (joined or before)[-1], rest = last._replace(text=found[0]), found[1]
                if not rest:
                    continue
                each = each._replace(text=rest)
            joined.append(each)
        page[:] = joined
        before = page or before
    return pages


def _with_header(table: Element, header: Row) -> Element:
    first, *rows = table.rows
    if list(first) == list(header):
        return table
    return table._replace(rows=[header, *([first] if any(first) else []), *rows])


def _continue(last: Element, text: str) -> tuple[str, str] | None:
    """Return the last text with the end of its sentence, and the rest; None if `text` does not continue it."""
    end = _SENTENCE_END.search(text)
    is_open = last.text.rpartition(" ")[2] in _OPEN_WORDS
    continues = is_open or text[:1].islower() or (text[:1].isdigit() and end is not None)
    if last.kind not in ("text", "item") or not continues or not _OPEN_END.search(last.text):
        return None
    moved, rest = (text[: end.end()], text[end.end() :].strip()) if end else (text, "")
    joined = re.sub(r"(?<=[^\W\d_])-$", "", last.text)
    return f"{joined}{' ' * (joined == last.text)}{moved}", rest
