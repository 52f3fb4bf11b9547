"""Read spreadsheets (XLSX, XLS), with values formatted as Excel displays them."""

import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from importlib import import_module
from importlib.resources import files
from io import BytesIO
from itertools import islice
from locale import windows_locale
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZipFile

import yaml

from hopgraph.tools.documents.elements import (
    Document,
    Element,
    UnreadableFileError,
    make_note,
    make_tables,
    read_entry,
    read_paragraphs,
    read_related,
    read_xml,
    tidy,
)
from hopgraph.tools.io.optional_packages import require
from hopgraph.tools.text.sanitize import pluralize

_DIGITS = frozenset("0#?.,")
_MAX_MERGED = 1000
_NO_VALUE = re.compile(
    rb"(?:</(?:\w+:)?f>|<(?:\w+:)?f(?:\s[^>]*)?/>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s+ref=\"([A-Z0-9:]{3,30})\"")
_TOKEN = re.compile(
    r"\"[^\"]*\"|\\.|_.|\*.|\[[^\][]*\]|AM/PM|A/P|a{3,4}|y+|m+|d+|h+|s+(?:\.0+)?|.", re.IGNORECASE | re.DOTALL
)
_SECTION = re.compile(r'(?:\\.|[^;"]|"[^"]*"?)+|(?<=;)(?=;|$)|^(?=;|$)')
_tokens: Callable[[str], list[str]] = lru_cache(maxsize=1024)(_TOKEN.findall)
_VISUAL_STYLES = re.compile(rb"<((?:\w+:)?(?:fonts|fills|borders|cellStyleXfs|cellStyles|dxfs))\b.*?</\1>", re.DOTALL)
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(spreadsheetml|officeDocument)/")
"""Namespaces of ISO Strict Open XML."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_CONDITION = re.compile(r"\[(<=|>=|<>|[<>=])(-?[\d.]+)\]")
_FRACTION = re.compile(r"(?<![#0?])(?:([#0?]++) ++)?[#0?]++/([#0?]+|\d+)")
_SCIENTIFIC = re.compile(r"(?<![#0?])([#0?]++)\.?([#0?]*+)E([+-])([#0?]+)", re.IGNORECASE)
_LANGUAGE = re.compile(r"\[\$[^\[\]-]*+-([\w-]++)")
"""The locale of a date format: `[$-407]`, `[$-de-DE]`."""
_ELAPSED = re.compile(r"\[?([hms])+(\.0+)?\]?", re.IGNORECASE)
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_LOCALE_DATES = frozenset({"mm-dd-yy", "m/d/yy", "m/d/yyyy"})
"""Formats that Excel displays in the user's local order; here year, month, day."""
_CODES = dict[str, str](
    re.findall(
        r"(\w+) (%\w)",
        "y %y yyy %Y yyyy %Y m %m mmm %b mmmm %B mmmmm %b d %d ddd %a dddd %A aaa %a aaaa %A h %H i %I n %M s %S a %p",
    )
)
"""Date format code → `strftime` directive; `i` stands for 12-hour hours, `n` for minutes."""


def read_xlsx(file: BinaryIO) -> Document:
    """Read the visible sheets.

    Formulas are read as their cached values; a note counts those without one.
    """
    from openpyxl import load_workbook

    document = Document()
    parts, without = _read_parts(file)
    try:
        book: Any = load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except (TypeError, ValueError, KeyError):  # styles or part names that only Excel accepts
        book = None
    if not (book and book.worksheets):
        book = load_workbook(_simplify(file), read_only=True, data_only=True, keep_links=False)
    sheets = [*book.worksheets, *book.chartsheets]
    for sheet in (each for each in sheets if each.sheet_state == "visible"):
        other, rows = parts.get(sheet.title, _SheetParts()), list[Any]()
        if sheet in book.worksheets:  # not a chart sheet
            sheet.reset_dimensions()  # some programs write wrong ones
            rows = sheet.iter_rows()
        document.elements += _read_sheet(sheet.title, rows, other)
    if without:
        formulas = pluralize(without, "formula")
        document.notes.append(f"{formulas} without a value; open and save the file in a spreadsheet program")
    document.notes += note_hidden(sum(each.sheet_state != "visible" for each in sheets))
    return document


