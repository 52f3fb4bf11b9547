"""Spreadsheets: every value as a spreadsheet program shows it."""

import re
from base64 import b64decode
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile
from zlib import decompress

import pytest

from hopgraph.tools.documents.conversion import convert_document
from hopgraph.tools.documents.spreadsheet import format_value

OLD = (
    "eNrtWE1oE0EU/maTND+2ySamQiuEWLDW2oLixUu7Vai9aIheFBFs6uZQapISvMSL1ZqjIHhSvBSq4KXqxR9U0JsHoaIHoSAkevQkWPDQZn3zMlvS"
    "WqEBLVjnW+bNmzfz9r2deW9md9/NRyszjzqrWINBeFBzgmhpkAkqQbdhgvodR7JuHaDiaPxTCAZoIVt8eN721i/XUK53FQYeel8TBT5TOYtJpAr5"
    "bHITcYR9yAjpwwBRgTskCaODvYoxPc90O9MHPPIF0yGWXGc6QGMr4gzmrVTvIRXFp40u7gtD3vcJ6yyw5ADa8UZG8eUboj7Wh8PF8cyFrdKR8LZi"
    "FrTSI9l8tijbEdxFCCgR+nO5fttOeLfhnoyD/YwK4tSYxaKTBL672f8qqeWbKxcg+Y/Vcv9v5AFa0/XkQVrYtfKbhheYgjPKSVamMcPeesikl7AL"
    "klcln8llPYCdKVGqjNskOZbJTYbkocCbiLlqE2nj5GolaiPCfJRTzCTvlu5/e398LG2dY8kUHxz142W39AYOrkgNUg5zj8GUbKOX+X1Mr/JddzLf"
    "yTROYU51d7pdMUenecw17u0mOwcZH6w9DXwP8eWvJ54myl+svcTPjVQvxec+WjPootmwSV9e0+gTfeL2LYlnllsLtRV9Ytrxy7YUMEzlu6PO0AiW"
    "Zb4RokzrLTk7YqVlqLmS2mIdbcHacj5ekn3pXQwLowbZTBWk9qARw2OetKGG4zsEDQ0NDQ0NDQ2N/x5CvV571Hu+T72++9V/nWUqNf2bZMviJAp0"
    "XaSPwmHkqS6i1FT87IBPuPcSG9Rx/xdKnCLrRUxgjP2YaDp+6fNLND7PhhXNP5dCzdqvNePnX7b/E1aw2es="
)
openpyxl: Any = pytest.importorskip("openpyxl")


