"""Long answers: a model's Markdown, rewritten by a parser that supports no HTML, links or images.

The result is inert for any client that renders Markdown, and shows what supports each statement: marks
are numbered in order of appearance, those that name no source are removed, and a statement without any is marked `[?]`.
A statement is a sentence or a table row; headings, code, and anything that ends with a colon state nothing.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from hopgraph.nodes.core.marked_text import UNSUPPORTED, escape_piece, rename_marks, unescape_markup
from hopgraph.tools.prompts import clean
from hopgraph.tools.text import split_sentences

_BLOCKS, _INLINE = ["heading", "hr", "list", "blockquote", "fence", "table"], ["newline", "escape", "entity"]
_STYLES = ["backticks", "emphasis", "strikethrough"]
_MAX_NESTING = 12
_MARK = re.compile(r"\[(\d{1,3})\]")
_MARKS_BEHIND = re.compile("([.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)\\s]*)((?:\\[\\d{1,3}\\]\\s?)+)")
"""Marks that follow the end of their sentence."""
_ALL_BOLD = re.compile(r"(\*\*|__)(?:(?!\1).)+\1:?")
_ALIGNMENT = {"left": ":--", "center": ":-:", "right": "--:"}


def markdown_parser(*, xhtml: bool = False) -> MarkdownIt:
    """Return a parser of long answers: blocks, tables, code and emphasis, and nothing active."""
    return MarkdownIt("zero", {"maxNesting": _MAX_NESTING, "xhtmlOut": xhtml}).enable([*_BLOCKS, *_INLINE, *_STYLES])


@cache
def _parser() -> MarkdownIt:
    return markdown_parser()


@dataclass(frozen=True)
class Statement:
    """A statement of a long answer, with the sources that it cites."""

    text: str
    """Without marks and Markdown."""
    sources: tuple[int, ...]
    """Their numbers, as shown to the model; empty if there are none."""


@dataclass
class LongAnswer:
    """A long answer being written: call `write` once, then read the fields."""

    sources: int
    """Number of passages shown to the model."""
    rejected: Collection[int] = ()
    """Indexes of the `statements` that are marked as unsupported although they cite sources."""
    statements: list[Statement] = field(default_factory=list[Statement])
    cited: dict[int, int] = field(default_factory=dict[int, int])
    """Number shown to the model → number of the source in the text, ordered by the latter."""

    def write(self, text: str) -> str:
        """Return the text as inert Markdown with final marks; a prefix of the text gives a prefix of the result."""
        return self._join(SyntaxTreeNode(_parser().parse(clean(text))).children, "\n\n")

    def _join(self, blocks: Iterable[SyntaxTreeNode], gap: str) -> str:
        written, before = "", ""
        for block in blocks:
            # Only a list that starts at 1 can follow a paragraph without an empty line.
            is_near = block.type == "bullet_list" or (block.type == "ordered_list" and block.attrs.get("start", 1) == 1)
            written += (gap if before == "paragraph" and is_near else "\n\n") if before else ""
            written += self._block(block)
            before = block.type
        return written

    def _block(self, node: SyntaxTreeNode) -> str:
        match node.type:
            case "heading":
                return f"{node.markup} {self._line(_content(node))[0]}".rstrip()
            case "bullet_list" | "ordered_list":
                return "\n".join(self._items(node))
            case "blockquote":
                return "\n".join(f"> {line}".rstrip() for line in self._join(node.children, "\n").split("\n"))
            case "fence":
                language = re.match(r"[\w+#-]*", node.info)
                return f"{node.markup}{language[0] if language else ''}\n{node.content.rstrip()}\n{node.markup}"
            case "hr":
                return "---"
            case "table":
                return "\n".join(self._rows(node))
            case _:
                return self._paragraph(_content(node))

    def _items(self, node: SyntaxTreeNode) -> Iterable[str]:
        start = node.attrs.get("start", 1)
        for number, item in enumerate(node.children, start=int(start)):
            marker = f"{number}. " if node.type == "ordered_list" else "- "
            first, *others = self._join(item.children, "\n").split("\n")
            yield f"{marker}{first}".rstrip()
            yield from (f"{' ' * len(marker)}{each}".rstrip() for each in others)

    def _rows(self, node: SyntaxTreeNode) -> Iterable[str]:
        [head], *bodies = [part.children for part in node.children]
        heads = [self._line(_content(cell)) for cell in head.children]
        names = [_plain(*line) for line in heads]
        yield _row([line for line, _ in heads])
        styles = [str(cell.attrs.get("style", "")).rpartition(":")[2] for cell in head.children]
        yield _row([_ALIGNMENT.get(each, "---") for each in styles])
        for row in (each for body in bodies for each in body):
            lines = [self._line(_content(cell)) for cell in row.children]
            said = [(name, text) for name, line in zip(names, lines, strict=False) if (text := _plain(*line))]
            text = "; ".join(f"{name}: {text}" if name else text for name, text in said)
            *cells, last = [cell for cell, _ in lines]
            added = self._settle(text, " ".join(mask for _, mask in lines))
            yield _row([*cells, f"{last}{added}".strip()])

    def _paragraph(self, content: str) -> str:
        """Write a paragraph on one line, except for explicit line breaks, and mark unsupported statements."""
        lines = [" ".join(part.split()) for part in re.split(r"(?: {2,}|\\)\n", content)]
        return "  \n".join(self._sentences(each) for each in lines)

    def _sentences(self, content: str) -> str:
        line, mask = self._line(content)
        if _ALL_BOLD.fullmatch(line):
            return line  # a heading, as models write them
        shown = _MARKS_BEHIND.sub(lambda found: found[1] + " " * len(found[2]), mask)
        starts = [0, *(start for start, _ in split_sentences(shown)[1:]), len(line)]
        written = ""
        for start, end in pairwise(starts):
            part, bare = line[start:end], line[start:end].rstrip()
            added = self._settle(_plain(part, mask[start:end]), mask[start:end])
            behind = part[len(bare) :] or (" " if added and end < len(line) else "")  # `[?](` would begin a link
            written += f"{bare}{added}{behind}"
        return written

    def _settle(self, text: str, mask: str) -> str:
        """Record a statement; return its mark, empty if its sources support it."""
        if not re.search(r"\w", text) or text.endswith((":", "\uff1a")):
            return ""
        shown = [*self.cited]
        named = tuple(shown[number - 1] for number in dict.fromkeys(map(int, _MARK.findall(mask))))
        self.statements.append(Statement(text, named))
        return "" if named and len(self.statements) - 1 not in self.rejected else f" {UNSUPPORTED}"

    def _line(self, content: str) -> tuple[str, str]:
        """Return a line of text, and one of equal length with emphasis blanked out and code removed."""
        line = mask = ""
        for token in _parser().parseInline(content)[0].children or ():
            if token.type == "text":
                line += (piece := escape_piece(rename_marks(token.content, self._number)))
                mask += piece
            elif token.type == "code_inline":
                line += (piece := _code(token.content))
                mask += re.sub(r"[^`]", "x", piece).replace("`", " ")
            else:
                line += token.markup
                mask += " " * len(token.markup)
        return line, mask

    def _number(self, shown: int) -> int | None:
        return self.cited.setdefault(shown, len(self.cited) + 1) if 1 <= shown <= self.sources else None


def _plain(line: str, mask: str) -> str:
    """Return a line without its marks and emphasis, using its mask."""
    marks = {place for found in _MARK.finditer(mask) for place in range(*found.span())}
    kept = (sign for place, sign in enumerate(line) if place not in marks and (sign == " " or mask[place] != " "))
    return re.sub(r" (?=[.,;!?](?:\s|$))", "", " ".join(unescape_markup("".join(kept)).split()))


def write_so_far(text: str, sources: int) -> str:
    """Return the stable beginning of a partial long answer: complete lines; empty before the first mark."""
    answer = LongAnswer(sources)
    written = answer.write(text.rpartition("\n")[0]).rpartition("\n")[0].rstrip("\n")
    return written if answer.cited else ""


def _content(node: SyntaxTreeNode) -> str:
    return node.children[0].content if node.children else ""


def _row(cells: Sequence[str]) -> str:
    escaped = (each.replace("|", "\\|") for each in cells)
    return f"| {' | '.join(escaped)} |"


def _code(content: str) -> str:
    longest = max(map(len, re.findall("`+", content)), default=0)
    ticks, edge = "`" * (longest + 1), " " if content.startswith("`") or content.endswith("`") else ""
    return f"{ticks}{edge}{content}{edge}{ticks}"
