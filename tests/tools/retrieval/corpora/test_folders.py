"""Folders as people have them: links, sockets, code, question sets, and records of every form."""

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from hopgraph.state import CorpusError
from hopgraph.tools.apps.cli import main
from hopgraph.tools.retrieval.corpora import CorpusReading, SourceRecord, open_corpus, text_files


def records(source: Path, **options: bool | list[str]) -> list[SourceRecord]:
    return list(open_corpus(source, **options).records(CorpusReading()))  # pyright: ignore[reportArgumentType]


def write(folder: Path, name: str, content: object) -> Path:
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content if isinstance(content, str) else json.dumps(content))
    return place


def test_without_the_extra_its_files_are_counted_and_the_others_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "can_convert", lambda: False)
    for name in ("a.pdf", "b.PDF", "c.docx", "d.png", "e"):
        (tmp_path / name).write_bytes(b"x\0")
    assert [each.text for each in records(write(tmp_path, "f.md", "A fox.").parent)] == ["A fox."]
    install = "(pip install 'hopgraph[documents]')"
    left_out = f"5 files not read: .pdf ×2 {install}, .docx ×1 {install}, .png ×1, no suffix ×1"
    assert open_corpus(tmp_path).left_out == left_out
    with pytest.raises(CorpusError, match=r"a\.pdf: 1 file not read: \.pdf ×1 \(pip install 'hopgraph\[documents"):
        open_corpus(tmp_path / "a.pdf")


def test_links_and_sockets_are_named_and_stop_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = write(tmp_path / "docs", "a.md", "It rains.").parent
    outside = write(tmp_path, "secret.md", "Secret.")
    (docs / "b.md").symlink_to(outside)
    (docs / "gone.md").symlink_to(tmp_path / "nothing")
    (docs / "inner").symlink_to(tmp_path)
    monkeypatch.chdir(docs)  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.txt")
        corpus = open_corpus(docs)
    assert [path.name for path in corpus.files] == ["a.md"]
    for name in ("b.md", "inner", "s.txt"):
        assert f"{docs / name}: this is a" in corpus.left_out
    assert {each.text for each in records(docs, follow_links=True)} == {"It rains.", "Secret."}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are Unicode")
def test_a_name_that_is_not_utf_8_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path / "docs", os.fsdecode(b"caf\xe9.md"), "It rains.")
    assert main(["index", str(tmp_path / "docs"), "--out", str(tmp_path / "index")]) == 0
    (passage,) = (tmp_path / "index" / "passages.jsonl").read_text().splitlines()
    assert json.loads(passage)["metadata"]["source"] == "caf\\xe9.md"


def test_what_is_excluded_is_not_read(tmp_path: Path) -> None:
    for name in ("a.md", "drafts/b.md", "old/c.md", "node_modules/d.md", "e.md~", "x/__pycache__/f.md", "~$a.md"):
        write(tmp_path, name, "It rains.")
    (tmp_path / ".hopgraphignore").write_text("# not yet\ndrafts/\n", encoding="utf-16")
    assert [each.id for each in records(tmp_path)] == ["a.md#1", "old/c.md#1"]
    assert [each.id for each in records(tmp_path, exclude=["old/*", "!a.md"])] == ["a.md#1"]
    assert [each.id for each in records(tmp_path, exclude=["*", "!*/", "!c.md"])] == ["old/c.md#1"]
    with pytest.raises(CorpusError, match="'!'"):
        records(tmp_path, exclude=["!"])


def test_text_of_an_unknown_suffix_is_read_with_its_lines_and_code_is_cut_at_functions(tmp_path: Path) -> None:
    body = "\n".join(f"    total = compute_all_of_them(total, step_{n})" for n in range(12))
    code = "\n\n".join(f"def measure_{name}(total):\n{body}" for name in "abcdef")
    write(tmp_path, "a.py", code)
    write(tmp_path, "b.toml", "[lamp]\ncolor = 'red'\n")
    write(tmp_path, "Makefile", "all:\n\tmake lamp\n")
    (tmp_path / "c.bin").write_bytes(bytes(range(256)))
    found = records(tmp_path)
    assert {each.id.partition("#")[0] for each in found} == {"a.py", "b.toml", "Makefile"}
    assert next(each for each in found if each.id == "b.toml#1").text == "[lamp]\ncolor = 'red'"
    parts = [each.text for each in found if each.id.startswith("a.py")]
    assert len(parts) > 1
    assert all(part.startswith("def measure_") for part in parts)
    assert open_corpus(tmp_path).left_out == "1 file not read: .bin ×1"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.jsonl", {"question": "When was it built?", "answer": ["1407"]}),
        ("q.json", [{"id": 1, "question": "When was it built?", "golden_answers": ["1407"]}]),
        ("q.csv", "id,question,answer\n1,When was it built?,1407\n"),
        ("q.json", {"version": "2", "data": [{"title": "A", "paragraphs": [{"context": "1407", "qas": []}]}]}),
    ],
)
def test_answers_of_question_sets_are_not_indexed(tmp_path: Path, name: str, content: object) -> None:
    write(tmp_path, "a.md", "It rains.")
    write(tmp_path, name, content)
    corpus = open_corpus(tmp_path)
    assert [path.name for path in corpus.files] == ["a.md"]
    assert corpus.left_out == f"question sets, index them separately: {name}"