def read_xls(file: BinaryIO) -> Document:
    """Read an Excel 97-2003 workbook like `read_xlsx`."""
    library, document = require("xlrd", "documents"), Document()
    try:
        book: Any = library.open_workbook(file_contents=file.read(), formatting_info=True)
    except (library.XLRDError, library.compdoc.CompDocError, AssertionError, struct.error) as error:
        raise UnreadableFileError(f"it is damaged, encrypted or of an older kind: {error}"[:200]) from None
    for sheet in (each for each in book.sheets() if not each.visibility):
        ranges = ((left + 1, top + 1, right, end) for top, end, left, right in sheet.merged_cells)
        other = _SheetParts(_map_merged(ranges))
        for (row, column), note in sheet.cell_note_map.items():
            other.notes.setdefault(row + 1, []).append((column + 1, note.text))
        rows = ([_xls_cell(book, cell, library.error_text_from_code) for cell in cells] for cells in sheet.get_rows())
        document.elements += _read_sheet(sheet.name, rows, other)
    document.notes += note_hidden(sum(each.visibility != 0 for each in book.sheets()))
    return document


class _Cell(NamedTuple):
    value: object
    number_format: str


def _xls_cell(book: Any, cell: Any, errors: Mapping[int, str]) -> _Cell:
    from openpyxl.styles.numbers import is_timedelta_format

    dates: Any = import_module("openpyxl.utils.datetime")
    value: Any = cell.value
    form = str(book.format_map[book.xf_list[cell.xf_index].format_key].format_str)
    if cell.ctype == 3:  # a date
        with suppress(ValueError, OverflowError):
            epoch = dates.MAC_EPOCH if book.datemode else dates.WINDOWS_EPOCH
            value = dates.from_excel(value, epoch, timedelta=is_timedelta_format(form))
    elif cell.ctype in (4, 5):
        value = bool(value) if cell.ctype == 4 else errors.get(value, "")
    return _Cell(value if cell.ctype not in (0, 6) else None, form)


def note_hidden(sheets: int) -> list[str]:
    """Return the note on hidden sheets, if there are any."""
    return [f"{pluralize(sheets, 'hidden sheet')} not read"] if sheets else []


def _read_sheet(name: str, rows: Iterable[Sequence[Any]], other: "_SheetParts") -> list[Element]:
    """Return the name of a sheet, its tables, notes and drawings; nothing for an empty sheet."""
    notes = list[Element]()
    merged_rows = {row for (row, column), (_, left) in other.merged.items() if column > left}
    elements = [*make_tables(_rows(rows, other, notes), merged_rows), *notes, *other.drawings]
    return [Element("sheet", tidy(name)), *elements] if elements else []


def _simplify(file: BinaryIO) -> BinaryIO:
    """Return a workbook with transitional namespaces, standard part names, and no styles but number formats."""
    simple = BytesIO()
    with ZipFile(file) as source, ZipFile(simple, "w") as target:
        for name in source.namelist():
            content = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", source.read(name))
            name = name.replace("\\", "/").replace("xl/SharedStrings", "xl/sharedStrings")
            target.writestr(name, _VISUAL_STYLES.sub(b"", content) if name == "xl/styles.xml" else content)
    return simple


_Merged = dict[tuple[int, int], tuple[int, int]]
"""(row, column) of a merged cell → that of the cell with its value, above or left; from 1."""
_Notes = dict[int, list[tuple[int, str]]]


@dataclass
class _SheetParts:
    """What a sheet has in addition to cell values."""

    merged: _Merged = field(default_factory=_Merged)
    notes: _Notes = field(default_factory=_Notes)
    """Row → (column, text) of its notes; from 1."""
    drawings: list[Element] = field(default_factory=list[Element])
    """Text boxes and chart titles."""


