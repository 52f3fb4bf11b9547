import gzip
import json
from itertools import pairwise
from pathlib import Path

import pytest

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.documents.elements import Element
from hopgraph.tools.retrieval import index_in_memory
from hopgraph.tools.retrieval.corpora import CorpusReading, SourceRecord, markdown_sections, open_corpus
from hopgraph.tools.retrieval.corpora.chunking import ChunkOptions, count_words, split_blocks


def records(source: Path) -> list[SourceRecord]:
    return list(open_corpus(source).records(CorpusReading()))


def prose(sentences: int, words: int = 10) -> str:
    return " ".join(f"Sentence {n} has" + " some" * (words - 4) + " words." for n in range(sentences))


def test_files_become_passages_with_a_path_a_number_and_a_title(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.txt").write_text("Hidden.")
    (tmp_path / "b" / "notes.txt").write_bytes("\ufeffCafé in the\r\nrain. It pours.\r\n".encode())
    (tmp_path / "a.md").write_text("Intro.\n\n# The Title #\nText below it.\n## Part\nMore text.\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "blank.txt").write_text(" \n\n")
    assert [(r.id, r.title, r.text, r.line) for r in records(tmp_path)] == [
        ("a.md#1", "The Title", "Intro.", 1),
        ("a.md#2", "The Title", "The Title\n\nText below it.", 3),
        ("a.md#3", "The Title > Part", "Part\n\nMore text.", 5),
        ("b/notes.txt#1", "notes", "Café in the rain. It pours.", 1),
    ]
    assert [r.id for r in records(tmp_path / "b")] == ["notes.txt#1"]


def test_passages_have_about_a_hundred_words_and_end_with_a_sentence(tmp_path: Path) -> None:
    text = prose(95, words=13) + "\n\n" + prose(5, words=90)
    (tmp_path / "a.txt").write_text(text)
    passages = records(tmp_path)
    lengths = [len(passage.text.split()) for passage in passages]
    assert " ".join(" ".join(passage.text for passage in passages).split()) == " ".join(text.split())
    assert all(passage.text.endswith("words.") for passage in passages)
    assert all(60 <= length <= 150 for length in lengths)
    assert 90 <= sum(lengths) / len(lengths) <= 110
    assert [passage.id for passage in passages] == [f"a.txt#{n + 1}" for n in range(len(passages))]
    assert passages[0].line == 1
    assert passages[-1].line == 3


@pytest.mark.parametrize("text", ["word " * 50_000, "x" * 300_000, "a line\n" * 60_000])
def test_text_without_sentences_is_cut_into_pieces_too(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    passages = records(tmp_path)
    assert "".join("".join(passage.text.split()) for passage in passages) == "".join(text.split())
    assert max(len(passage.text) for passage in passages) <= 1400
    assert len(passages) > 100


def test_a_file_that_is_no_text_is_skipped_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "b.json").write_text('{"a": ')
    (tmp_path / "c.jsonl").write_text('{"text": "It rains."}\nno\n')
    (tmp_path / "d.txt").write_text("Good.")
    reading = CorpusReading()
    assert [each.id for each in open_corpus(tmp_path).records(reading)] == ["c.jsonl#1", "d.txt#1"]
    for named, place in zip(
        reading.first_skipped, ("a.txt: it is not text", "b.json: not usable", "c.jsonl:2: not"), strict=True
    ):
        assert named.startswith(f"{tmp_path}/{place}")
    with pytest.raises(CorpusError, match=r"a\.txt: it is not text: it has zero bytes"):
        records(tmp_path / "a.txt")


def cut(folder: Path, name: str, text: str, chunking: ChunkOptions | None = None) -> list[tuple[str, str]]:
    (folder / name).write_text(text)
    return [(each.title, each.text) for each in open_corpus(folder / name, chunking=chunking).records(CorpusReading())]


HANDBOOK = """---
author: HR
tags: [a, b]
---
# Employee handbook

Welcome.

<!-- not shown -->

Time off
--------

### Vacation ###

Everyone gets 30 days.

- in summer
- in winter

```sh
# no heading
book --days 3
```

### `Sick` [leave](x.html)

| who  | days |
|------|------|
| all  | 10   |

## Pay
"""


def test_passages_stand_under_their_headings_and_keep_tables_lists_and_code(tmp_path: Path) -> None:
    assert cut(tmp_path, "h.md", HANDBOOK) == [
        ("Employee handbook", "Employee handbook\n\nWelcome."),
        (
            "Employee handbook > Time off > Vacation",
            "Vacation\n\nEveryone gets 30 days.\n\n- in summer\n- in winter\n\n```sh\n# no heading\nbook --days 3\n```",
        ),
        ("Employee handbook > Time off > Sick leave", "Sick leave\n\n| who | days |\n|---|---|\n| all | 10 |"),
        ("Employee handbook > Pay", "Pay"),
    ]
    first, vacation, *_ = records(tmp_path / "h.md")
    assert vacation.metadata == {
        "author": "HR",
        "source": "h.md",
        "section": "Employee handbook > Time off > Vacation",
    }
    assert (first.line, vacation.line) == (5, 14)
    index = index_in_memory(records(tmp_path), "test")
    assert index.search("How many vacation days are there?", 1)[0].passage.text.startswith("Vacation\n\nEveryone gets")


def test_a_long_text_is_read_in_parts_as_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"{HANDBOOK.replace('# Employee', f'# Part {number} of')}\n" for number in range(3))
    whole = cut(tmp_path, "h.md", text)
    monkeypatch.setattr(markdown_sections, "_PART_LENGTH", 10)
    assert cut(tmp_path, "h.md", text) == whole
    assert [each.line for each in records(tmp_path / "h.md")][:3] == [5, 14, 26]


def test_prose_without_headings_is_cut_as_text_is(tmp_path: Path) -> None:
    text = f"{prose(9)}\n{prose(40, 30)}\n\n{prose(3, 250)}\n\n  {prose(2)}\r\n"
    assert [each for _, each in cut(tmp_path, "a.md", text)] == [each for _, each in cut(tmp_path, "a.txt", text)]


def test_a_long_table_is_cut_by_rows_under_its_head_and_code_by_lines(tmp_path: Path) -> None:
    rows = [f"| row {n} | {'word ' * 10}|" for n in range(60)]
    passages = cut(tmp_path, "a.md", "\n".join(["| a | b |", "|---|---|", *rows]))
    assert len(passages) > 5
    assert all(text.startswith("| a | b |\n|---|---|\n| row ") for _, text in passages)
    assert [line for _, text in passages for line in text.split("\n")[2:]] == rows
    code = [f"    value_{n} = compute(value, {n})" for n in range(200)]
    parts = [text for _, text in cut(tmp_path, "b.md", "\n".join(code))]
    assert "\n".join(parts).split("\n") == code
    assert max(count_words(part) for part in parts) <= 100


@pytest.mark.parametrize(("words", "overlap"), [(30, 0), (30, 12), (300, 40)])
def test_length_and_overlap_can_be_chosen(tmp_path: Path, words: int, overlap: int) -> None:
    passages = [text for _, text in cut(tmp_path, "a.txt", prose(200), ChunkOptions(words, overlap))]
    assert all(abs(len(each.split()) - words) <= 10 for each in passages[:-1])
    sentences = [each.split(". ") for each in passages]
    shared = [
        sum(one.rstrip(".") in {x.rstrip(".") for x in before} for one in after)
        for before, after in pairwise(sentences)
    ]
    assert set(shared) == {overlap // 10}
    for bad in ((5, 0), (100, 51), (100, -1)):
        with pytest.raises(SettingsError):
            ChunkOptions(*bad)


def test_padding_rules_and_pipes_are_no_words_and_a_row_stays_whole(tmp_path: Path) -> None:
    rows = [f"| {name.ljust(60)} | {'a yearly check of the teeth and the eyes'.ljust(90)} |" for name in "ABCDEF"]
    table = "\n".join([f"| {'plan'.ljust(60)} | {'what it pays'.ljust(90)} |", f"|{'-' * 62}|{'-' * 92}|", *rows])
    ((_, text),) = cut(tmp_path, "a.md", table)
    assert text.split("\n")[:3] == [
        "| plan | what it pays |",
        "|---|---|",
        "| A | a yearly check of the teeth and the eyes |",
    ]


def test_a_wide_row_is_cut_between_cells_beside_its_first_cell(tmp_path: Path) -> None:
    cells = [f"cell {n} of the row has {'some ' * 25}words" for n in range(12)]
    lines = [",".join(["part", *(f"column {n}" for n in range(12))]), ",".join(["NP-440", *cells])]
    passages = [text for _, text in cut(tmp_path, "a.csv", "\n".join(lines))]
    assert len(passages) > 2
    assert all(text.startswith("| part | column ") and "\n| NP-440 | cell" in text for text in passages)
    assert all(sum(cell in text for text in passages) == 1 for cell in cells)


def test_a_row_of_a_file_of_values_is_named_and_none_is_lost(tmp_path: Path) -> None:
    rows = "\n".join(f"{n};a remark about the part with the number {n}" for n in range(2, 40))
    (tmp_path / "a.csv").write_text(f"part;remark\n{rows}\n40;more;beyond the names\n")
    found = records(tmp_path / "a.csv")
    assert all(each.text.startswith("| part | remark |") for each in found)
    assert "| 40 | more | beyond the names |" in found[-1].text
    assert str(found[0].metadata["section"]).startswith("rows 2-")
    assert str(found[-1].metadata["section"]).endswith("-40")


def test_a_heading_within_a_text_stands_with_what_follows_it() -> None:
    blocks = [Element("text", prose(6)), Element("heading", "Pay"), Element("text", prose(8))]
    first, second, *_ = (each.text for each in split_blocks(blocks, ChunkOptions(60)))
    assert "Pay" not in first
    assert second.startswith("Pay\n\nSentence 0")


def test_a_long_cell_stays_one_cell_in_each_part_of_its_row(tmp_path: Path) -> None:
    remark = " ".join(f"The pump number {number} was tested in the spring." for number in range(40))
    passages = cut(tmp_path, "a.csv", f"id,remark,price\nNP-440,{remark},12.50\n")
    assert all(text.startswith("| id | remark |") and "| NP-440 | The pump" in text for _, text in passages)
    assert passages[-1][1].endswith("| 12.50 |")


def test_a_wide_table_is_cut_by_columns_that_keep_their_names_and_the_key(tmp_path: Path) -> None:
    names = ",".join(["Key", *(f"Column number {at}" for at in range(40))])
    row = ",".join(["K-1", *(f"value {at} of one" for at in range(40))])
    passages = [text for _, text in cut(tmp_path, "a.csv", f"{names}\n{row}\n")]
    assert len(passages) > 1
    assert all(text.startswith("| Key | Column number") and "\n| K-1 | value" in text for text in passages)
    (last,) = [text for text in passages if "Column number 39" in text]
    assert last.endswith("| value 39 of one |")


NAMES = "| name | price |\n|---|---|\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("sep=;\nname;price\nLamp;1,50\n", f"{NAMES}| Lamp | 1,50 |"),
        ("# by X, Y, Z\nname,price\nLamp,12\n", f"by X, Y, Z\n\n{NAMES}| Lamp | 12 |"),
        ("name,price\nLamp,12\n\nBell,3\n", f"{NAMES}| Lamp | 12 |\n| Bell | 3 |"),
        ("name,price\n\nLamp,12\n\nBell,3\n", f"{NAMES}| Lamp | 12 |\n| Bell | 3 |"),
        ("name,price\nLamp,12\n\nroom,area,floor\nA-3,12,1\n", f"{NAMES}| Lamp | 12 |\n\n| room | area | floor |"),
        ("name;price\n['a', 'b'];62.25\n['c', 'd'];1\n", f"{NAMES}| ['a', 'b'] | 62.25 |"),
        ('name,price\n"a ""b"", c",12\n', f'{NAMES}| a "b", c | 12 |'),
        ('name,price\n"5 inch,12\n7 inch,3\n', f'{NAMES}| "5 inch | 12 |\n| 7 inch | 3 |'),
        ('name,price\n"a \\"b\\", c",12\n', f'{NAMES}| a "b", c | 12 |'),
        ("name,price\n'tis,O'Neil's\n", f"{NAMES}| 'tis | O'Neil's |"),
        ("P-1,Lamp\nP-2,Bell\n", "| P-1 | Lamp |\n| P-2 | Bell |"),
        ("Who are you?,How old?\nAda,36\n", "| Who are you? | How old? |\n|---|---|"),
        (f"name,{'of the price ' * 6}\nLamp,12\n", f"| name | {'of the price ' * 6}|\n|---|---|"),
        ("Sales,,,2024\nname,Q1,Q2,Q3\nLamp,1,2,3\n", "Sales 2024\n\n| name | Q1 | Q2 | Q3 |\n|---|---|---|---|"),
        ('name;price\n"Ada L.";12\nBob;\n', f"{NAMES}| Ada L. | 12 |\n| Bob |  |"),
        ("Prices of 2026,,\nname,price\nLamp,12\n", f"Prices of 2026\n\n{NAMES}| Lamp | 12 |"),
        ("A\nB\n\nname,2021,2022\nX,10,1.50\n", "A\n\nB\n\n| name | 2021 | 2022 |\n|---|---|---|\n| X | 10 | 1.50 |"),
        (
            "Item,2023,,2024,\n,Sold,Left,Sold,Left\nX,1,2,3,4\n",
            "| Item | 2023 Sold | 2023 Left | 2024 Sold | 2024 Left |",
        ),
        ("1,Kiel\n2,Bonn\n", "| 1 | Kiel |\n| 2 | Bonn |"),
        (f"name,price\nLamp,{'x ' * 70_000}\nBell,3\n", f"{NAMES}| Lamp | x x"),
    ],
)
def test_values_as_programs_and_people_write_them(tmp_path: Path, content: str, text: str) -> None:
    assert cut(tmp_path, "a.csv", content)[0][1].startswith(text)