def save(path: Path, rows: list[list[Any]], formats: dict[str, str] | None = None) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cell, number_format in (formats or {}).items():
        book.active[cell].number_format = number_format
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        ("007123", "General", "007123"),
        ("NA", "General", "NA"),
        (7123, "000000", "007123"),
        (1023.0, "General", "1023"),
        (123456789.5, "General", "123456789.5"),
        (0.1 + 0.2, "General", "0.3"),
        (4915112345678, "General", "4915112345678"),
        (1e-7, "General", "0.0000001"),
        (0.125, "0.0%", "12.5%"),
        (0.125, "0%", "13%"),
        (1234.5, "#,##0.00", "1,234.50"),
        (-1234.5, "#,##0.00_);(#,##0.00)", "(1,234.50)"),
        (1234.5, '"$"#,##0.00', "$1,234.50"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (-5, '0.0" kg"', "-5.0 kg"),
        (12_500_000, '0.0,,"M"', "12.5M"),
        (0, '0;-0;"none"', "none"),
        (3.5, "0.##", "3.5"),
        (0.5, "#.00", ".50"),
        (True, "General", "TRUE"),
        (datetime(2026, 3, 5), "yyyy-mm-dd", "2026-03-05"),  # noqa: DTZ001 - Excel has no zones
        (datetime(2026, 3, 5), "dd.mm.yyyy", "05.03.2026"),  # noqa: DTZ001
        (datetime(2026, 3, 5), "d mmm yy", "5 Mar 26"),  # noqa: DTZ001
        (datetime(2026, 3, 5), "mm-dd-yy", "2026-03-05"),  # noqa: DTZ001 - as the reader's country has it
        (datetime(2026, 3, 5, 14, 7), "yyyy-mm-dd hh:mm", "2026-03-05 14:07"),  # noqa: DTZ001
        (datetime(2026, 3, 5, 14, 7), "h:mm AM/PM", "2:07 PM"),  # noqa: DTZ001
        (date(2026, 3, 5), "General", "2026-03-05"),
        (time(9, 30), "h:mm", "9:30"),
        (time(8, 5), "h:mm AM/PM", "8:05 AM"),
        (timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
        (timedelta(hours=30, minutes=5), "[h]:mm:ss", "30:05:00"),
        (5551234567, "(000) 000-0000", "(555) 123-4567"),
        (1234567, "000-00-0000", "001-23-4567"),
        (5, '[>100]"high";"low"', "low"),
        (5551234567, "[<=9999999]###-####;(###) ###-####", "(555) 123-4567"),
        (75, '[>100]"high";[<50]"low";0', "75"),
        (0, '_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)', "$-"),
        ("paid", '0;-0;0;"["@"]"', "[paid]"),
        (2.5, "# ?/?", "2 1/2"),
        (1e30, "0.0", f"1{'0' * 30}.0"),
        (0.75, "# ??/??", "3/4"),
        (-1.375, "# ?/8", "-1 3/8"),
        (3, "# ?/?", "3"),
        (123456789, "0.00E+00", "1.23E+08"),
        (0.00000999999, "0.00E+00", "1.00E-05"),
        (12345678, "##0.0E+0", "12.3E+6"),
        (timedelta(minutes=90), "[mm]:ss", "90:00"),
        (timedelta(hours=-1, minutes=-5), "[h]:mm", "-1:05"),
        (None, "General", ""),
        (time(0, 1, 2, 345000), "mm:ss.00", "01:02.34"),
        ("one_x000D_\ntwo", "General", "one\r\ntwo"),
        (datetime(2026, 3, 5), "[$-407]TT. MMMM JJJJ", "05. März 2026"),  # noqa: DTZ001
        (datetime(2026, 3, 5), "[$-de-DE]ddd, d. mmm yyyy", "Do, 5. Mrz 2026"),  # noqa: DTZ001
        (datetime(2026, 3, 5), "[$-010C0A]dddd d/mmm/yy", "jueves 5/mar/26"),  # noqa: DTZ001
        (datetime(2026, 3, 5), "jj/mm/aaaa", "05/03/2026"),  # noqa: DTZ001
        (datetime(2026, 3, 5), "[$-411]m/d(aaa)", "3/5(木)"),  # noqa: DTZ001
        (datetime(2026, 3, 5), "[$-F800]dddd, mmmm dd, yyyy", "Thursday, March 05, 2026"),  # noqa: DTZ001
        (datetime(2026, 3, 5), "mmmmm-yy", "M-26"),  # noqa: DTZ001
    ],
)
def test_a_value_is_shown_as_its_format_says(value: object, number_format: str, shown: str) -> None:
    assert format_value(value, number_format) == shown


