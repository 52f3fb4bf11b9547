"""Charts and SmartArt of DOCX and PPTX as elements."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from hopgraph.tools.documents.elements import Element, make_table, read_paragraphs, tidy
from hopgraph.tools.documents.spreadsheet import show_value


def read_chart(chart: Any) -> Iterator[Element]:
    """Yield the title of a chart and the table of its stored values, a column for each series."""
    for title in chart.iter("{*}title"):
        if title.getparent().tag.endswith("}chart"):
            yield from read_paragraphs(title)
    series = list(chart.iter("{*}ser"))
    labels, columns = dict[int, str](), list[dict[int, str]]()
    for each in series:
        labels = _points(each, "cat", "xVal") | labels
        columns.append(_points(each, "val", "yVal"))
    names = ["", *(" ".join(_points(each, "tx").values()) for each in series)]
    rows = sorted(set(labels).union(*columns))
    yield from make_table([names, *([labels.get(at, ""), *(each.get(at, "") for each in columns)] for at in rows)])


def _points(series: Any, *names: str) -> dict[int, str]:
    """Return the values under one of these names by their places."""
    found = dict[int, str]()
    for child in series:
        if child.tag.rpartition("}")[2] in names:
            form = next((each.text for each in child.iter("{*}formatCode")), None) or "General"
            for point in child.iter("{*}pt"):
                value = "".join(each.text or "" for each in point.iter("{*}v"))
                found.setdefault(int(point.get("idx", 0)), _show(value, form))
    return found


def _show(value: str, form: str) -> str:
    dates: Any = import_module("openpyxl.utils.datetime")
    numbers: Any = import_module("openpyxl.styles.numbers")
    try:
        number = float(value)
        return show_value(dates.from_excel(number) if numbers.is_date_format(form) else number, form)
    except (ValueError, OverflowError):
        return tidy(value)
