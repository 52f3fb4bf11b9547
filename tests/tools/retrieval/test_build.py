import json
import os
from pathlib import Path

import numpy as np
import pytest

from hopgraph.state import BadRecordError, CorpusError, SettingsError
from hopgraph.tools.retrieval import build_index, open_index
from hopgraph.tools.text import get_analyzer
from support.paths import ROOT


def corpus(path: Path, *passages: tuple[str, str]) -> Path:
    path.write_text("".join(json.dumps({"_id": name, "title": "", "text": text}) + "\n" for name, text in passages))
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return corpus(tmp_path / "corpus.jsonl", ("a", "red fox"), ("b", "blue hen"))


def ids(index: Path, query: str = "fox hen") -> list[str]:
    return [hit.passage.id for hit in open_index(index).search(query, 10)]


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_what_carries_nothing_is_stored_as_before(tmp_path: Path) -> None:
    sample = ROOT / "tools" / "retrieval" / "sample" / "corpus.jsonl"
    out = build_index(sample, tmp_path / "index").path
    assert (out / "passages.jsonl").read_bytes() == sample.read_bytes()
    (tmp_path / "a.txt").write_text("A fox.")
    out = build_index(tmp_path / "a.txt", tmp_path / "own").path
    assert open_index(out).passages[0].metadata == {"source": "a.txt"}


def test_a_build_reports_what_it_did(source: Path, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int | None]] = []

    def progress(stage: str, done: int, total: int | None) -> None:
        steps.append((stage, done, total))

    report = build_index(source, tmp_path / "new" / "index", progress=progress)
    assert (report.format, report.passages, report.terms, report.skipped) == ("beir", 2, 4, 0)
    assert report.path == tmp_path / "new" / "index"
    assert ids(report.path) == ["a", "b"]
    assert [stage for stage, _, _ in steps] == sorted(
        [stage for stage, _, _ in steps], key=["read", "score", "save", "links"].index
    )
    assert all(total is None or done <= total for _, done, total in steps)
    assert ("read", source.stat().st_size, source.stat().st_size) in steps
    assert steps[-3:] == [("score", 0, None), ("save", 0, None), ("links", 0, None)]
    assert left_behind(report.path.parent) == []


def test_the_manifest_records_corpus_analyzer_and_scoring(source: Path, tmp_path: Path) -> None:
    build_index(source, tmp_path / "one")
    build_index(source, tmp_path / "two")
    manifest = json.loads((tmp_path / "one" / "manifest.json").read_text())
    assert manifest == json.loads((tmp_path / "two" / "manifest.json").read_text())
    assert manifest["analyzer"] == get_analyzer("auto").describe()
    assert manifest["bm25"] == {"method": "lucene", "k1": 0.9, "b": 0.4, "fields": ["title", "text"], "terms": 4}
    assert manifest["corpus"]["passages"] == 2
    assert set(manifest["libraries"]) == {"hopgraph", "bm25s", "numpy", "PyStemmer"}
    corpus(source, ("a", "red fox"), ("b", "blue hens"))
    build_index(source, tmp_path / "two")
    changed = json.loads((tmp_path / "two" / "manifest.json").read_text())
    assert changed["corpus"]["fingerprint"] != manifest["corpus"]["fingerprint"]


def test_nothing_in_an_index_is_pickled(source: Path, tmp_path: Path) -> None:
    build_index(source, tmp_path / "index")
    arrays = list((tmp_path / "index").rglob("*.npy"))
    assert len(arrays) == 12
    assert all(np.load(path, allow_pickle=False).dtype.kind in "iuf" for path in arrays)
    others = {path.suffix for path in (tmp_path / "index").rglob("*") if path.is_file()} - {".npy"}
    assert others == {".json", ".jsonl"}


