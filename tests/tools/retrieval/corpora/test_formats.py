import json
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import BadRecordError, CorpusError, SettingsError
from hopgraph.tools.retrieval.corpora import CorpusReading, SourceRecord, hash_passage, open_corpus


def records(source: Path, format_name: str | None = None, *, skip_invalid: bool = False) -> list[SourceRecord]:
    return list(open_corpus(source, format_name).records(CorpusReading(skip_invalid)))


def contents(source: Path, format_name: str | None = None) -> list[tuple[str, str, str]]:
    return [(record.id, record.title, record.text) for record in records(source, format_name)]


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def both_ways(folder: Path, values: list[Any]) -> list[Path]:
    """Write the values as a list and as lines, under names that do not tell."""
    (folder / "a.dat").write_text(json.dumps(values, indent=1))
    (folder / "b.dat").write_text(lines(values))
    return [folder / "a.dat", folder / "b.dat"]


def test_beir(tmp_path: Path) -> None:
    values = [
        {"_id": "p1", "title": "One", "text": "First text.", "metadata": {"url": "x"}},
        {"_id": "p2", "text": "Second «text»."},
        {"id": 3, "title": None, "text": "Third."},
    ]
    expected = [("p1", "One", "First text."), ("p2", "", "Second «text»."), ("3", "", "Third.")]
    for path in both_ways(tmp_path, values):
        assert open_corpus(path).format == "beir"
        assert contents(path) == expected
    (tmp_path / "corpus.jsonl").write_text(lines(values))
    assert contents(tmp_path) == contents(tmp_path, "beir") == expected
    assert [(record.file, record.line) for record in records(tmp_path)] == [
        (tmp_path / "corpus.jsonl", n) for n in (1, 2, 3)
    ]


HOTPOT = [
    {"_id": "q1", "question": "?", "context": [["Fox", ["A fox runs.", " It hides."]], ["Hen", ["A hen."]]]},
    {
        "_id": "q2",
        "question": "?",
        "context": [["Hen", ["A hen."]], ["Hen", ["Another hen.", " It flies."]], ["Owl", [" "]]],
    },
]


def test_hotpotqa_is_pooled_each_paragraph_once(tmp_path: Path) -> None:
    expected = [("Fox", "A fox runs. It hides."), ("Hen", "A hen."), ("Hen", "Another hen. It flies.")]
    for path in both_ways(tmp_path, HOTPOT):
        assert open_corpus(path).format == "hotpotqa"
        assert contents(path) == [(hash_passage(title, text), title, text) for title, text in expected]
    (tmp_path / "reversed.json").write_text(json.dumps(HOTPOT[::-1]))
    assert sorted(contents(tmp_path / "reversed.json")) == sorted(contents(tmp_path / "a.dat"))


def test_2wikimultihopqa_and_the_column_form_of_hotpotqa(tmp_path: Path) -> None:
    wiki = {"question": "?", "evidences": [], "context": [["Fox", ["A fox runs.", "It hides."]]]}
    columns = {"question": "?", "context": {"title": ["Fox"], "sentences": [["A fox runs.", " It hides."]]}}
    for path in both_ways(tmp_path, [wiki]):
        assert open_corpus(path).format == "2wikimultihopqa"
    (tmp_path / "columns.json").write_text(lines([columns]))
    name = hash_passage("Fox", "A fox runs. It hides.")
    assert contents(tmp_path / "a.dat") == contents(tmp_path / "columns.json")
    assert contents(tmp_path / "a.dat") == [(name, "Fox", "A fox runs. It hides.")]


def test_musique_and_contexts_of_open_questions(tmp_path: Path) -> None:
    musique = [{"question": "?", "paragraphs": [{"idx": 0, "title": "Fox", "paragraph_text": "A fox."}] * 2}]
    contexts = [{"question": "?", "answers": [], "ctxs": [{"title": "Fox", "text": "A fox."}]}]
    for values, name in ((musique, "musique"), (contexts, "nq")):
        for path in both_ways(tmp_path, values):
            assert open_corpus(path).format == name
            assert contents(path) == [(hash_passage("Fox", "A fox."), "Fox", "A fox.")]


def test_dpr(tmp_path: Path) -> None:
    path = tmp_path / "psgs_w100.tsv"
    path.write_text('id\ttext\ttitle\n1\t"He said ""no""\tto \'em."\t"A ""B"""\r\n2\tPlain text\tTitle\n\n')
    assert open_corpus(path).format == "dpr"
    assert contents(path) == [("1", 'A "B"', 'He said "no"\tto \'em.'), ("2", "Title", "Plain text")]
    headless = tmp_path / "headless.tsv"
    headless.write_text("7\tText\tTitle\n")
    assert contents(headless, "dpr") == [("7", "Title", "Text")]


