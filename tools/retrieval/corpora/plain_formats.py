"""Read delimited text, JSON, notebooks, calendars, contacts and subtitles; convert other markup to Markdown."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from quopri import decodestring
from typing import Any, cast

from pydantic import JsonValue

from hopgraph.tools.documents.conversion import can_convert, suffix_of
from hopgraph.tools.documents.elements import (
    Element,
    UnreadableFileError,
    has_header,
    join_text,
    make_table,
    make_tables,
)
from hopgraph.tools.documents.encodings import open_text
from hopgraph.tools.documents.html import read_html
from hopgraph.tools.retrieval.corpora.markdown_sections import Section, StructuredText, read_markdown
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading

_SAMPLE, _MAX_CELL, _DELIMITERS = 8192, 1 << 26, "\t|;,^~"
_SEPARATOR = re.compile(r"sep=(.)\n")
"""Excel's declaration of the delimiter."""
_MAX_JSON = 1 << 26  # bytes of a file with a single JSON value, which is read at once
_FOLD, _SOFT_BREAK = re.compile(r"\n[ \t]"), re.compile(r"=\n(?![A-Z-]{1,60}+[;:])")
_SKIPPED = re.compile(
    r"(?:BEGIN|END|VERSION|PRODID|UID|DTSTAMP|PHOTO|LOGO|SOUND|KEY)\b|.*ENCODING=B(?:ASE64)?\b", re.IGNORECASE
)
_ENCODED = re.compile(r";(?:ENCODING|CHARSET)=[^;]*", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([,;nN\\])")
_EMPTY_LINE = re.compile(r"\n[ \t]*+\n")
_STYLE_TAG = re.compile(r"<[^<>]{1,100}>|\{\\[^{}]{1,100}\}")
_OUTPUT_KEYS = ("text", "text/markdown", "text/plain", "evalue")
"""Keys of a notebook's cell output, in order of preference."""
JSON = frozenset({".json", ".geojson", ".jsonld"})


class _Fraction(str):
    """A decimal number, kept as text."""


def _keep_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Build an object; a repeated key gets a list of its values."""
    fields = dict[str, JsonValue]()
    for key, value in pairs:
        fields[key] = [fields[key], value] if key in fields else value
    return fields


_DECODER = json.JSONDecoder(parse_float=_Fraction, parse_constant=str, object_pairs_hook=_keep_duplicates)
_COMMENT = re.compile(
    r'("(?:[^"\\]|\\.)*+(?:"|\Z))|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|,(?=\s*+[\]}])', re.DOTALL
)
"""A JSON string (kept), or a comment or trailing comma, as in configuration files."""
_MARKUP = re.compile(r"</(?:p|div|li|ul|ol|td|table|h[1-6]|blockquote)>|<br\s*+/?>", re.IGNORECASE)
_VECTOR = re.compile("embedding|vector", re.IGNORECASE)
_BYTES = re.compile(r"(?:data:[\w/+.;=-]{1,100},)?[A-Za-z0-9+/=_-]++")
_MAX_FRACTIONS = 32
_NOT_SPACE = re.compile(r"[^\s,\ufeff\x1e]")
_MAX_TITLE = 200  # characters; a longer value is text
_TITLE_KEYS = ("title", "name", "heading", "headline", "subject", "summary")
TEXT_KEYS = ("text", "content", "contents", "body", "page_content", "passage")
"""Possible keys of an object's text."""
_MACHINE_VALUE = re.compile(r"_?id (?!\D*\d[^A-Z]*[A-Z]|[^A-Z]*[A-Z]\D*\d)|\S+ (?:https?:|None$|[0-9a-f-]{16,}$)")
"""Key and value of a field not worth searching: URLs, and ids other than readable ones (`T-17`)."""
_PROSE_DIRECTIVE = (
    r"\.\.\s+(?:attention|caution|danger|error|hint|important|note|tip|warning|admonition|topic|sidebar|rubric|epigraph|"
    r"container|compound|class|only|figure|image|contents|toctree|index|glossary|seealso|todo|version\w+|deprecated|tab[\w-]*|"
    r"dropdown|card|grid[\w-]*|(?:\w+:)?(?:function|class|method|attribute|module|data|exception|option|envvar|confval))::"
)
_LITERAL = re.compile(
    rf"^([ \t]*+)(?!{_PROSE_DIRECTIVE})(?:\.\.\s+[\w:.-]+::.*|.*::[ \t]*)\n"
    r"(?P<inside>(?:[ \t]*\n|\1[ \t]+\S.*(?:\n|\Z))+)|^[ \t]*(?:\+[-=+]+\+|=+(?: +=+)+)\n(?:.*\S.*(?:\n|\Z))+",
    re.MULTILINE,
)
"""A directive without prose, or `::`, with the indented lines below it; a table."""
_RST_SKIPPED = re.compile(
    r"^\.\. _.*\n|^\.\.(?: (?!\[|\||[\w:+.-]+::).*|[ \t]*)\n(?:[ \t]+\S.*\n|[ \t]*\n(?=[ \t]+\S))*", re.MULTILINE
)
"""A link target, or a comment with the indented lines below it."""
_OUTLINES = {
    ".adoc": re.compile(r"(?P<mark>={1,6}) (?=\S)|(?P<fence>-{4,}|\.{4,}|`{3,})\s*$|(?P<skipped>:[\w-]+!?:|//|\|===)"),
    ".org": re.compile(
        r"(?P<mark>\*{1,6}) (?=\S)|(?P<fence>\s*#\+(?:begin|end)_\w+)|(?P<title>#\+title:)|(?P<skipped>#\+\w+:|# )",
        re.IGNORECASE,
    ),
}
_RULE = re.compile(r"""([=\-`:.'"~^_*+#<>])\1+$""")
"""An underline, or overline, of a reStructuredText heading."""


def read_table(path: Path, encoding: str, _: CorpusReading) -> Iterator[Section]:
    """Read the tables of a CSV or TSV file, each with a header row and perhaps title rows above it.

    Rows of a TSV file without a header row are records: each is a section with its first value as `id`.
    """
    csv.field_size_limit(_MAX_CELL)
    try:
        every = _read_rows(path, encoding)
    except csv.Error as error:
        raise UnreadableFileError(str(error)) from None
    rows = [row for row in every if any(row)]
    if suffix_of(path) == ".tsv" and not has_header(rows) and min(map(len, rows), default=0) > 1:
        for line, (key, *cells) in enumerate(rows, 1):
            yield Section((), line, None, [Element("text", " ".join(filter(None, cells)), line)], {"id": key})
        return
    yield Section(blocks=list(make_tables(enumerate(every, 1))), in_rows=True)


def _read_rows(path: Path, encoding: str) -> list[list[str]]:
    with open_text(path, encoding) as file:
        lines = list(file)
    sample = "".join(lines[:_SAMPLE])[:_SAMPLE]
    declared = _SEPARATOR.match(sample)
    delimiter = "\t" if suffix_of(path) == ".tsv" else declared[1] if declared else _find_delimiter(sample)
    read = partial(csv.reader, delimiter=delimiter, skipinitialspace=True)
    rows = list(read(lines))
    if '\\"' in sample and len(set(map(len, rows))) > 1:  # perhaps quotation marks are escaped so
        others = list(read(line.replace('\\"', '""') for line in lines))
        rows = others if len(set(map(len, others))) == 1 else rows
    broken = [cell for row in rows for cell in row if "\n" in cell]
    if any(delimiter == "\t" in cell for cell in broken) or (broken and sum(each.count('"') for each in lines) % 2):
        # An unclosed quotation mark has swallowed the lines below it.
        rows = [_read_line(line.rstrip("\n"), delimiter) for line in lines]
    width = max(Counter(map(len, rows)).items(), key=itemgetter(1), default=(0, 0))[0]
    rows = [[", ".join(row).lstrip("# ")] if row and row[0][:1] == "#" and len(row) != width else row for row in rows]
    return [[*map(str.strip, row)] for row in ([[], *rows[1:]] if declared else rows)]


def _read_line(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True), list[str]())
    except csv.Error:
        return line.split(delimiter)