QUOTED = "> The tower\n> is old.\n>\n> | a | b |\n> |---|---|\n> | 1 | 2 |\n"
DETAILS = "<details><summary>Prices</summary>\n<table><tr><th>a<th>b<tr><td>1<td>2 &lt; 3</table></details>\n"
CELLS = [
    {"cell_type": "markdown", "source": ["# Lamps\n", "\n", "They burn."]},
    {"cell_type": "code", "source": "print(3)", "outputs": [{"text": ["3\n"]}]},
]
ISSUES = [{"title": "Lamp", "body": "One."}, {"title": "Bell", "body": "Two."}]
TICKET = '{"id": "T-17", "subject": "Leak", "body": "It drips.", "price": 9.50, "open": false, "url": "https://x.org"}'
PLAIN = "Offices.  All in Kiel.\nAsk us.\n\n* first\n* second\n\nName      Room\nMara K.   A-3\nUdo B.    C-17\n"
FRAMED = (
    "+--+--+\n| Name | Room |\n+--+--+\n| Mara K. | A-3 |\n| Udo B. | C-17 |\n+--+--+\n\nOrder no.: 17\nTotal: 12 €\n"
)
RULED = "=====  =====\nName   Price\n=====  =====\nLamp   12\n=====  ====="
ROOMS = "| Name | Room |\n|---|---|\n| Mara K. | A-3 |\n| Udo B. | C-17 |"
QUOTES = [("a", "Old"), ("a", '"So be it, said Otto'), ("a", "New"), ("a", '"No')]
TEAM = [("a > Leave", "30 days."), ("a", "team lead 1: Ada\nteam lead 2: Bob")]
TWO = [("a", "One."), ("a", "Two.")]
TOLD = {"title": "Lamp", "body": "It burns."}
FEED, GUIDE = "&lt;p&gt;It burns.&lt;/p&gt;", "Guide\n\nIt burns.\n\n| a | b |\n|---|---|\n| c | d |"
PARTS = "<table><row><entry>a</entry><entry>b</entry></row><row><entry>c</entry><entry>d</entry></row></table>"
RAIN = ("It rains. " * 30).strip()
COMMENT = ".. code-block:: python\n\n   # load\n   x = 1\n\n.. note::\n\n   It is\n   green."


