"""Read a document or a folder of documents, and split them section by section into passages."""

import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice, pairwise
from pathlib import Path

from pydantic import JsonValue

from hopgraph.state import CorpusError
from hopgraph.tools.documents.conversion import CONVERTED, DocumentConverter, can_convert, suffix_of
from hopgraph.tools.documents.elements import Document, Element, UnreadableFileError, make_table
from hopgraph.tools.documents.encodings import DAMAGED_UTF_8, UTF_8, detect_encoding, open_binary, open_text
from hopgraph.tools.retrieval.corpora.chunking import ChunkOptions, split_blocks
from hopgraph.tools.retrieval.corpora.markdown_sections import Section, StructuredText, read_markdown
from hopgraph.tools.retrieval.corpora.plain_formats import (
    READERS,
    find_records,
    make_sections,
    read_notebook,
    to_markdown,
)
from hopgraph.tools.retrieval.corpora.source_records import CorpusReading, SourceRecord
from hopgraph.tools.retrieval.corpora.xml_files import XML, read_xml_file
from hopgraph.tools.retrieval.index_folder import INDEX_MANIFEST, is_index
from hopgraph.tools.retrieval.passage_metadata import HREFS, LANGUAGE, plain_metadata
from hopgraph.tools.text.languages import detect_language
from hopgraph.tools.text.sanitize import pluralize, strip_controls
from hopgraph.tools.text.sentences import LINE_UNIT

_MARKUP = frozenset({".md", ".markdown", ".rst", ".adoc", ".org"})
PLAIN = _MARKUP | {".txt", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".ipynb"}
"""Suffixes of files that can be read without the extra `documents`."""
SUFFIXES = PLAIN | CONVERTED
_MAX_MARKUP = 1 << 26
"""Maximum bytes of a Markdown file that is parsed; longer ones are read as plain text."""
_MAX_LINES = 10_000
_MAX_BLOCK = 1 << 16
"""Maximum characters of a paragraph; longer ones are split, so that files may have any size."""
_HEADING = re.compile(r"#{1,6}\s")
_COLUMN_GAP = re.compile(r" {3,}|\t+|(?<![.!?:\s]) {2}(?=\S)")
_FRAMED = re.compile(r"\s*(?:\||\+[-=+]+\+\s*$)")
"""A row or border of a text table."""
_NAMED_VALUE = re.compile(r"\s*[^\s:][^:\n]{0,40}:(?:\s|$)")
_CLOSING_MARKS = re.compile(r"(?:^|\s)#+$")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_NEVER_READ = ("node_modules/", "__pycache__/", ".venv/", "venv/", "~$*", "*~", "desktop.ini", "*.env", "*.pem")
_IGNORE_FILE = ".hopgraphignore"
_LANGUAGE_PASSAGES = 20  # from which the language of a document is detected
_MAX_TITLE = 200  # characters; each passage repeats the title
_INSTALL = "pip install 'hopgraph[documents]'"


def can_read(path: Path) -> bool:
    """Return whether a file can be read, judging by its suffix or, if that is unknown, by its first bytes."""
    suffix = suffix_of(path)
    return suffix in PLAIN | XML or (can_convert() if suffix in CONVERTED else _is_text(path))


def _is_text(path: Path) -> bool:
    try:
        with open_binary(path) as file:
            start = file.read(4096)
    except OSError:
        return True  # reading it reports the error
    controls = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in start)
    return bool(start.strip()) and not controls and start.decode("utf-8", "replace").count("\ufffd") <= len(start) / 20


def readable_suffixes() -> tuple[str, ...]:
    """Return the suffixes of documents that can be read with the installed packages, sorted."""
    return tuple(sorted(SUFFIXES if can_convert() else PLAIN))


def count_unread(files: Iterable[Path]) -> Counter[str]:
    """Count by suffix the files that cannot be read."""
    return Counter(path.suffix.lower() or "no suffix" for path in files if not can_read(path))


def describe_unread(kinds: Counter[str]) -> str:
    """Return a message such as `5 files not read: .pdf ×3 (pip install …), .png ×2`; empty if there are none."""
    named = (f"{kind} ×{count:,}{f' ({_INSTALL})' * (kind in CONVERTED)}" for kind, count in kinds.most_common())
    return f"{pluralize(kinds.total(), 'file')} not read: {', '.join(named)}" if kinds else ""