def test_title_rows_merged_cells_and_hidden_sheets(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sales"
    for row in (["Sales of the north"], [], ["Region", "Product", "Q1"], ["North", "Lamp", 12], [None, "Bell", 3]):
        sheet.append(row)
    sheet.merge_cells("A4:A5")
    halves = book.create_sheet("Halves")
    names = [["Product", "2023", None, "2024", None], [None, "Units", "Sales", "Units", "Sales"]]
    for row in (*names, ["Lamp", 1, 2, 3, 4]):
        halves.append(row)
    for cells in ("A1:A2", "B1:C1", "D1:E1"):
        halves.merge_cells(cells)
    book.create_sheet("Secret").sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")
    found = convert_document(tmp_path / "a.xlsx")
    sheet_name, title, table, _, halved = found.elements
    assert (halved.number, halved.rows[0]) == (2, ["Product", "2023 Units", "2023 Sales", "2024 Units", "2024 Sales"])
    assert (sheet_name.kind, sheet_name.text, title.text) == ("sheet", "Sales", "Sales of the north")
    assert (table.number, table.rows) == (
        3,
        [["Region", "Product", "Q1"], ["North", "Lamp", "12"], ["North", "Bell", "3"]],
    )
    assert found.notes == ["1 hidden sheet not read"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # openpyxl's
@pytest.mark.parametrize(
    ("found", "instead"),
    [
        (rb"<fills.*?</fills>", b"<fills><fill/></fills>"),
        (
            rb"http://schemas.openxmlformats.org/(spreadsheetml|officeDocument)/2006/",
            rb"http://purl.oclc.org/ooxml/\1/",
        ),
    ],
)
def test_styles_that_only_excel_knows_and_its_strict_files_are_read(
    tmp_path: Path, found: bytes, instead: bytes
) -> None:
    book = save(tmp_path / "b.xlsx", [["name", "price"], ["Lamp", 12]], {"B2": "0.00"})
    with ZipFile(book) as source, ZipFile(tmp_path / "a.xlsx", "w") as target:
        for name in source.namelist():
            target.writestr(name, re.sub(found, instead, source.read(name), flags=re.DOTALL))
    (_, table) = convert_document(tmp_path / "a.xlsx").elements
    assert table.rows == [["name", "price"], ["Lamp", "12.00"]]


def test_formulas_have_their_stored_value_and_those_without_are_counted(tmp_path: Path) -> None:
    save(tmp_path / "a.xlsx", [["price", "twice"], [2, "=A2*2"], [3, "=A3*2"]])
    with ZipFile(tmp_path / "a.xlsx") as archive, ZipFile(tmp_path / "b.xlsx", "w") as copy:
        for name in archive.namelist():
            content = archive.read(name).replace(b"<f>A2*2</f><v></v>", b"<f>A2*2</f><v>4</v>")
            copy.writestr(name, content.replace(b"<f>A2*2</f><v />", b"<f>A2*2</f><v>4</v>"))
    found = convert_document(tmp_path / "b.xlsx")
    assert found.elements[-1].rows == [["price", "twice"], ["2", "4"], ["3", ""]]
    assert found.notes == ["1 formula without a value; open and save the file in a spreadsheet program"]


def test_rows_behind_an_empty_one_have_the_names_above_it_unless_they_bring_their_own(tmp_path: Path) -> None:
    rows = [
        ["Region", "Price"],
        ["North", 12],
        [],
        ["South", 3],
        [],
        ["By Ada"],
        ["East", 4],
        [],
        ["Name", "Age"],
        ["Bob", 50],
    ]
    found = convert_document(save(tmp_path / "a.xlsx", rows)).elements[1:]
    assert [(each.number, each.text, each.rows) for each in found] == [
        (1, "", [["Region", "Price"], ["North", "12"]]),
        (3, "", [["Region", "Price"], ["South", "3"]]),
        (6, "By Ada", ()),
        (6, "", [["Region", "Price"], ["East", "4"]]),
        (9, "", [["Name", "Age"], ["Bob", "50"]]),
    ]


def test_cells_of_a_named_namespace_are_merged_too(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Region", "Product"], ["North", "Lamp"], [None, "Bell"]):
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    book.save(tmp_path / "b.xlsx")
    with ZipFile(tmp_path / "b.xlsx") as source, ZipFile(tmp_path / "a.xlsx", "w") as archive:
        for name in source.namelist():
            content = source.read(name)
            if name.startswith("xl/worksheets/"):
                content = re.sub(rb"<(/?)([a-zA-Z])", rb"<\1x:\2", content).replace(b"xmlns=", b"xmlns:x=")
            archive.writestr(name, content)
    assert convert_document(tmp_path / "a.xlsx").elements[-1].rows[-1] == ["North", "Bell"]


def test_tables_side_by_side_notes_and_charts(tmp_path: Path) -> None:
    from openpyxl.chart import BarChart
    from openpyxl.comments import Comment

    rows = [["name", "price", None, "city", "zip"], ["Lamp", 12, None, "Bonn", 53111], ["Bell", 3, None, "Kiel", 24103]]
    book = openpyxl.load_workbook(save(tmp_path / "a.xlsx", rows))
    book.active["B3"].comment = Comment("too low", "Ada")
    chart = BarChart()
    chart.title = "Prices of lamps"
    book.active.add_chart(chart, "G2")
    book.save(tmp_path / "a.xlsx")
    _, *found = convert_document(tmp_path / "a.xlsx").elements
    assert [(each.number, each.text, each.rows) for each in found] == [
        (1, "", [["name", "price"], ["Lamp", "12"], ["Bell", "3"]]),
        (1, "", [["city", "zip"], ["Bonn", "53111"], ["Kiel", "24103"]]),
        (3, "Note on Bell, 3: too low", ()),
        (0, "Prices of lamps", ()),
    ]


def test_workbooks_of_excel_97_are_read_alike(tmp_path: Path) -> None:
    pytest.importorskip("xlrd")
    (tmp_path / "a.xls").write_bytes(decompress(b64decode(OLD)))
    sheet, table, *_ = convert_document(tmp_path / "a.xls").elements
    assert (sheet.text, table.rows) == ("P", [["name", "day", "id"], ["Lamp", "2006-09-06", "007123"]])