def _find_delimiter(sample: str) -> str:
    """Return the delimiter that splits most rows into the same number of cells; ties go to the one rarer in prose."""

    def regularity(delimiter: str) -> float:
        rows = [row for row in csv.reader(sample.splitlines(), delimiter=delimiter, skipinitialspace=True) if row]
        ((width, times), *_) = Counter(map(len, rows)).most_common(1) or [(1, 0)]
        return times / len(rows) if width > 1 else 0

    return max(_DELIMITERS, key=regularity) if any(map(regularity, _DELIMITERS)) else ","


def read_notebook(path: Path, encoding: str) -> StructuredText:
    """Read a Jupyter notebook as Markdown; code and its text output become code blocks."""
    try:
        with open_text(path, encoding) as file:
            content: Any = json.load(file)
        sheets = [content] if "cells" in content else content["worksheets"]  # before nbformat 4
        parts = [_cell_to_markdown(cell) for sheet in sheets for cell in sheet["cells"]]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise UnreadableFileError(f"it is not a notebook: {error}"[:200]) from None
    return read_markdown("\n\n".join(parts))


def _cell_to_markdown(cell: Any) -> str:
    text = "".join(cell.get("source") or cell.get("input", ""))
    if cell["cell_type"] != "code":
        return f"{'#' * cell.get('level', 1)} {text}" if cell["cell_type"] == "heading" else text
    data: list[dict[str, Any]] = [each.get("data", each) for each in cell.get("outputs", [])]
    printed = ["".join(next((each[key] for key in _OUTPUT_KEYS if each.get(key)), "")) for each in data]
    pages = ["".join(each.get("text/html", "")) for each, shown in zip(data, printed, strict=True) if not shown]
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", "".join([text, *printed]))), 3)
    blocks = [f"{fence}\n{each.rstrip()}\n{fence}" for each in (text, *printed) if each.strip()]
    return "\n\n".join((*blocks, *pages))


