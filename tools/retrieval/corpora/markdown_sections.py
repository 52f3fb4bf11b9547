"""The structure of a Markdown text: its front matter, and sections under their headings."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from html import unescape
from importlib.util import find_spec
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, NamedTuple, cast

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hopgraph.tools.documents.elements import Element
from hopgraph.tools.documents.html import read_html

_FRONT_MATTER = re.compile(
    r"(?:---[ \t]*\n(.{0,65536}?\n)(?:---|\.\.\.)|\+\+\+[ \t]*\n(.{0,65536}?\n)\+\+\+)[ \t]*(?:\n|\Z)", re.DOTALL
)
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_QUOTED = re.compile(r" {0,3}> ?")
_ELEMENT = re.compile(r"</?[a-z][a-z0-9]*[\s/>]", re.IGNORECASE)
_LONGEST_PAGE = 1 << 20  # characters
_CELL_END = re.compile(r"(?<!\\)\|")
_ESCAPED = re.compile(
    r"(`+)(?!`).{1,1000}?(?<!`)\1(?!`)|\\([!-/:-@\[-`{-~])|(&#?\w{2,30};)|(<br\s?/?>)|</?kbd>", re.DOTALL
)
"""Code, which stays as it is, an escape, an entity, a line end or a mark of keys."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONG = 1 << 22  # characters
_ATTRIBUTES = re.compile(r"(?<!\s)\s*\{[#.:][^{}]*\}\s*$")
"""Those of a heading, as `{#setup}`."""
_Kind = Literal["text", "item", "code", "table"]
_KINDS: dict[str, _Kind] = {
    "bullet_list_open": "item",
    "ordered_list_open": "item",
    "code_block": "code",
    "fence": "code",
    "table_open": "table",
}
_BLOCKS = MarkdownIt("commonmark").enable("table").disable("inline")
_INLINE = MarkdownIt("commonmark")


class Section(NamedTuple):
    """The text below one heading, or on one page, up to the next."""

    headings: tuple[str, ...] = ()
    """The headings that it stands under, outermost first; empty before the first."""
    line: int = 1
    """On which its heading stands, from 1."""
    page: int | None = None
    blocks: Iterable[Element] = ()
    """A list is one item; their numbers are lines."""
    metadata: Mapping[str, object] = MappingProxyType({})
    is_headed: bool = False
    """True if its last heading stands in its text, too."""
    in_rows: bool = False
    """True if its lines are the rows of a sheet, which are named with its passages."""
    links: Sequence[tuple[str, str]] = ()
    """Those of its last heading."""
    mark: str = ""
    """The number of its last heading, which its text leaves out."""


class StructuredText(NamedTuple):
    """A text in sections."""

    title: str
    """The title in the front matter, or the only top-level heading; else empty."""
    metadata: dict[str, object]
    """The single values of the front matter, by their names."""
    sections: Iterable[Section]
    """In their order; those without any block are left out, unless nothing at all stands below their heading."""


