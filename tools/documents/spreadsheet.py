"""Spreadsheets as elements, each value as Excel shows it."""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from io import BytesIO
from typing import Any, BinaryIO
from zipfile import ZipFile

from hopgraph.tools.documents.elements import (
    Document,
    Element,
    make_tables,
    read_entry,
    read_xml,
    tidy,
)

_DIGITS = frozenset("0#?.,")
_MOST_MERGED = 1000
_NO_VALUE = re.compile(
    rb"(?:</(?:\w+:)?f>|<(?:\w+:)?f(?:\s[^>]*)?/>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s+ref=\"([A-Z0-9:]{3,30})\"")
_TOKEN = re.compile(r"\"[^\"]*\"|\\.|_.|\*.|\[[^\][]*\]|AM/PM|A/P|y+|m+|d+|h+|s+(?:\.0+)?|.", re.IGNORECASE | re.DOTALL)
_SECTION = re.compile(r'(?:\\.|[^;"]|"[^"]*"?)+|(?<=;)(?=;|$)|^(?=;|$)')
_tokens: Callable[[str], list[str]] = lru_cache(maxsize=1024)(_TOKEN.findall)
_LOOKS = re.compile(rb"<((?:\w+:)?(?:fonts|fills|borders|cellStyleXfs|cellStyles|dxfs))\b.*?</\1>", re.DOTALL)
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(spreadsheetml|officeDocument)/")
"""Namespaces of ISO's strict edition."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_CONDITION = re.compile(r"\[(<=|>=|<>|[<>=])(-?[\d.]+)\]")
_FRACTION = re.compile(r"(?<![#0?])(?:([#0?]++) ++)?[#0?]++/([#0?]+|\d+)")
_SCIENTIFIC = re.compile(r"(?<![#0?])([#0?]++)\.?([#0?]*+)E([+-])([#0?]+)", re.IGNORECASE)
_ELAPSED = re.compile(r"\[?([hms])+(\.0+)?\]?", re.IGNORECASE)
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_LOCALE_DATES = frozenset({"mm-dd-yy", "m/d/yy", "m/d/yyyy"})
"""Formats that Excel shows in the reader's local order: written as year, month, day."""
_PARTS = dict[str, str](
    re.findall(r"(\w+) (%\w)", "y %y yyy %Y yyyy %Y m %m mmm %b mmmm %B d %d ddd %a dddd %A h %H i %I n %M s %S a %p")
)
"""Marks of a format, `i` for hours up to 12 and `n` for minutes, as `strftime` has them."""


def read_xlsx(file: BinaryIO) -> Document:
    """Read the sheets that are not hidden, each with its title rows, then its rows below their column names.

    Formulas have the values that were stored with them; those without any are counted.
    """
    from openpyxl import load_workbook

    document = Document()
    merged, without = _look_through(file)
    try:
        book: Any = load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except (TypeError, ValueError):  # a fill or a border that only Excel knows
        book = None
    if not (book and book.worksheets):
        book = load_workbook(_simplify(file), read_only=True, data_only=True, keep_links=False)
    hidden = 0
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            hidden += 1
            continue
        sheet.reset_dimensions()  # which some programs write wrong
        cells = merged.get(sheet.title, {})
        wide = {row for (row, column), (_, left) in cells.items() if column > left}
        if elements := list(make_tables(_rows(sheet, cells), wide)):
            document.elements += [Element("sheet", tidy(sheet.title)), *elements]
    if without:
        document.notes.append(f"{without:,} formulas have no value; open and save the file in a spreadsheet program")
    if hidden:
        document.notes.append(f"{hidden:,} hidden sheets are not read")
    return document


def _simplify(file: BinaryIO) -> BinaryIO:
    """Return a workbook in the usual namespaces, whose cells have no other style than their number formats."""
    simple = BytesIO()
    with ZipFile(file) as source, ZipFile(simple, "w") as target:
        for name in source.namelist():
            content = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", source.read(name))
            target.writestr(name, _LOOKS.sub(b"", content) if name == "xl/styles.xml" else content)
    return simple