@pytest.mark.parametrize(
    ("name", "text", "line", "reason"),
    [
        ("dpr", "id\ttext\ttitle\n1\tText\n2\tText\tTitle\n", 2, "expected 3 fields"),
        ("dpr", 'id\ttext\ttitle\n1\t"Never closed\tTitle\n2\tText\tTitle\n', 2, "not tab-separated fields"),
        ("beir", '{"_id": "1", "text": "a"}\n{"_id": " ", "text": "b"}\n', 2, "_id is missing"),
        ("beir", '{"_id": "1", "text": "a"}\n{"_id": true, "text": "b"}\n', 2, "_id is missing"),
        ("beir", '{"_id": "1", "text": "a"}\n{"_id": "2", "text": 5}\n', 2, "text is missing or not text"),
        ("beir", '{"_id": "1", "text": "a"}\n{"_id": "2", "text": "b", "title": []}\n', 2, "title is not text"),
        ("beir", '[{"_id": "1", "text": "a"},\n7]', 2, "expected an object, found a int"),
        ("hotpotqa", '[{"question": "", "context": [["A", ["b"]]]},\n{"question": ""}]', 2, "context is missing"),
        ("hotpotqa", '{"context": [["A", ["b"]]]}\n{"context": [["A", "b"]]}', 2, "paragraph 1 of context"),
        ("hotpotqa", '{"context": [["A", ["b"]]]}\n{"context": [["A", [1]]]}', 2, "a sentence of paragraph 1 is a int"),
        (
            "hotpotqa",
            '{"context": [["A", ["b"]]]}\n{"context": {"title": ["A"], "sentences": []}}',
            2,
            "1 titles but 0",
        ),
        ("musique", '{"paragraphs": [{"title": "A", "paragraph_text": "b"}]}\n{"paragraphs": [{}]}', 2, "is missing"),
        ("nq", '{"ctxs": [{"title": "A", "text": "b"}]}\n{"ctxs": ["b"]}', 2, "paragraph 1 of ctxs is not an object"),
    ],
)
def test_a_bad_record_is_named_or_skipped(tmp_path: Path, name: str, text: str, line: int, reason: str) -> None:
    path = tmp_path / "corpus.dat"
    path.write_text(text)
    with pytest.raises(BadRecordError) as error:
        records(path, name)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert reason in str(error.value)
    assert "\n" not in str(error.value)
    reading = CorpusReading(skip_invalid=True)
    good = list(open_corpus(path, name).records(reading))
    assert (len(good), reading.skipped) == (2 if name == "dpr" and len(text.splitlines()) == 4 else 1, 1)


def test_every_format_tells_itself_from_the_others(shared_data: Path) -> None:
    found = {
        name: open_corpus(shared_data / name).format
        for name in (
            "hotpotqa/train_100.json",
            "2wikimultihopqa/train_200.json",
            "musique/train_100.jsonl",
            "nq/open_oracle_500.jsonl",
        )
    }
    assert list(found.values()) == ["hotpotqa", "2wikimultihopqa", "musique", "nq"]
    assert len(records(shared_data / "hotpotqa" / "train_100.json")) == 994


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.json", b"claim: c", "x.json: unknown format: it does not start like JSON"),
        ("x.png", b"\x89PNG\r\n\x1a\n" + bytes(1000), "1 file not read: .png ×1; supported: .adoc, .csv,"),
        ("x.jsonl", b"\n \n", "it is empty"),
        ("docs/train.json", b'[{"question": "q", "context": []}]', "no text in this folder (question sets, index "),
        ("docs/empty.txt", b"", "no text in this folder; it needs corpus.jsonl"),
        ("", b"", "no such file or folder"),
    ],
)
def test_what_cannot_be_a_corpus_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    source = tmp_path / (name.split("/")[0] or "missing")
    if name:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError) as error:
        open_corpus(source)
    assert str(source) in str(error.value)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_a_format_may_be_forced_but_must_exist(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "text": "a"}')
    (tmp_path / "notes.txt").write_text("Some notes.")
    assert contents(tmp_path, "text") == [("corpus.jsonl#1", "corpus", "a"), ("notes.txt#1", "notes", "Some notes.")]
    with pytest.raises(SettingsError, match="'bier' is unknown; did you mean 'beir'"):
        open_corpus(tmp_path, "bier")
    with pytest.raises(CorpusError, match="is a folder; for the format dpr name the file itself"):
        open_corpus(tmp_path, "dpr")