def read_markdown(text: str) -> StructuredText:
    """Read headings (ATX and setext), tables, lists, code and front matter; comments are left out."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
    metadata: dict[str, object] = {}
    if (matter := _FRONT_MATTER.match(text)) and (values := _read_matter(matter[1] or matter[2], toml=not matter[1])):
        metadata = values
        text = "\n" * matter[0].count("\n") + text[matter.end() :]  # which keeps the numbers of lines
    sections = list(_read_sections(text))
    title = metadata.pop("title", None)
    tops = [each.headings[0] for each in sections if len(each.headings) == 1]
    if not title and len(tops) == 1 and all(each.headings[:1] in ((), (tops[0],)) for each in sections):
        title = tops[0]
    # A heading with nothing but further headings below it is in their paths.
    empty = [not each.blocks for each in sections]
    nested = [after.headings[: len(each.headings)] == each.headings for each, after in pairwise(sections)] + [False]
    kept = [each for each, no_block, in_next in zip(sections, empty, nested, strict=True) if not (no_block and in_next)]
    return StructuredText(str(title or ""), metadata, kept)


def _read_matter(text: str, *, toml: bool) -> dict[str, object]:
    """Return the single values of front matter, so that no alias multiplies any; empty if it is none."""
    try:
        values = tomllib.loads(text) if toml else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    single = (str, int, float, date)
    found = cast("dict[object, object]", values if isinstance(values, dict) else {})
    return {str(key): value for key, value in found.items() if isinstance(value, single)}


def _read_sections(text: str) -> Iterator[Section]:
    lines, done = text.split("\n"), 0
    path, begins, blocks = list[tuple[int, str]](), 1, list[Element]()

    def section() -> Section:
        return Section(tuple(heading for _, heading in path), begins, None, blocks, is_headed=bool(path))

    for start, end, token, after in _top_level(lines):
        blocks += _block(done, lines[done:start])  # link definitions
        done = end
        is_heading = token.type == "heading_open"
        heading = [Element("heading", _plain_text(after), int(token.tag[1]))] if is_heading else []
        for each in heading or _blocks_of(token, start, lines[start:end]):
            if each.kind != "heading":
                blocks.append(each)
                continue
            if blocks or path:
                yield section()
            begins, blocks = start + 1, []
            path = [one for one in path if one[0] < each.number] + [(each.number, each.text)] * bool(each.text)
    blocks += _block(done, lines[done:])
    yield section()


def _top_level(lines: list[str]) -> Iterator[tuple[int, int, Token, Token]]:
    """Yield the first line of each top-level token, the line behind it, the token and the next token."""
    for first, last in _parts(lines):
        tokens = _BLOCKS.parse("\n".join(lines[first:last]))
        for token, after in pairwise([*tokens, *tokens[-1:]]):
            if token.map and not token.level:
                start, end = token.map
                yield first + start, first + end, token, after


def _parts(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Cut a long text before headings outside of fenced code, as its tokens take many times its memory."""
    start = size = 0
    fence = ""
    for number, line in enumerate(lines):
        if size > _LONG and not fence and line.startswith("#"):
            yield start, number
            start, size = number, 0
        size += len(line)
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
    yield start, len(lines)


def _blocks_of(token: Token, start: int, lines: list[str]) -> Iterator[Element]:
    if token.type == "blockquote_open":
        inner = [_QUOTED.sub("", line) for line in lines]
        for first, last, each, _ in _top_level(inner):
            yield from _blocks_of(each, start + first, inner[first:last])
    elif token.type == "html_block":
        text = _COMMENT.sub("", "\n".join(lines))
        yield from _page(start, text) if _ELEMENT.search(text) else _block(start, text.split("\n"))
    elif token.type != "hr":
        yield from _block(start, lines, _KINDS.get(token.type, "text"))


def _page(start: int, text: str) -> Iterator[Element]:
    """Yield what HTML says; as it is written where there is no parser for it."""
    if len(text) > _LONGEST_PAGE or not find_spec("selectolax"):
        yield from _block(start, text.split("\n"))
        return
    yield from (
        each if each.kind == "heading" else each._replace(number=start + 1) for each in read_html(text).elements
    )


def _block(start: int, lines: list[str], kind: _Kind = "text") -> list[Element]:
    if kind == "table":
        rows = [_cells(line) for number, line in enumerate(lines) if number != 1 and line.strip()]
        width = max(map(len, rows))
        return [Element(kind, "", start + 2, [[*row, *[""] * (width - len(row))] for row in rows])]
    text = "\n".join(lines)
    text = text if kind == "code" else _unescape(text)
    return [Element(kind, text, start + 1)] if text.strip() else []


def _cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    parts = _CELL_END.split(line[:-1] if line.endswith("|") and not line.endswith("\\|") else line)
    return [_unescape(part.strip().replace("\\|", "|")) for part in parts]


def _unescape(text: str) -> str:
    """Return Markdown without the backslashes before its marks, and with the characters that entities stand for."""

    def write(each: re.Match[str]) -> str:
        return each[0] if each[1] else each[2] or unescape(each[3] or " " * bool(each[4]))

    return _ESCAPED.sub(write, text)


def _plain_text(inline: Token) -> str:
    """Return the text of a heading without its marks."""
    (token,) = _INLINE.parseInline(_ATTRIBUTES.sub("", inline.content))
    parts = (
        " " if "break" in each.type else each.content for each in token.children or [] if each.type != "html_inline"
    )
    return " ".join("".join(parts).split())