def test_what_a_record_has_beside_its_text_is_its_metadata(tmp_path: Path) -> None:
    (found,) = records(write(tmp_path, "a.jsonl", {"text": "30 days.", "url": "https://example.org/a"}).parent)
    assert found.metadata["url"] == "https://example.org/a"


def test_frequent_questions_are_no_question_set(tmp_path: Path) -> None:
    rows = "question,answer\nWho approves it?,The head of the department approves all travel beforehand.\n"
    (found,) = records(write(tmp_path, "a.csv", rows).parent)
    assert found.text.endswith("| Who approves it? | The head of the department approves all travel beforehand. |")


def test_passages_of_flashrag_have_their_ids_and_titles(tmp_path: Path) -> None:
    lines = ['{"id": "1", "contents": "\\"Arden\\"\\nA tower."}', '{"id": 2, "contents": "No title."}']
    file = write(tmp_path, "wiki.jsonl", "\n".join(lines))
    assert [(each.id, each.title, each.text) for each in records(file)] == [
        ("1", "Arden", "A tower."),
        ("2", "", "No title."),
    ]


def test_documents_beside_a_corpus_are_named(tmp_path: Path) -> None:
    write(tmp_path, "corpus.jsonl", {"_id": "1", "text": "It rains."})
    for name in ("handbook.MD", "notes.json", "queries.jsonl", "qrels/test.tsv"):
        write(tmp_path, name, "25 days.")
    corpus = open_corpus(tmp_path)
    assert corpus.format == "beir"
    assert corpus.left_out.startswith("2 documents next to corpus.jsonl not read")
    assert corpus.left_out.endswith("handbook.MD, notes.json")


def test_the_passages_of_one_file_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "a.csv", "part,price\n7,12\n")
    write(tmp_path, "b.md", "It rains.")
    assert main(["index", str(tmp_path), "--show", "a.csv"]) == 0
    printed = capsys.readouterr().out
    assert "a.csv#1" in printed
    assert "row 2" in printed
    assert "| 7 | 12 |" in printed
    assert "rains" not in printed
    assert main(["index", str(tmp_path), "--show", "c.md"]) == 1
    assert "c.md" in capsys.readouterr().err


def test_the_end_of_a_run_and_a_dry_run_count_files_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs = write(tmp_path / "docs", "a.md", "It rains.").parent
    write(docs, "b.md", "It snows.")
    write(docs, "c.jsonl", '{"text": "It hails."}\nno\n')
    (docs / "d.png").write_bytes(b"\x89PNG\0")
    write(docs, "e.md", "")
    for given in (["--dry-run"], []):
        assert main(["index", str(docs), "--out", str(tmp_path / "index"), *given]) == 0
        rows = [line.rstrip().split(maxsplit=4) for line in capsys.readouterr().out.splitlines()]
        assert ["kind", "files", "passages", "skipped", "why"] in rows
        assert [".md", "3", "2", "0", "a file has no text"] in rows
        assert [".png", "1", "0", "1", "not read"] in rows
        (lines,) = [row for row in rows if row[:1] == [".jsonl"]]
        assert lines[1:4] == ["1", "1", "1"]
        assert lines[4].startswith("not usable JSON")


def test_scanned_pages_are_read_where_tesseract_has_its_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "a.md", "It rains.")
    place = ["index", str(tmp_path), "--out", str(tmp_path / "index")]
    assert main([*place, "--ocr", "xyz"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "has no xyz.traineddata" in said
    assert "hopgraph[ocr]" in said