@pytest.mark.parametrize(
    ("name", "content", "passages"),
    [
        ("a.md", "---\ntitle: Leave\n---\n# A\n\nOne.\n", [("Leave > A", "A\n\nOne.")]),
        ("a.md", "# A\n\nOne.\n\n# B\n\nTwo.\n", [("a > A", "A\n\nOne."), ("a > B", "B\n\nTwo.")]),
        ("a.md", "## B\n\nTwo.\n\n# A\n\nOne.\n", [("a > B", "B\n\nTwo."), ("a > A", "A\n\nOne.")]),
        ("a.md", f"# {'x' * 300}\n\n## Last\n\nOne.", [(f"{'x' * 100} > Last", "Last\n\nOne.")]),
        ("a.md", '+++\ntitle = "Pumps"\n+++\nIt leaks.\n', [("Pumps", "It leaks.")]),
        ("a.md", "Use snake\\_case &amp; `a\\_b`, 2 \\* 3.\n", [("a", "Use snake_case & `a\\_b`, 2 * 3.")]),
        ("a.md", "## <a name='x'></a>B {#b}\n\n<kbd>C</kbd><br>D\n", [("B", "B\n\nC D")]),
        ("a.md", "<h1 align=center>A</h1>\n\n<pre>\n1\n2</pre>\n\n## B\n", [("A", "A\n\n1\n2"), ("A > B", "B")]),
        (
            "a.adoc",
            "= A\n:toc:\n\n== B\n\n----\n== C\n----\n\n|===\n|D\n|===\n",
            [("A > B", "B\n\n```\n== C\n```\n\n|D")],
        ),
        ("a.org", "#+TITLE: A\n* B\n#+BEGIN_SRC\n* C\n#+END_SRC\n", [("A > B", "B\n\n```\n* C\n```")]),
        ("a.rst", "A\n=\n\n.. _b:\n\n.. C\n   D\n\nE.\n", [("A", "A\n\nE.")]),
        ("a.md", QUOTED, [("a", "The tower is old.\n\n| a | b |\n|---|---|\n| 1 | 2 |")]),
        ("a.md", f"# A\n\n{DETAILS}\nEnd.\n", [("A", "A\n\nPrices\n\n| a | b |\n|---|---|\n| 1 | 2 < 3 |\n\nEnd.")]),
        (
            "a.rst",
            f"=====\nGuide\n=====\n\nHi.\n\nSetup\n-----\n\nRun it::\n\n    make\n\n{COMMENT}\n\n{RULED}\n",
            [
                ("Guide", "Guide\n\nHi."),
                (
                    "Guide > Setup",
                    "Setup\n\nRun it::\n\n    make\n\n.. code-block:: python\n\n```\n   # load\n   x = 1\n```\n\n"
                    f".. note::\n\nIt is green.\n\n```\n{RULED}\n```",
                ),
            ],
        ),
        ("a.txt", PLAIN, [("a", f"Offices. All in Kiel. Ask us.\n\n* first\n* second\n\n{ROOMS}")]),
        ("a.txt", FRAMED, [("a", f"{ROOMS}\n\nOrder no.: 17\nTotal: 12 €")]),
        ("a.ipynb", {"cells": CELLS}, [("Lamps", "Lamps\n\nThey burn.\n\n```\nprint(3)\n```\n\n```\n3\n```")]),
        ("a.tsv", "1\tThe tower.\n2\tThe river.\n", [("a", "The tower."), ("a", "The river.")]),
        ("a.tsv", 'd1\tOld\nd2\t"So be it, said Otto\nd3\tNew\nd4\t"No\n', QUOTES),
        ("a.tsv", "part\tprice\n7\t12\n", [("a", "| part | price |\n|---|---|\n| 7 | 12 |")]),
        (
            "a.json",
            {"repo": "x", "issues": ISSUES},
            [("a > Lamp", "One."), ("a > Bell", "Two."), ("a", "repo: x")],
        ),
        ("a.json", {"result": {"hits": [{"text": "It burns."}]}}, [("a", "It burns.")]),
        ("a.jsonl", '{"title": "Leave", "text": "30 days."}\n{"team": {"lead": ["Ada", "Bob"]}}\n', TEAM),
        ("a.json", '{"text": "One."}\n{"text": "Two."}\n', TWO),
        ("a.ndjson", '{"text": "One."}\n{"text": "Two."}\n', TWO),
        ("a.json", '{\n"text": "One."\n}\n{\n"text": "Two."\n}', TWO),
        ("a.jsonl", '{\n"text": "One."\n},\n{\n"text": "Two."\n}', TWO),
        ("a.json", '{"text": "One."}\nno\n{"text": "Two."}', TWO),
        ("a.json", [{"text": "Short.", "content": "The mill burnt down."}], [("a", "Short.\n\nThe mill burnt down.")]),
        ("a.json", [{"contents": '"Arden"\nA tower.'}], [("a > Arden", "A tower.")]),
        ("a.json", [{"contents": ["One.", "Two."]}], [("a", "contents 1: One.\ncontents 2: Two.")]),
        ("a.json", [{"text": {"en": "One."}}], [("a", "text en: One.")]),
        ("a.json", '[{"dose": 0.00000001, "rate": 1.5E3, "x": NaN}]', [("a", "dose: 0.00000001\nrate: 1.5E3\nx: NaN")]),
        ("a.jsonl", TICKET, [("a > Leak", "It drips.\n\nid: T-17\nprice: 9.50\nopen: false")]),
        ("a.json", [{"name": "Lamp", "embedding": [0.1] * 9, "price": 1.5}], [("a > Lamp", "price: 1.5")]),
        ("a.json", '{"lamps": 3, // in all\n"url": "http://x",}', [("a", "lamps: 3\nurl: http://x")]),
        ("a.json", {"data": {"hits": {"edges": [{"node": TOLD}, {"node": TOLD}]}}}, [("a > Lamp", "It burns.")] * 2),
        ("a.json", [["name", "price"], ["Lamp", 12]], [("a", f"{NAMES}| Lamp | 12 |")]),
        ("a.json", '{"tag": "red", "tag": "blue"}', [("a", "tag 1: red\ntag 2: blue")]),
        ("a.jsonl.gz", gzip.compress(b'{"text": "One."}', mtime=0), [("a.jsonl", "One.")]),
        (
            "a.vcf",
            "BEGIN:VCARD\nFN:Ada L\n .\nNOTE:a\\, b\nPHOTO:/9j/\nEND:VCARD",
            [("a > Ada L.", "FN: Ada L.\nNOTE: a, b")],
        ),
        ("a.srt", "1\n00:01,0 --> 00:02,0\nIt is\n\n2\n00:02,0 --> 00:03,0\n<i>old</i>.\n", [("a", "It is old.")]),
        ("a.properties", "city=K\\u00f6ln", [("a.properties", "city=Köln")]),
        ("prod.env", "KEY=1", []),
        ("a.xml", f"<rss><item><title>Lamp</title><body>{FEED}</body></item></rss>", [("a > Lamp", "It burns.")]),
        (
            "a.xml",
            f"<a><title>Guide</title><para>It <b>burns</b>.</para>{PARTS}</a>",
            [("Guide", GUIDE)],
        ),
        ("a.json", [{"summary": "It rains. " * 30, "body": "It snows."}], [("a", f"It snows.\n\nsummary: {RAIN}")]),
    ],
)
def test_every_form_of_file_becomes_passages(
    tmp_path: Path, name: str, content: object, passages: list[tuple[str, str]]
) -> None:
    (tmp_path / "z.md").write_text("It rains.")
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    assert [(each.title, each.text) for each in records(tmp_path) if each.id != "z.md#1"] == passages