def list_files(
    source: Path, on_error: Callable[[OSError], None], *, follow_links: bool = True, exclude: Iterable[str] = ()
) -> list[Path]:
    """List the files of a folder and its subfolders, sorted; errors are passed to `on_error`.

    Skipped are hidden files and folders, indexes (perhaps the one being built), and whatever matches `exclude` or the
    source's `.hopgraphignore` (patterns as in `.gitignore`). Symbolic links, which may point to any file of the
    machine, are skipped and reported to `on_error` unless `follow_links` is set.
    """
    found, seen = list[Path](), set[tuple[int, int]]()
    is_excluded = _excluder(source, exclude)
    for folder, subfolders, names in os.walk(source, onerror=on_error, followlinks=follow_links):
        if INDEX_MANIFEST in names and Path(folder) != source and is_index(Path(folder)):
            subfolders.clear()
            continue
        try:
            here = os.stat(folder)
        except OSError as error:  # just deleted
            on_error(error)
            continue
        new = (here.st_dev, here.st_ino) not in seen  # not a link cycle
        seen.add((here.st_dev, here.st_ino))
        inside = [Path(folder, name) for name in (*names, *subfolders) if new and not name.startswith(".")]
        kept = {path.name: path for path in inside if not is_excluded(path)}
        for path in [] if follow_links else [each for each in kept.values() if each.is_symlink()]:
            if path.exists():
                del kept[path.name]
                on_error(link_error(path))
        subfolders[:] = sorted(name for name in subfolders if name in kept)
        found += (kept[name] for name in names if name in kept)
    return sorted(found)


def _excluder(source: Path, patterns: Iterable[str]) -> Callable[[Path], bool]:
    from pathspec import GitIgnoreSpec, PathSpec

    lines, ignored = [*_NEVER_READ, *patterns], source / _IGNORE_FILE
    with suppress(OSError, UnreadableFileError), open_text(ignored, detect_encoding(ignored)) as file:
        lines += file.read().splitlines()
    try:
        files = GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise CorpusError(f"{source}: {error}") from None  # the message has the pattern
    folders = PathSpec(files.patterns)  # the last match decides, so that `*`, `!*/` keeps folders
    return lambda path: (folders if path.is_dir() else files).match_file(
        f"{path.relative_to(source).as_posix()}{'/' * path.is_dir()}"
    )


def link_error(path: Path) -> OSError:
    """Return the error for a link that is not followed."""
    return OSError(errno.ELOOP, "this is a link; follow it with --follow-links, or remove it", str(path))


def relative_name(source: Path, file: Path) -> str:
    """Return a file's path within the source, or its name if it is the source; bytes that are not UTF-8 are escaped."""
    name = file.name if file == source else file.relative_to(source).as_posix()
    return os.fsencode(name).decode(errors="backslashreplace")


def _split(name: str, path: Path, document: StructuredText, chunking: ChunkOptions) -> Iterator[SourceRecord]:
    """Yield the passages, with the detected language as metadata unless it is English or uncertain."""
    passages = _passages(name, path, document, chunking)
    first = list(islice(passages, _LANGUAGE_PASSAGES))
    language = detect_language("\n".join(each.text for each in first)) if first else ""
    for each in chain(first, passages):
        yield each._replace(metadata={**each.metadata, LANGUAGE: language}) if language else each


def _passages(name: str, path: Path, document: StructuredText, chunking: ChunkOptions) -> Iterator[SourceRecord]:
    """Yield the passages; none spans sections or pages. An empty section becomes a passage of its heading."""
    number, title = 0, document.title[:_MAX_TITLE] or path.stem
    for section in document.sections:
        location = {"section": " > ".join(section.headings), "page": section.page}
        known = {key: value for key, value in location.items() if value}
        metadata = plain_metadata({**document.metadata, **section.metadata, "source": name, **known})
        headings = section.headings if section.headings[:1] == (title,) else (title, *section.headings)
        full = " > ".join(headings)
        if len(full) > _MAX_TITLE:
            full = f"{headings[0][: _MAX_TITLE // 2]} > {headings[-1]}"[:_MAX_TITLE]
        shown = section.headings[-1:] if section.is_headed or not section.blocks else ()
        texts = (each.removeprefix(section.mark).strip() for each in shown)
        heading = (Element("heading", text, section.line, links=section.links) for text in texts)
        for passage in split_blocks(chain(heading, section.blocks), chunking):
            number += 1
            if section.in_rows:
                rows = f"row {passage.line}" if passage.last == passage.line else f"rows {passage.line}-{passage.last}"
                metadata = {**metadata, "section": ", ".join([*section.headings, rows])}
            linked: dict[str, JsonValue] = {HREFS: [*passage.links]} if passage.links else {}
            known = {**metadata, **linked}
            yield SourceRecord(f"{name}#{number}", _storable(full), _storable(passage.text), path, passage.line, known)


def _storable(text: str) -> str:
    """Remove escape sequences and control characters, and replace lone surrogates, which no index can store."""
    return strip_controls(text).encode(errors="replace").decode()


def read_text_files(
    source: Path, files: Iterable[Path], chunking: ChunkOptions, reading: CorpusReading
) -> Iterator[SourceRecord]:
    """Split documents (`source`, or files in it) into passages with ids `path#number`.

    A passage's title is that of the document (else its first heading or file name) with the headings of its section,
    e.g. `Employee handbook > Vacation`, up to 200 characters. Metadata are `source`, `section`, `page`, and those of
    the document. Unreadable files of a folder are skipped and reported; CorpusError if the source itself is unreadable.
    """
    files = list(files)
    following = dict(pairwise(each for each in files if suffix_of(each) in CONVERTED))
    with DocumentConverter(ocr=chunking.ocr) as converter:
        for path in files:
            try:
                document = _open_document(path, reading, converter, following.get(path))
                yield from _split(relative_name(source, path), path, document, chunking)
                reading.bytes_read += path.stat().st_size
            except (UnreadableFileError, OSError) as error:
                reason = f"it cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)
                if path == source:
                    raise CorpusError(f"{path}: {reason}") from None
                reading.skip(path, None, reason)