def test_the_stored_passages_are_a_corpus_themselves(source: Path, tmp_path: Path) -> None:
    build_index(source, tmp_path / "index")
    build_index(tmp_path / "index" / "passages.jsonl", tmp_path / "again")
    assert ids(tmp_path / "again") == ids(tmp_path / "index")


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ('{"_id": "a", "text": "again"}', "the id 'a' is also on line 1"),
        ('{"_id": "b", "text": " \\n"}', "the passage 'b' has no text"),
        ('{"_id": "b", "text": "lone \\ud800"}', "the passage 'b' is not valid UTF-8"),
        ('{"_id": "b", "text": "cut', "not valid JSON"),
    ],
)
def test_a_bad_record_stops_the_build_or_is_counted(tmp_path: Path, second: str, reason: str) -> None:
    source = tmp_path / "corpus.jsonl"
    source.write_text(f'{{"_id": "a", "text": "red fox"}}\n{second}\n{{"_id": "c", "text": "blue hen"}}\n')
    with pytest.raises(BadRecordError) as error:
        build_index(source, tmp_path / "index")
    assert str(error.value).startswith(f"{source}:2: ")
    assert reason in str(error.value)
    assert not (tmp_path / "index").exists()
    report = build_index(source, tmp_path / "index", skip_invalid=True)
    assert (report.passages, report.skipped) == (2, 1)
    assert reason in report.first_skipped[0]
    assert ids(tmp_path / "index") == ["a", "c"]


def test_bytes_that_are_not_utf8_in_a_list_spoil_one_record(tmp_path: Path) -> None:
    source = tmp_path / "corpus.json"
    source.write_bytes(
        b'[{"_id": "a", "text": "red fox"},\n{"_id": "b", "text": "\xe9"},\n{"_id": "c", "text": "hen"}]'
    )
    with pytest.raises(BadRecordError, match=r"corpus\.json:2: the passage 'b' is not valid UTF-8"):
        build_index(source, tmp_path / "index")
    assert build_index(source, tmp_path / "index", skip_invalid=True).passages == 2


def test_a_source_without_anything_to_find_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no passage has a searchable word"):
        build_index(corpus(tmp_path / "corpus.jsonl", ("a", "the")), tmp_path / "index")
    with pytest.raises(CorpusError, match="no such file or folder"):
        build_index(tmp_path / "missing", tmp_path / "index")
    with pytest.raises(SettingsError, match="corpus format 'x' is unknown"):
        build_index(tmp_path / "corpus.jsonl", tmp_path / "index", format="x")
    assert left_behind(tmp_path) == []


def test_an_index_is_replaced_as_a_whole_and_a_link_to_it_stays_one(source: Path, tmp_path: Path) -> None:
    build_index(source, tmp_path / "index")
    opened = open_index(tmp_path / "index")
    (tmp_path / "link").symlink_to(tmp_path / "index")
    build_index(corpus(source, ("c", "green fox")), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert ids(tmp_path / "index") == ["c"]
    assert [hit.passage.id for hit in opened.search("fox hen", 10)] == ["a", "b"]  # who had it open keeps it
    (tmp_path / "empty").mkdir()
    build_index(source, tmp_path / "empty")
    assert ids(tmp_path / "empty") == ["c"]


def test_a_failed_build_leaves_the_old_index(source: Path, tmp_path: Path) -> None:
    build_index(source, tmp_path / "index")
    for content, error in (("", CorpusError), ('{"_id": "x", "text": "y"}\nbroken', BadRecordError)):
        source.write_text(content)
        with pytest.raises(error):
            build_index(source, tmp_path / "index")
        assert ids(tmp_path / "index") == ["a", "b"]
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("at", ["read", "score", "save"])
def test_an_interrupt_leaves_the_old_index(source: Path, tmp_path: Path, at: str) -> None:
    def interrupt(stage: str, _done: int, _total: int | None) -> None:
        if stage == at:
            raise KeyboardInterrupt

    build_index(source, tmp_path / "index")
    with pytest.raises(KeyboardInterrupt):
        build_index(source, tmp_path / "index", progress=interrupt)
    assert ids(tmp_path / "index") == ["a", "b"]
    assert left_behind(tmp_path) == []


def test_folders_and_files_of_others_are_never_replaced(source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("Years of work.")
    with pytest.raises(CorpusError, match=r"has files that do not belong to an index \(thesis.txt\)"):
        build_index(source, mine)
    for place in (source, source / "index"):
        with pytest.raises(CorpusError, match=r"corpus\.jsonl is a file; choose another folder"):
            build_index(source, place)
    build_index(source, tmp_path / "index")
    (tmp_path / "index" / "thesis.txt").write_text("Years of work.")
    with pytest.raises(CorpusError, match=r"\(thesis\.txt\)"):
        build_index(source, tmp_path / "index")
    assert (mine / "thesis.txt").exists()
    assert (tmp_path / "index" / "thesis.txt").exists()
    assert ids(tmp_path / "index") == ["a", "b"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_without_permission_cannot_be_written(source: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(CorpusError, match="the index cannot be written: Permission denied"):
        build_index(source, tmp_path / "closed" / "index")