def _read_parts(file: BinaryIO) -> tuple[dict[str, _SheetParts], int]:
    """Return the other parts of each sheet by its name, and how many formulas have no cached value."""
    from openpyxl.utils import range_boundaries

    found, without = dict[str, _SheetParts](), 0
    with ZipFile(file) as archive:
        paths = {key: path for key, _, path in read_related(archive, "xl/workbook.xml")}
        for each in read_xml(archive, "xl/workbook.xml").iter("{*}sheet"):
            path = paths.get(next((value for name, value in each.items() if name.endswith("}id")), ""), "")
            sheet = read_entry(archive, path)
            without += sum(1 for _ in _NO_VALUE.finditer(sheet))
            ranges = (range_boundaries(cells.decode()) for cells in _MERGED.findall(sheet))
            merged, related = _map_merged(ranges), list(read_related(archive, path))
            drawings = [text for _, kind, part in related if kind == "drawing" for text in _read_drawing(archive, part)]
            found[each.get("name", "")] = _SheetParts(merged, _read_notes(archive, related), drawings)
    return found, without


def _read_drawing(archive: ZipFile, part: str) -> Iterator[Element]:
    yield from read_paragraphs(read_xml(archive, part))
    for _, kind, chart in read_related(archive, part):
        for title in read_xml(archive, chart).iter("{*}title") if kind.startswith("chart") else ():
            yield from read_paragraphs(title)


def _read_notes(archive: ZipFile, related: list[tuple[str, str, str]]) -> _Notes:
    """Read the notes and comment threads; a thread replaces the note that older programs show for it."""
    from openpyxl.utils.cell import coordinate_to_tuple

    texts, notes = dict[str, str](), _Notes()
    for kind, runs, between in (("comments", "{*}t", ""), ("threadedComment", "{*}text", " ")):
        runs_of = defaultdict[str, list[str]](list)
        for part in (part for _, each, part in related if each == kind):
            for note in read_xml(archive, part).iter("{*}comment", "{*}threadedComment"):
                runs_of[note.get("ref")] += (run.text or "" for run in note.iter(runs))
        texts |= {cell: between.join(parts) for cell, parts in runs_of.items()}
    for cell, text in texts.items():
        row, column = coordinate_to_tuple(cell)
        notes.setdefault(row, []).append((column, text))
    return notes


def _map_merged(ranges: Iterable[Sequence[int | None]]) -> _Merged:
    found: _Merged = {}
    for each in islice(ranges, _MAX_MERGED):
        left, top, right, bottom = (value or 0 for value in each)
        for row in range(top, min(bottom, top + _MAX_MERGED) + 1):
            found |= {(row, column): (top, left) for column in (left, left + 1)[row == top : 1 + (right > left)]}
    return found


def _rows(rows: Iterable[Sequence[Any]], other: _SheetParts, notes: list[Element]) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbered rows; append the notes on their cells to `notes`."""
    merged = other.merged
    firsts, shown = set(merged.values()), dict[tuple[int, int], str]()
    for number, cells in enumerate(rows, 1):
        row = ["" if (value := cell.value) is None else format_value(value, cell.number_format) for cell in cells]
        for column in range(1, len(row) + 1) if merged else ():
            if (number, column) in firsts:
                shown[number, column] = row[column - 1]
            elif (origin := merged.get((number, column))) and origin[1] == column:
                row[column - 1] = shown.get(origin, "")
        while row and not row[-1].strip():
            row.pop()
        notes += (make_note(number, row, column - 1, text) for column, text in other.notes.get(number, ()))
        yield number, row


@lru_cache(maxsize=1 << 15, typed=True)
def format_value(value: object, number_format: str = "General") -> str:
    """Format a cell value as Excel displays it in a column that is wide enough; empty for None.

    General numbers keep all their digits. Dates in local order are formatted as year, month, day; colors are ignored.
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime | date | time | timedelta):
        return _format_time(value, number_format)
    if isinstance(value, int | float):
        return _format_number(value, number_format or "General")
    text = "" if value is None else _ESCAPED.sub(lambda each: chr(int(each[1], 16)), str(value))
    tokens = _tokens(_SECTION.findall(number_format)[-1]) if text and "@" in number_format else ()
    return "".join(text if each == "@" else _literal(each) for each in tokens) if "@" in tokens else text