def read_cards(path: Path, encoding: str, _: CorpusReading) -> Iterator[Section]:
    """Read vCards or calendar entries: one section each, with its name as heading, without images."""
    with open_text(path, encoding) as file:
        blocks = file.read().split("\nBEGIN:")
    line = 1
    for block in blocks:
        fields = [each.partition(":") for each in _SOFT_BREAK.sub("", _FOLD.sub("", block)).split("\n")]
        kept = [(name, _read_field(name, value)) for name, _, value in fields if value and not _SKIPPED.match(name)]
        title = next((value for name, value in kept if name.partition(";")[0] in ("FN", "SUMMARY")), "")
        text = "\n".join(f"{_ENCODED.sub('', name)}: {value}" for name, value in kept)
        yield Section((title,) if title else (), line, None, [Element("code", text, line)] if text else [])
        line += block.count("\n") + 1


def _read_field(name: str, value: str) -> str:
    if "QUOTED-PRINTABLE" in name.upper():
        value = decodestring(value.encode()).decode(errors="replace")
    return " ".join(_ESCAPE.sub(lambda each: " " if each[1] in "nN" else each[1], value).split())


def read_subtitles(path: Path, encoding: str, _: CorpusReading) -> Iterator[Section]:
    """Read SRT or WebVTT subtitles as one text, since sentences span several cues."""
    with open_text(path, encoding) as file:
        blocks = _EMPTY_LINE.split(file.read())
    spoken = (line for block in blocks for line in block.partition("-->")[2].split("\n")[1:])
    yield Section(blocks=[Element("text", _STYLE_TAG.sub("", " ".join(spoken)), 1)])


def read_json(path: Path, encoding: str, reading: CorpusReading) -> Iterator[Section]:
    """Read JSON or JSON Lines: a section for each record, with its `title` or `name` as heading if it has one.

    The values of TEXT_KEYS are its text. All others become lines of `path: value`, and metadata if there is a text.
    """
    return make_sections(_json_values(path, encoding, reading))


