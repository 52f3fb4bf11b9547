# ruff: noqa: RUF001 - texts as people write them
"""HTML: its main content alone, with tables and lists."""

from pathlib import Path

import pytest

from hopgraph.tools.documents.conversion import convert_document
from hopgraph.tools.documents.elements import Element
from hopgraph.tools.documents.html import read_html

pytest.importorskip("selectolax")

PAGE = """<html><head><title>Arden - Encyclopedia</title><style>p {}</style></head><body>
<header><ul><li><a href="/">Home</a></ul></header><nav><a href="/a">All articles</a></nav>
<main><h1>Arden</h1><p>The tower of <a href="/wiki/Arden_%28town%29" title="Arden (town)">Arden</a> was built in
<a href="/wiki/1407">1407</a><sup><a href="#note-1">[1]</a></sup> by Otto.<br><br>It is <b>n</b>ew.</p>
<form><label>Search</label><input value="x"></form><p hidden>Not shown.</p>
<ul><li>One<ul><li>deeper</ul></li><li>Two</ul><ol start="3"><li>Three</ol>
<pre>a  =  1
  b</pre>
<table><caption>Prices</caption><tr><th>Room<th>Price</tr><tr><td rowspan="2">Attic<td>30 | 40</tr><tr><td>50</table>
<img src="data:image/png;base64,AAAA" alt="The tower at night">
</main><footer>Imprint</footer></body></html>"""


def test_a_page_is_its_main_content() -> None:
    found = read_html(PAGE)
    assert found.title == "Arden"
    links = (("Arden", "/wiki/Arden_%28town%29"), ("1407", "/wiki/1407"))
    assert found.elements == [
        Element("heading", "Arden", 1),
        Element("text", "The tower of Arden was built in 1407 by Otto.", links=links),
        Element("text", "It is new.", links=links),
        Element("item", "- One"),
        Element("item", "  - deeper"),
        Element("item", "- Two"),
        Element("item", "3. Three"),
        Element("code", "a  =  1\n  b"),
        Element("text", "Prices"),
        Element("table", rows=[["Room", "Price"], ["Attic", "30 | 40"], ["Attic", "50"]]),
        Element("text", "The tower at night"),
    ]


def test_a_page_that_is_one_form_and_a_table_for_its_layout_is_read() -> None:
    page = "<form><table><tr><td><h2>News</h2><p>It rains in Brel.</p></td><td>Weather</td></tr></table></form>"
    assert [each.text for each in read_html(page).elements] == ["News", "It rains in Brel.", "Weather"]


def test_a_table_within_the_layout_is_one() -> None:
    page = "<table><tr><td>Weather<td><h2>News</h2><table><tr><td>Day<td>Rain<tr><td>May<td>3</table></table>"
    assert read_html(page).elements[-1].rows == [["Day", "Rain"], ["May", "3"]]


