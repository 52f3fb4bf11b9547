"""Text files other than Markdown as sections: tables of values, JSON, reStructuredText."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from hopgraph.tools.documents.elements import UnreadableFileError, has_names, make_table, split_titles
from hopgraph.tools.documents.encodings import open_text
from hopgraph.tools.retrieval.corpora.chunking import Block
from hopgraph.tools.retrieval.corpora.markdown_sections import Section, StructuredText, read_markdown
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading

_LONGEST_JSON = 1 << 26  # bytes of a file with one JSON value, which is read whole
_TITLE_KEYS = ("title", "name", "heading", "headline", "subject", "summary")
TEXT_KEYS = ("text", "content", "contents", "body", "page_content", "passage")
"""The keys under which an object may have its text."""
_MACHINE_VALUE = re.compile(r"_?id (?!\D*\d[^A-Z]*[A-Z]|[^A-Z]*[A-Z]\D*\d)|\S+ (?:https?:|None$|[0-9a-f-]{16,}$)")
"""The key and the value of what no one searches for: ids but those that people write (`T-17`), addresses."""
_CODE_DIRECTIVE = re.compile(r"\s*\.\. (?:code-block|code|sourcecode|literalinclude|parsed-literal)::")
_RULE = re.compile(r"""([=\-`:.'"~^_*+#<>])\1+$""")
"""The line below, and perhaps above, a heading of reStructuredText."""


def read_table(path: Path, encoding: str) -> Iterator[Section]:
    """Read CSV or tab-separated values: titles, then a table whose first row has the column names.

    A row that is longer than the names has its further cells, too. Tab-separated values without names are records, each
    a section with its first value as `id`.
    """
    with open_text(path, encoding) as file:
        sample = file.read(8192)
        file.seek(0)
        is_tsv = path.suffix.lower() == ".tsv"
        try:
            dialect = csv.excel_tab if is_tsv else csv.Sniffer().sniff(sample, delimiters=",;\t|")
        except csv.Error:
            dialect = csv.excel
        rows = csv.reader(file, dialect)
        try:
            taken = [[cell.strip() for cell in row] for row in rows]
        except csv.Error as error:
            raise UnreadableFileError(f"line {rows.line_num}: {error}") from None
    titles = split_titles(taken)
    if is_tsv and not has_names(taken[titles:]) and all(len(row) > 1 for row in taken if any(row)):
        for line, (key, *cells) in enumerate((row for row in taken if any(row)), 1):
            yield Section((), line, None, [Block(line, " ".join(filter(None, cells)))], {"id": key})
        return
    blocks = [Block(line, text) for line, row in enumerate(taken[:titles], 1) if (text := " ".join(filter(None, row)))]
    blocks += [
        Block(each.number, each.text, "table" if each.rows else "prose", each.rows)
        for each in make_table(taken[titles:], titles + 1)
    ]
    yield Section(blocks=blocks, in_rows=True)


def read_notebook(path: Path, encoding: str) -> StructuredText:
    """Read the cells of a Jupyter notebook: Markdown with its headings, code and the text that it printed as lines."""
    try:
        with open_text(path, encoding) as file:
            cells: list[Any] = json.load(file)["cells"]
        parts = [_write_cell(cell) for cell in cells]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise UnreadableFileError(f"it is not a notebook: {error}"[:200]) from None
    return read_markdown("\n\n".join(parts))


def _write_cell(cell: Any) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return text
    printed = [
        "".join(each.get("text") or each.get("data", {}).get("text/plain", "")) for each in cell.get("outputs", [])
    ]
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", "".join([text, *printed]))), 3)
    return "\n\n".join(f"{fence}\n{each.rstrip()}\n{fence}" for each in (text, *printed) if each.strip())


def read_json(path: Path, encoding: str, reading: CorpusReading) -> Iterator[Section]:
    """Read JSON, or JSON lines: a section for each object of its lists, under its `title` or `name` if it has one.

    Its texts are those under TEXT_KEYS; what else it has is metadata, and a line for each value, with its path, too.
    """
    for line, value in _json_values(path, encoding, reading):
        fields: Mapping[str, JsonValue] = value if isinstance(value, dict) else {}
        title = next((str(fields[key]) for key in _TITLE_KEYS if isinstance(fields.get(key), str)), "")
        texts = [text for key in TEXT_KEYS if isinstance(text := fields.get(key), str) and text.strip()]
        texts = [text for text in dict.fromkeys(texts) if not any(text in other for other in texts if other != text)]
        if not title and texts:
            title, texts[0] = split_contents(texts[0])
        others = {key: each for key, each in fields.items() if key not in TEXT_KEYS and str(each) != title}
        if texts:
            fields = {key: each for key, each in others.items() if not _MACHINE_VALUE.match(f"{key} {each}"[:200])}
        try:
            rest = "\n".join(_flatten(fields if texts else others if fields else value))
        except RecursionError:
            raise UnreadableFileError(f"line {line}: it is nested too deeply") from None
        blocks = [*(Block(line, text) for text in texts), *([Block(line, rest, "lines")] if rest else [])]
        if any(block.text.strip() for block in blocks):
            yield Section((title,) if title else (), line, None, blocks, others if texts else {})


def split_contents(text: str) -> tuple[str, str]:
    """Split off a first line in quotation marks, a title in FlashRAG's form; it is empty for other texts."""
    title, _, rest = text.partition("\n")
    quoted = len(title) > 2 and title[0] == title[-1] == '"' and rest.strip()
    return (title[1:-1], rest) if quoted else ("", text)


def _json_values(path: Path, encoding: str, reading: CorpusReading) -> Iterator[tuple[int, JsonValue]]:
    if path.suffix.lower() != ".json":
        yield from _json_lines(path, encoding, reading)
        return
    if path.stat().st_size > _LONGEST_JSON:
        raise UnreadableFileError(f"one JSON value of more than {_LONGEST_JSON >> 20} MiB; write it as .jsonl")
    with open_text(path, encoding) as file:
        try:
            value: JsonValue = json.load(file, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            if not str(error).startswith("Extra data"):
                raise UnreadableFileError(f"not usable JSON: {error}") from None
            value = None
    if value is None:  # one value a line
        yield from _json_lines(path, encoding, reading)
    else:
        yield from ((1, each) for each in _find_records(value))


def _json_lines(path: Path, encoding: str, reading: CorpusReading) -> Iterator[tuple[int, JsonValue]]:
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, 1):
            try:
                if line.strip():
                    yield number, json.loads(line, parse_float=Decimal)
            except (ValueError, RecursionError) as error:
                reading.skip(path, number, f"not usable JSON: {error}")


def _find_records(value: JsonValue, depth: int = 2) -> Iterator[JsonValue]:
    """Yield the objects of a list, or of the lists of objects within an object, and then what else that has."""
    if isinstance(value, list):
        yield from value
        return
    fields = value if isinstance(value, dict) else {}
    lists = {key: each for key, each in fields.items() if isinstance(each, list) and _has_objects(each)}
    inner = {key: each for key, each in fields.items() if depth and isinstance(each, dict) and _has_list(each)}
    for each in lists.values():
        yield from each
    for each in inner.values():
        yield from _find_records(each, depth - 1)
    rest: JsonValue = {key: each for key, each in fields.items() if key not in lists and key not in inner}
    if rest or not fields:
        yield rest if fields else value


def _has_objects(values: list[JsonValue]) -> bool:
    return bool(values) and all(isinstance(each, dict) for each in values)


def _has_list(fields: Mapping[str, JsonValue]) -> bool:
    return any(isinstance(each, list) and _has_objects(each) for each in fields.values())


def _flatten(value: JsonValue, keys: str = "") -> Iterator[str]:
    if isinstance(value, dict | list):
        named = value if isinstance(value, dict) else dict(zip(map(str, range(1, len(value) + 1)), value, strict=True))
        for key, each in named.items():
            yield from _flatten(each, f"{keys} {key}".strip())
    elif value not in (None, ""):
        text = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
        yield f"{keys}: {text}" if keys else text


def rst_to_markdown(text: str) -> str:
    """Write the headings of reStructuredText as Markdown's, by their order, and its literal blocks as fenced code."""
    lines, levels = _fence_literals(text.split("\n")), list[tuple[str, bool]]()
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


def _fence_literals(lines: list[str]) -> list[str]:
    """Put a fence around each block that is indented below `::` or a directive for code, in place of empty lines."""
    fenced, number = list(lines), 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if not (line.rstrip().endswith("::") or _CODE_DIRECTIVE.match(line)):
            continue
        outer = len(line) - len(line.lstrip())
        start = number
        while number < len(lines) and (
            not lines[number].strip() or len(lines[number]) - len(lines[number].lstrip()) > outer
        ):
            number += 1
        inside = [at for at in range(start, number) if lines[at].strip()]
        # What is indented further is code in Markdown, too.
        depth = min((len(lines[at]) - len(lines[at].lstrip()) for at in inside), default=4)
        if depth < 4 and (not line.lstrip().startswith(".. ") or _CODE_DIRECTIVE.match(line)):
            fenced[inside[0]] = f"```\n{lines[inside[0]]}"
            fenced[inside[-1]] += "\n```"
    return fenced
