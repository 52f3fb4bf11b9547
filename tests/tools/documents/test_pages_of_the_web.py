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
    ],
)
def test_the_encoding_is_found(tmp_path: Path, content: bytes, text: str) -> None:
    (tmp_path / "a.html").write_bytes(content)
    assert convert_document(tmp_path / "a.html").elements[-1].text == text