def _format_number(value: float, number_format: str) -> str:
    exact = Decimal(value if isinstance(value, int) else format(value, ".15g"))  # Excel keeps 15 digits
    section, number = _choose_section(number_format, exact)
    tokens = _tokens(section)
    pattern = "".join(each for each in tokens if each in "0#?.,%/ Ee+-" or each.isdigit())
    if found := _SCIENTIFIC.search(pattern):
        return _format_scientific(number, found)
    if found := _FRACTION.search(pattern):
        return _format_fraction(number, found)
    if not any(each in "0#?" for each in tokens):
        if "General" not in section and "@" not in tokens:
            return "".join(map(_literal, tokens)).strip()
        shown = f"{number:f}"
        return shown.rstrip("0").rstrip(".") if "." in shown else shown
    pattern = "".join(each for each in tokens if each in _DIGITS)
    number *= Decimal(100) ** tokens.count("%") / 1000 ** (len(pattern) - len(pattern.rstrip(",")))
    whole, _, fraction = pattern.rstrip(",").partition(".")
    shown = f"{_round(number, len(fraction)):f}"
    sign, shown = ("-", shown[1:]) if shown.startswith("-") else ("", shown)
    before, _, after = shown.partition(".")
    before = before.lstrip("0").rjust(len(whole.replace(",", "").lstrip("#?")), "0")
    if "," in whole:
        before = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", before)
    while after and fraction[len(after) - 1] in "#?" and after.endswith("0"):
        after = after[:-1]
    return sign + _place_digits(tokens, f"{before}{'.' * bool(after)}{after}")


def _round(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=400))  # enough for Excel


def _choose_section(number_format: str, number: Decimal) -> tuple[str, Decimal]:
    """Return the section of a format that applies to a number, and the number, unsigned if the section has the sign."""
    sections = _SECTION.findall(number_format)[:3]
    if any(map(_CONDITION.search, sections)):
        return next((each for each in sections if _is_met(_CONDITION.search(each), number)), "General"), number
    if number < 0 and len(sections) > 1:
        return sections[1], -number
    return sections[2 if not number and len(sections) > 2 else 0], number


def _is_met(condition: re.Match[str] | None, number: Decimal) -> bool:
    limit = Decimal(condition[2]) if condition else number
    return condition is None or "<=>"[(number > limit) - (number < limit) + 1] in condition[1]


def _format_scientific(number: Decimal, form: re.Match[str]) -> str:
    whole, fraction, sign, digits = form.groups()
    power = Decimal(f"{number:.{len(fraction)}E}").adjusted() // len(whole) * len(whole) if number else 0
    shown = _round(number.scaleb(-power), len(fraction))
    return f"{shown:f}E{'-' if power < 0 else '+' * (sign == '+')}{abs(power):0{len(digits)}}"


def _format_fraction(number: Decimal, form: re.Match[str]) -> str:
    exact, limit = Fraction(abs(number)), form[2]
    fixed = int(limit) if limit.isdigit() else 0
    near = Fraction(round(exact * fixed), fixed) if fixed else exact.limit_denominator(10 ** len(limit) - 1)
    whole = int(near) if form[1] else 0
    return "-" * (number < 0) + (" ".join(str(each) for each in (whole, near - whole) if each) or "0")


def _place_digits(tokens: Sequence[str], text: str) -> str:
    """Put the digits of a number, from the last one, in the placeholders of its format; the first gets the rest."""
    placeholders = [at for at, token in enumerate(tokens) if token in _DIGITS]
    shown = list(map(_literal, tokens))
    for at in reversed(placeholders[1:]):
        text, shown[at] = text[:-1], text[-1:]
    shown[placeholders[0]] = text
    return "".join(shown).strip()