def _open_document(
    path: Path, reading: CorpusReading, converter: DocumentConverter, next_path: Path | None
) -> StructuredText:
    suffix = suffix_of(path)
    if suffix in CONVERTED:
        document = converter.convert(path, next_path)
        reading.notes += [f"{path}: {note}" for note in document.notes]
        return StructuredText(document.title, {}, list(_sections(document, flat=suffix in {".pdf", ".rtf"})))
    if suffix in XML and (content := read_xml_file(path)):
        if isinstance(content, Document):
            return StructuredText(content.title, {}, list(_sections(content, flat=False)))
        return StructuredText("", {}, make_sections((1, each) for each in find_records(content)))
    encoding = detect_encoding(path)
    if encoding != UTF_8:
        how = "UTF-8 with damaged bytes" if encoding == DAMAGED_UTF_8 else f"not UTF-8, read as {encoding}"
        reading.notes.append(f"{path}: {how}")
    if read := READERS.get(suffix):
        return StructuredText("", {}, read(path, encoding, reading))
    if suffix == ".ipynb":
        return read_notebook(path, encoding)
    if suffix in _MARKUP and path.stat().st_size <= _MAX_MARKUP:
        with open_text(path, encoding) as file:
            return read_markdown(to_markdown(suffix, file.read()))
    if suffix not in PLAIN:
        return StructuredText(path.name, {}, [Section(blocks=_lines(path, encoding))])
    return StructuredText(_title(path, encoding), {}, [Section(blocks=_blocks(path, encoding))])


def _sections(document: Document, *, flat: bool) -> Iterator[Section]:
    """Yield a section for each heading, page and sheet; not for the headings of a `flat` document."""
    path, section, blocks = list[tuple[int, str]](), Section(), list[Element]()
    for element in document.elements:
        kind, text, number, _, links, mark = element
        if kind in ("page", "sheet") or (kind == "heading" and not flat):
            if blocks or (path and kind == "heading" and number <= path[-1][0]):
                yield section._replace(blocks=blocks)
            blocks = []
            path = [each for each in path if each[0] < number] if kind == "heading" else []
            path += [(number if kind == "heading" else 0, f"{mark} {text}".strip())] if text else []
            page = number if kind == "page" else section.page
            in_rows = kind == "sheet" or (section.in_rows and kind == "heading")
            headings = tuple(each for _, each in path)
            section = Section(headings, 1, page, in_rows=in_rows, is_headed=kind == "heading", links=links, mark=mark)
        else:
            blocks.append(element._replace(number=max(number, 1)))
    if blocks or path:
        yield section._replace(blocks=blocks)


def _title(path: Path, encoding: str) -> str:
    with open_text(path, encoding) as file:
        lines = (line.lstrip("#").strip() for line in file if _HEADING.match(line))
        headings = (_CLOSING_MARKS.sub("", line).strip() for line in lines)
        return next(filter(None, headings), "")


def _lines(path: Path, encoding: str) -> Iterator[Element]:
    """Yield the lines of source code, a log or a configuration file as code blocks."""
    language = suffix_of(path).removeprefix(".")
    with open_text(path, encoding) as file:
        number = 1
        while text := "".join(islice(file, _MAX_LINES)):
            shown = text.replace('"\n"', "") if language == "po" else text
            if language == "properties":
                shown = _ESCAPED.sub(lambda each: chr(int(each[1], 16)), text)
            yield Element("code", shown, number, mark=language)
            number += text.count("\n")


def _blocks(path: Path, encoding: str) -> Iterator[Element]:
    """Yield the paragraphs of a file, which are separated by blank lines and headings."""
    lines: list[str] = []
    start, length = 1, 0
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, 1):
            is_break = not line.strip() or _HEADING.match(line) is not None
            if lines and (is_break or length > _MAX_BLOCK):
                yield from _paragraph(start, lines)
                lines, length = [], 0
            if not is_break:
                start = start if lines else number
                lines.append(line)
                length += len(line)
    if lines:
        yield from _paragraph(start, lines)


def _paragraph(start: int, lines: list[str]) -> Iterator[Element]:
    """Yield a paragraph as a table if its lines have columns, code if all are `name: value`, a list, or text."""
    if all(_FRAMED.match(line) for line in lines):
        rows = [[*map(str.strip, line.strip().strip("|").split("|"))] for line in lines if line.lstrip()[0] == "|"]
    else:
        rows = [_COLUMN_GAP.split(line.strip()) for line in lines]
    text = "".join(lines)
    if len(rows) > 1 and len(rows[0]) > 1 and len(set(map(len, rows))) == 1:
        yield from make_table(rows, start)
    elif len(lines) > 1 and all(map(_NAMED_VALUE.match, lines)):
        yield Element("code", text, start)
    else:
        yield Element("item" if LINE_UNIT.match(f"\n{text}") else "text", text, start)
