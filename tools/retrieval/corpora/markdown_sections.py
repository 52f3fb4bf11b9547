"""Parse Markdown into front matter and sections."""

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
_MAX_HTML = 1 << 20  # characters of an HTML block that is parsed
_CELL_END = re.compile(r"(?<!\\)\|")
_ESCAPED = re.compile(
    r"(`+)(?!`).{1,1000}?(?<!`)\1(?!`)|\\([!-/:-@\[-`{-~])|(&#?\w{2,30};)|(<br\s?/?>)|</?kbd>", re.DOTALL
)
"""Code, which is left alone, an escape, an entity, `<br>` or `<kbd>`."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PART_LENGTH = 1 << 22  # characters
_ATTRIBUTES = re.compile(r"(?<!\s)\s*\{[#.:][^{}]*\}\s*$")
"""Attributes of a heading, e.g. `{#setup}`."""
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
    """The content below one heading or on one page, up to the next."""

    headings: tuple[str, ...] = ()
    """Headings above it, outermost first; empty before the first heading."""
    line: int = 1
    """Line of its heading, from 1."""
    page: int | None = None
    blocks: Iterable[Element] = ()
    """A list is one `item`; numbers are lines."""
    metadata: Mapping[str, object] = MappingProxyType({})
    is_headed: bool = False
    """True if its text starts with its last heading."""
    in_rows: bool = False
    """True if its lines are rows of a sheet, which passages mention."""
    links: Sequence[tuple[str, str]] = ()
    """Links of its last heading."""
    mark: str = ""
    """Number of its last heading, omitted from its text."""


class StructuredText(NamedTuple):
    """A text divided into sections."""

    title: str
    """Title in the front matter, else the only top-level heading; may be empty."""
    metadata: dict[str, object]
    """Scalar values of the front matter."""
    sections: Iterable[Section]
    """In order; a section without blocks is omitted if it has subsections."""


def read_markdown(text: str) -> StructuredText:
    """Read headings (ATX and setext), tables, lists, code and front matter; comments are skipped."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
    metadata: dict[str, object] = {}
    if (matter := _FRONT_MATTER.match(text)) and (values := _read_matter(matter[1] or matter[2], toml=not matter[1])):
        metadata = values
        text = "\n" * matter[0].count("\n") + text[matter.end() :]  # keeps the line numbers
    sections = list(_read_sections(text))
    title = metadata.pop("title", None)
    tops = [each.headings[0] for each in sections if len(each.headings) == 1]
    if not title and len(tops) == 1 and all(each.headings[:1] in ((), (tops[0],)) for each in sections):
        title = tops[0]
    # A heading that is followed by a subheading is in the path of that.
    empty = [not each.blocks for each in sections]
    nested = [after.headings[: len(each.headings)] == each.headings for each, after in pairwise(sections)] + [False]
    kept = [each for each, no_block, in_next in zip(sections, empty, nested, strict=True) if not (no_block and in_next)]
    return StructuredText(str(title or ""), metadata, kept)


def _read_matter(text: str, *, toml: bool) -> dict[str, object]:
    """Return the scalar values of front matter (nested YAML aliases could explode); empty if it is invalid."""
    try:
        values = tomllib.loads(text) if toml else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    scalar = (str, int, float, date)
    found = cast("dict[object, object]", values if isinstance(values, dict) else {})
    return {str(key): value for key, value in found.items() if isinstance(value, scalar)}


def _read_sections(text: str) -> Iterator[Section]:
    lines, done = text.split("\n"), 0
    path, first_line, blocks = list[tuple[int, str]](), 1, list[Element]()

    def section() -> Section:
        return Section(tuple(heading for _, heading in path), first_line, None, blocks, is_headed=bool(path))

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
            first_line, blocks = start + 1, []
            path = [one for one in path if one[0] < each.number] + [(each.number, each.text)] * bool(each.text)
    blocks += _block(done, lines[done:])
    yield section()


def _top_level(lines: list[str]) -> Iterator[tuple[int, int, Token, Token]]:
    """Yield the start line and end line (exclusive) of each top-level token, the token, and the next token."""
    for first, last in _parts(lines):
        tokens = _BLOCKS.parse("\n".join(lines[first:last]))
        for token, after in pairwise([*tokens, *tokens[-1:]]):
            if token.map and not token.level:
                start, end = token.map
                yield first + start, first + end, token, after


def _parts(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Split a long text before headings outside fenced code, since its tokens need many times its memory."""
    start = size = 0
    fence = ""
    for number, line in enumerate(lines):
        if size > _PART_LENGTH and not fence and line.startswith("#"):
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
        yield from _html_block(start, text) if _ELEMENT.search(text) else _block(start, text.split("\n"))
    elif token.type != "hr":
        yield from _block(start, lines, _KINDS.get(token.type, "text"))


def _html_block(start: int, text: str) -> Iterator[Element]:
    """Yield the content of HTML; the source itself if the parser is not installed or it is too long."""
    if len(text) > _MAX_HTML or not find_spec("selectolax"):
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
    """Resolve the backslash escapes and entities of Markdown."""

    def resolve(each: re.Match[str]) -> str:
        return each[0] if each[1] else each[2] or unescape(each[3] or " " * bool(each[4]))

    return _ESCAPED.sub(resolve, text)


def _plain_text(inline: Token) -> str:
    """Return the text of a heading without markup."""
    (token,) = _INLINE.parseInline(_ATTRIBUTES.sub("", inline.content))
    parts = (
        " " if "break" in each.type else each.content for each in token.children or [] if each.type != "html_inline"
    )
    return " ".join("".join(parts).split())