def _literal(token: str) -> str:
    if token[0] == '"':
        return token[1:-1]
    if token[0] == "[":
        return token[2:-1].partition("-")[0] if token.startswith("[$") else ""
    if token[0] == "\\":
        return token[1:]
    return "" if token[0] in "_*" else token


def _format_time(value: datetime | date | time | timedelta, number_format: str) -> str:
    if isinstance(value, timedelta):
        return _format_elapsed(value, _tokens(number_format if _ELAPSED.search(number_format) else "[h]:mm:ss"))
    if isinstance(value, time):
        value = datetime.combine(date(1900, 1, 1), value) if number_format != "General" else value
    tokens = _tokens(_to_english(_SECTION.findall(number_format)[0]))
    names = _names_of(number_format)
    places = [at for at, each in enumerate(tokens) if each[0].lower() in "ymdhs" or (len(each) > 2 and each[0] in "aA")]
    if number_format.lower() in _LOCALE_DATES or not places or not isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    if "." not in number_format and value.microsecond >= 500_000:
        value += timedelta(seconds=1)
    shown, marks = list(map(_literal, tokens)), [tokens[at].lower() for at in places]
    hours = "i" if any("/" in each for each in marks) else "h"
    for at, mark, before, after in zip(places, marks, ["", *marks], [*marks[1:], ""], strict=False):
        is_minute = len(mark) < 3 and (before[:1] == "h" or after[:1] == "s")
        mark = mark.replace("h", hours).replace("m", "n") if is_minute else mark.replace("h", hours)
        shown[at] = _format_part(value, mark, names)
    return "".join(shown).strip()


def _to_english(number_format: str) -> str:
    """Convert localized day and year codes (`TT.MM.JJJJ`, `jj/mm/aaaa`, `gg/mm/aaaa`) to English ones."""
    marks = number_format.lower()
    if "y" in marks or ("jj" not in marks and "aaaa" not in marks):
        return number_format
    letters = {"a": "y", "j": "d", "g": "d"} if "aaaa" in marks else {"j": "y", "t": "d"}
    marks = (
        each if each[0] in '"\\[' else [letters.get(mark.lower(), mark) for mark in each]
        for each in _tokens(number_format)
    )
    return "".join(map("".join, marks))


def _names_of(number_format: str) -> Mapping[str, list[str]]:
    """Return month and day names in the language of a format; empty for English and unknown languages."""
    if not (found := _LANGUAGE.search(number_format)):
        return {}
    name = found[1]
    with suppress(ValueError):
        name = windows_locale.get(int(name, 16) & 0xFFFF, name)
    return _read_names().get(name[:2].lower(), {})


@cache
def _read_names() -> dict[str, dict[str, list[str]]]:
    content = yaml.safe_load(files(__package__ or "").joinpath("calendar_names.yaml").read_text(encoding="utf-8"))
    return {language: {mark: names.split() for mark, names in each.items()} for language, each in content.items()}


def _format_elapsed(value: timedelta, tokens: Sequence[str]) -> str:
    left, shown = abs(round(value.total_seconds(), 3)), "-" * (value < timedelta(0))
    for each in tokens:
        if part := _ELAPSED.fullmatch(each):
            length = len(each.strip("[]").partition(".")[0])
            count, left = divmod(left, _SECONDS[part[1].lower()])
            shown += f"{int(count):0{length}}{f'{left:.{len(part[2]) - 1}f}'[1:] if part[2] else ''}"
        else:
            shown += _literal(each)
    return shown


def _format_part(value: datetime, mark: str, names: Mapping[str, list[str]]) -> str:
    whole, _, parts = mark.partition(".")
    if given := names.get(whole) or [name[:3] for name in names.get(f"{whole}{whole[0]}", ()) if len(whole) == 3]:
        return given[value.month - 1 if whole[0] == "m" else value.weekday()]
    text = value.strftime(_CODES.get(whole) or _CODES[whole[0]])[: 1 if len(whole) == 5 and whole[0] == "m" else None]
    text = str(int(text)) if len(whole) == 1 and text.isdigit() else text
    return f"{text}.{value.microsecond:06}"[: len(text) + 1 + len(parts)] if parts else text