def make_sections(values: Iterable[tuple[int, JsonValue]]) -> Iterator[Section]:
    """Yield the sections of JSON values, given with their line numbers."""
    for line, value in values:
        if rows := _rows_of(value):
            yield Section((), line, None, list(make_table([[*map(_show, row)] for row in rows], line)))
            continue
        fields: Mapping[str, JsonValue] = value if isinstance(value, dict) else {}
        named = {key.lower(): each for key, each in fields.items()}
        titles = (text for key in _TITLE_KEYS if isinstance(text := named.get(key), str))
        title = next((text for text in titles if len(text) <= _MAX_TITLE), "")
        texts = [_read_markup(text) for key in TEXT_KEYS if isinstance(text := named.get(key), str) and text.strip()]
        texts = [text for text in dict.fromkeys(texts) if not any(text in other for other in texts if other != text)]
        if not title and texts:
            title, texts[0] = split_contents(texts[0])
        done = {
            key for key, each in fields.items() if isinstance(each, str) and (key.lower() in TEXT_KEYS or each == title)
        }
        others = {key: each for key, each in fields.items() if key not in done}
        if texts:
            fields = {key: each for key, each in others.items() if not _MACHINE_VALUE.match(f"{key} {each}"[:200])}
        try:
            rest = "\n".join(_flatten(fields if texts else others if fields else value))
        except RecursionError:
            raise UnreadableFileError(f"line {line}: it is nested too deeply") from None
        blocks = [*(Element("text", text, line) for text in texts), *([Element("code", rest, line)] if rest else [])]
        blocks = blocks or [Element("text", title, line)]
        if any(block.text.strip() for block in blocks):
            yield Section((title,) if title else (), line, None, blocks, others if texts else {})


def split_contents(text: str) -> tuple[str, str]:
    """Split FlashRAG's `contents` into title, a first line in quotation marks, and text; other texts have no title."""
    title, _, rest = text.partition("\n")
    quoted = len(title) > 2 and title[0] == title[-1] == '"' and rest.strip()
    return (title[1:-1], rest) if quoted else ("", text)


def _json_values(path: Path, encoding: str, reading: CorpusReading) -> Iterator[tuple[int, JsonValue]]:
    is_one = suffix_of(path) in JSON
    if path.stat().st_size > _MAX_JSON:
        if is_one:
            raise UnreadableFileError(f"one JSON value of more than {_MAX_JSON >> 20} MiB; write it as .jsonl")
        with open_text(path, encoding) as file:
            for number, line in enumerate(file, 1):
                yield from _decode_values(path, line, reading, number)
        return
    with open_text(path, encoding) as file:
        text = file.read()
    try:
        value: JsonValue = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        if not is_one or str(error).startswith("Extra data"):
            yield from _decode_values(path, text, reading)
            return
        try:
            # The second pass removes trailing commas that were before a comment.
            value = _DECODER.decode(_COMMENT.sub(r"\1", _COMMENT.sub(r"\1", text)))
        except (ValueError, RecursionError):
            raise UnreadableFileError(f"not usable JSON: {error}") from None
    is_record = not is_one and "\n" not in text.strip()
    yield from ((1, each) for each in ([value] if is_record else find_records(value)))


def _decode_values(path: Path, text: str, reading: CorpusReading, line: int = 1) -> Iterator[tuple[int, JsonValue]]:
    """Yield consecutive JSON values; after an invalid one, continue on the next line."""
    position = counted = 0
    while found := _NOT_SPACE.search(text, position):
        line, counted = line + text.count("\n", counted, found.start()), found.start()
        try:
            value, position = _DECODER.raw_decode(text, counted)
        except (ValueError, RecursionError) as error:
            reading.skip(path, line, f"not usable JSON: {error}")
            if (position := text.find("\n", counted)) < 0:
                return
        else:
            yield line, value


def find_records(value: Any) -> Iterator[Any]:
    """Yield the items of a list, or those of an object's lists of objects, and then its other fields."""
    if isinstance(value, list):
        yield from [value] if _rows_of(value) else map(_unwrap, cast("list[Any]", value))
        return
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    inner = {key: each for key, each in fields.items() if _has_records(each)}
    for each in inner.values():
        yield from find_records(each)
    rest = {key: each for key, each in fields.items() if key not in inner}
    if rest or not fields:
        yield rest if fields else value


def _has_records(value: Any, depth: int = 2) -> bool:
    if isinstance(value, dict):
        return depth > 0 and any(_has_records(each, depth - 1) for each in cast("dict[str, Any]", value).values())
    return bool(rows := _list_of(value)) and all(isinstance(each, dict) for each in rows)


def _rows_of(value: Any) -> list[list[Any]]:
    """Return the rows of a table, i.e. a list of lists of scalars; empty for other values."""
    rows = [_list_of(row) for row in _list_of(value)]
    is_table = len(rows) > 1 and min(map(len, rows)) > 1
    return rows if is_table and not any(isinstance(cell, dict | list) for row in rows for cell in row) else []