_Merged = dict[tuple[int, int], tuple[int, int]]
"""The row and column, from 1, of a cell that shows the value of another one, and those of that one, above or left."""


def _look_through(file: BinaryIO) -> tuple[dict[str, _Merged], int]:
    """Return the merged cells of each sheet, and how many formulas have no stored value."""
    merged, without = dict[str, _Merged](), 0
    with ZipFile(file) as archive:
        relations = read_xml(archive, "xl/_rels/workbook.xml.rels")
        places = {each.get("Id"): posixpath.join("xl", each.get("Target", "")).lstrip("/") for each in relations}
        for each in read_xml(archive, "xl/workbook.xml").iter("{*}sheet"):
            key = next((value for name, value in each.items() if name.endswith("}id")), "")
            sheet = read_entry(archive, places.get(key, ""))
            without += sum(1 for _ in _NO_VALUE.finditer(sheet))
            merged[each.get("name", "")] = _below_first(_MERGED.findall(sheet))
    return merged, without


def _below_first(ranges: list[bytes]) -> _Merged:
    from openpyxl.utils import range_boundaries

    found: _Merged = {}
    for each in ranges[:_MOST_MERGED]:
        left, top, right, bottom = (value or 0 for value in range_boundaries(each.decode()))
        for row in range(top, min(bottom, top + _MOST_MERGED) + 1):
            found |= {(row, column): (top, left) for column in (left, left + 1)[row == top : 1 + (right > left)]}
    return found


def _rows(sheet: Any, merged: _Merged) -> Iterator[tuple[int, list[str]]]:
    firsts, shown = set(merged.values()), dict[tuple[int, int], str]()
    for number, cells in enumerate(sheet.iter_rows(), 1):
        row = ["" if cell.value is None else show_value(cell.value, cell.number_format) for cell in cells]
        for column in range(1, len(row) + 1) if merged else ():
            if (number, column) in firsts:
                shown[number, column] = row[column - 1]
            elif (place := merged.get((number, column))) and place[1] == column:
                row[column - 1] = shown.get(place, "")
        while row and not row[-1].strip():
            row.pop()
        yield number, row