def test_names_over_two_rows_are_joined_and_a_table_of_facts_has_none() -> None:
    names = "<table><tr><th>Town<th>Rain</tr><tr><th><th>mm</tr><tr><td>Brel<td>12</table>"
    assert read_html(names).elements[0].rows == [["Town", "Rain mm"], ["Brel", "12"]]
    facts = "<table><tr><th>Born<td>1407</tr><tr><th>Died<td>1471</table>"
    assert read_html(facts).elements[0].rows == [["", ""], ["Born", "1407"], ["Died", "1471"]]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<p>très chaud à Besançon, el niño</p>".encode("cp1252"), "très chaud à Besançon, el niño"),
        ("<meta charset='koi8-r'><p>Москва</p>".encode("koi8-r"), "Москва"),
        ("<p>Zürich</p>".encode("utf-16"), "Zürich"),
        ("<meta charset='latin-1'><p>Zürich</p>".encode(), "Zürich"),
        ("<meta charset='iso-8859-1'><p>“5 €” – très</p>".encode("cp1252"), "“5 €” – très"),
        ("<meta charset='gb2312'><p>镕基，北京是首都</p>".encode("gb18030"), "镕基，北京是首都"),
        ('<?xml version="1.0" encoding="koi8-r"?><p>Кот</p>'.encode("koi8-r"), "Кот"),
    ],
)
def test_the_encoding_is_found(tmp_path: Path, content: bytes, text: str) -> None:
    (tmp_path / "a.html").write_bytes(content)
    assert convert_document(tmp_path / "a.html").elements[-1].text == text


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("<header><h1>Pumps</h1><p>By Ada</p></header><p>It leaks.</p>", ["Pumps", "By Ada", "It leaks."]),
        (f"<div>{'The tower is old. ' * 9}</div><article>Read on</article>", ["The tower is old. " * 9, "Read on"]),
        (
            "<article><h2>A</h2>It rains.</article><article>It rains in Brel.</article>",
            ["A", "It rains.", "It rains in Brel."],
        ),
        ("<h2><button>Why?</button></h2><p>So.</p><button>Buy</button>", ["Why?", "So."]),
        ("<p>10<sup>6</sup> H<sub>2</sub>O, 1<sup>st</sup></p>", ["10⁶ H₂O, 1st"]),
        ("<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字</ruby></p>", ["漢字"]),
        ("<p>The tower<a href='#1'><sup>1</sup></a> is old.</p>", ["The tower is old."]),
        ("<h2>A<a href='#a'>¶</a><i class='mw-editsection'>[edit]</i></h2><video>None.</video><p>B</p>", ["A", "B"]),
        ("<ul><li><input type=checkbox checked> A<li><input type=radio> B</ul>", ["- ☒ A", "- ☐ B"]),
        ("<ol type=a><li>A<li value=5>B</ol><div role=heading>C</div>", ["a. A", "e. B", "C"]),
        ("<i style='display: none'><math><mi>E</mi><msqrt><mi>m</mi></msqrt></math></i>", ["E√(m)"]),
        ("<svg><text>A</text><g><text>B</text></g></svg><p>東京\nは<q>C</q></p>", ["A B", '東京は"C"']),
        ("<form>Town: <select><option>A<option selected>B</select></form>", ["Town: B"]),
        ("<p>It costs <del>40</del> <ins>30</ins>.</p>", ["It costs 30."]),
        ("<dl><dt>SLA<dd>A promise.<dt>Why?<dd>So.</dl>", ["- SLA: A promise.", "- Why? So."]),
        ("<dl><dt>f(x)<dd><pre>f(1)</pre>A call.</dl>", ["f(x)", "f(1)", "A call."]),
        ("<p>Monday: 9-17<br>Sunday: closed</p>", ["Monday: 9-17\nSunday: closed"]),
        (f"<p>The tower is old,<br>{'old ' * 11}</p>", [f"The tower is old, {'old ' * 11}"]),
        ("<div class='cookie-banner'>We use cookies.</div><p>It leaks.</p>", ["It leaks."]),
        ("<div class='nav'>Home</div><h1>Pumps</h1><p>It leaks.</p><div id='footer'>Us</div>", ["Pumps", "It leaks."]),
        (
            "<p>πr<sup>n</sup> <math><mfrac><mn>1</mn><msup><mi>r</mi><mn>2</mn></msup></mfrac></math></p>",
            ["πrⁿ 1/r^2"],
        ),
        ("<dialog>Sign in</dialog><p style='visibility:hidden'>x</p><svg><title>y</title></svg><p>So.</p>", ["So."]),
    ],
)
def test_a_page_says_what_a_reader_sees(body: str, texts: list[str]) -> None:
    assert [each.text for each in read_html(f"<body>{body}</body>").elements] == [text.strip() for text in texts]


def test_a_title_above_the_main_content_is_read() -> None:
    page = "<title>Arden - News</title><header><h1>Arden</h1></header><main><p>It is old.</p></main>"
    assert [each.text for each in read_html(page).elements] == ["Arden", "It is old."]
    assert [each.text for each in read_html(page.replace("<h1>Arden", "<h1>News")).elements] == ["It is old."]


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("<tr><td><th>2021<th>2022<tr><th>North<td>1<td>2", [["", "2021", "2022"], ["North", "1", "2"]]),
        ("<tr><th>Part<th>Use<tr><td>A<td><pre>a b</pre>", [["Part", "Use"], ["A", "a b"]]),
        ("<tr><th>Part<th>Use<tr><td>A<td><table><tr><td>x<td>1</table>", [["Part", "Use"], ["A", "x 1"]]),
        ("<tr><th>Part<th>7<tfoot><tr><td>Z<td>z<tbody><tr><td>A<td>b", [["Part", "7"], ["A", "b"], ["Z", "z"]]),
        ("<thead><tr><td>Part<td>7<tbody><tr><td>A<td>b", [["Part", "7"], ["A", "b"]]),
        (
            "<tr><td rowspan=2>Town<td colspan=2>Rain<tr><td>mm<td>days<tr><td>Brel<td>12<td>3",
            [["Town", "Rain mm", "Rain days"], ["Brel", "12", "3"]],
        ),
    ],
)
def test_a_table_keeps_its_names_and_what_stands_in_its_cells(table: str, rows: list[list[str]]) -> None:
    (found,) = read_html(f"<table>{table}</table>").elements
    assert found.rows == rows