def _list_of(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _unwrap(value: Any) -> Any:
    """Return the only value of an object if that is an object too, e.g. the `node` of a GraphQL edge."""
    inner = [*cast("dict[str, Any]", value).values()] if isinstance(value, dict) else []
    is_wrapped = len(inner) == 1 and isinstance(inner[0], dict) and len(cast("dict[str, Any]", inner[0])) > 1
    return cast("Any", inner[0] if is_wrapped else value)


def _read_markup(text: str) -> str:
    if not (_MARKUP.search(text) and can_convert()):
        return text
    return "\n\n".join(join_text([each]) for each in read_html(text).elements)


def _is_machine_data(value: JsonValue, key: str) -> bool:
    """Return whether a value is machine data: a vector, many coordinates, or encoded bytes."""
    if isinstance(value, list):
        cells = [cell for each in value for cell in (each if isinstance(each, list) else [each])]
        fractions = sum(isinstance(each, _Fraction) for each in cells)
        return len(cells) > 1 and fractions > (len(cells) / 2 if _VECTOR.search(key) else _MAX_FRACTIONS)
    return isinstance(value, str) and len(value) > _MAX_TITLE and _BYTES.fullmatch(value) is not None


def _flatten(value: JsonValue, keys: str = "") -> Iterator[str]:
    if _is_machine_data(value, keys):
        return
    if isinstance(value, dict | list):
        named = value if isinstance(value, dict) else dict(zip(map(str, range(1, len(value) + 1)), value, strict=True))
        for key, each in named.items():
            yield from _flatten(each, f"{keys} {key}".strip())
    elif value not in (None, ""):
        yield f"{keys}: {_show(value)}" if keys else _show(value)


def _show(value: JsonValue) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    return " ".join(_read_markup(str(value)).split())


def to_markdown(suffix: str, text: str) -> str:
    """Convert the headings and code blocks of reStructuredText, AsciiDoc or Org to Markdown."""
    if suffix == ".rst":
        return _rst_to_markdown(text)
    return _outline_to_markdown(_OUTLINES[suffix], text) if suffix in _OUTLINES else text


def _rst_to_markdown(text: str) -> str:
    """Convert headings (levels by first use) and literal blocks of reStructuredText to Markdown."""
    text = _RST_SKIPPED.sub(lambda each: "\n" * each[0].count("\n"), text)
    lines, levels = _LITERAL.sub(_fence, text).split("\n"), list[tuple[str, bool]]()
    for number in range(1, len(lines)):
        title, rule = lines[number - 1].strip(), lines[number].rstrip()
        if not (_RULE.fullmatch(rule) and title and not _RULE.fullmatch(title) and len(rule) >= len(title)):
            continue
        above = number > 1 and lines[number - 2].rstrip() == rule
        if (style := (rule[0], above)) not in levels:
            levels.append(style)
        lines[number - 1], lines[number] = f"{'#' * min(levels.index(style) + 1, 6)} {title}", ""
        if above:
            lines[number - 2] = ""
    return "\n".join(lines)


def _fence(literal: re.Match[str]) -> str:
    inside = (literal["inside"] or literal[0]).strip("\n")
    if not inside or min(len(line) - len(line.lstrip()) for line in inside.split("\n") if line.strip()) >= 4:
        return literal[0]  # indented code in Markdown, too
    above = literal[0][: -len(literal["inside"])] if literal["inside"] else ""
    return f"{above}\n```\n{inside}\n```\n\n"


def _outline_to_markdown(marks: re.Pattern[str], text: str) -> str:
    lines, fence = list[str](), ""
    for line in text.split("\n"):
        found = marks.match(line)
        if found and found["fence"]:
            fence = "" if fence else found["fence"]
            lines.append("```")
        elif fence or not found:
            lines.append(line)
        elif not found["skipped"]:
            level = len(found["mark"] or "") + ("title" in marks.groupindex)  # Org's title is above its headings
            lines.append(f"{'#' * level} {line[found.end() :].strip()}")
    return "\n".join(lines)


READERS: dict[str, Callable[[Path, str, CorpusReading], Iterator[Section]]] = {
    **dict.fromkeys((".csv", ".tsv"), read_table),
    **dict.fromkeys((*JSON, ".jsonl", ".ndjson"), read_json),
    **dict.fromkeys((".ics", ".vcf"), read_cards),
    **dict.fromkeys((".srt", ".vtt"), read_subtitles),
}
"""Suffix → reader of a file without a title, given its encoding."""