@lru_cache(maxsize=1 << 15, typed=True)
def show_value(value: object, number_format: str = "General") -> str:
    """Return a value as a spreadsheet program shows it in a column that is wide enough; empty for None.

    No digit of a number without its own format is left out. A date whose order depends on the reader's country is
    year, month, day. Colours are ignored.
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime | date | time | timedelta):
        return _show_time(value, number_format)
    if isinstance(value, int | float):
        return _show_number(value, number_format or "General")
    text = "" if value is None else _ESCAPED.sub(lambda each: chr(int(each[1], 16)), str(value))
    tokens = _tokens(_SECTION.findall(number_format)[-1])
    return "".join(text if each == "@" else _literal(each) for each in tokens) if text and "@" in tokens else text


def _show_number(value: float, number_format: str) -> str:
    exact = Decimal(value if isinstance(value, int) else format(value, ".15g"))  # all the digits that Excel keeps
    section, number = _choose_section(number_format, exact)
    tokens = _tokens(section)
    pattern = "".join(each for each in tokens if each in "0#?.,%/ Ee+-" or each.isdigit())
    if found := _SCIENTIFIC.search(pattern):
        return _show_scientific(number, found)
    if found := _FRACTION.search(pattern):
        return _show_fraction(number, found)
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
    before = (before.lstrip("0") or "").rjust(whole.count("0"), "0")
    if "," in whole:
        before = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", before)
    while after and fraction[len(after) - 1] in "#?" and after.endswith("0"):
        after = after[:-1]
    return sign + _place(tokens, f"{before}{'.' * bool(after)}{after}")


def _round(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=400))  # for all that Excel knows


def _choose_section(number_format: str, number: Decimal) -> tuple[str, Decimal]:
    """Return the section of a format that a number is shown by, and the number without a sign that this implies."""
    sections = _SECTION.findall(number_format)[:3]
    if any(map(_CONDITION.search, sections)):
        return next((each for each in sections if _is_met(_CONDITION.search(each), number)), "General"), number
    if number < 0 and len(sections) > 1:
        return sections[1], -number
    return sections[2 if not number and len(sections) > 2 else 0], number


def _is_met(condition: re.Match[str] | None, number: Decimal) -> bool:
    limit = Decimal(condition[2]) if condition else number
    return condition is None or "<=>"[(number > limit) - (number < limit) + 1] in condition[1]


def _show_scientific(number: Decimal, form: re.Match[str]) -> str:
    whole, fraction, sign, digits = form.groups()
    power = Decimal(f"{number:.{len(fraction)}E}").adjusted() // len(whole) * len(whole) if number else 0
    shown = _round(number.scaleb(-power), len(fraction))
    return f"{shown:f}E{'-' if power < 0 else '+' * (sign == '+')}{abs(power):0{len(digits)}}"


def _show_fraction(number: Decimal, form: re.Match[str]) -> str:
    exact, limit = Fraction(abs(number)), form[2]
    fixed = int(limit) if limit.isdigit() else 0
    near = Fraction(round(exact * fixed), fixed) if fixed else exact.limit_denominator(10 ** len(limit) - 1)
    whole = int(near) if form[1] else 0
    return "-" * (number < 0) + (" ".join(str(each) for each in (whole, near - whole) if each) or "0")


def _place(tokens: Sequence[str], text: str) -> str:
    """Put the digits of a number, from the last one on, where those of its format stand among what else it shows."""
    places = [at for at, token in enumerate(tokens) if token in _DIGITS]
    shown = list(map(_literal, tokens))
    for at in reversed(places[1:]):
        text, shown[at] = text[:-1], text[-1:]
    shown[places[0]] = text
    return "".join(shown).strip()


def _literal(token: str) -> str:
    if token[0] == '"':
        return token[1:-1]
    if token[0] == "[":
        return token[2:-1].partition("-")[0] if token.startswith("[$") else ""
    if token[0] == "\\":
        return token[1:]
    return "" if token[0] in "_*" else token


def _show_time(value: datetime | date | time | timedelta, number_format: str) -> str:
    if isinstance(value, timedelta):
        return _show_elapsed(value, _tokens(number_format if _ELAPSED.search(number_format) else "[h]:mm:ss"))
    if isinstance(value, time):
        value = datetime.combine(date(1900, 1, 1), value) if number_format != "General" else value
    tokens = _tokens(_SECTION.findall(number_format)[0])
    places = [at for at, each in enumerate(tokens) if each[0].lower() in "ymdhs" or each.upper() in ("AM/PM", "A/P")]
    if number_format.lower() in _LOCALE_DATES or not places or not isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    shown, marks = list(map(_literal, tokens)), [tokens[at].lower() for at in places]
    hours = "i" if any("/" in each for each in marks) else "h"
    for at, mark, before, after in zip(places, marks, ["", *marks], [*marks[1:], ""], strict=False):
        is_minute = len(mark) < 3 and (before[:1] == "h" or after[:1] == "s")
        shown[at] = _show_part(
            value, mark.replace("h", hours).replace("m", "n") if is_minute else mark.replace("h", hours)
        )
    return "".join(shown).strip()


def _show_elapsed(value: timedelta, tokens: Sequence[str]) -> str:
    left, shown = abs(round(value.total_seconds(), 3)), "-" * (value < timedelta(0))
    for each in tokens:
        if part := _ELAPSED.fullmatch(each):
            length = len(each.strip("[]").partition(".")[0])
            count, left = divmod(left, _SECONDS[part[1].lower()])
            shown += f"{int(count):0{length}}{f'{left:.{len(part[2]) - 1}f}'[1:] if part[2] else ''}"
        else:
            shown += _literal(each)
    return shown


def _show_part(value: datetime, mark: str) -> str:
    whole, _, parts = mark.partition(".")
    text = value.strftime(_PARTS.get(whole) or _PARTS[whole[0]])
    text = str(int(text)) if len(whole) == 1 and text.isdigit() else text
    return f"{text}.{value.microsecond:06}"[: len(text) + 1 + len(parts)] if parts else text
