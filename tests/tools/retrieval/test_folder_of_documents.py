"""A folder with documents of every type: each is found by a question, and cited with its file and page or section."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs.baselines import one_step
from hopgraph.state import CorpusError
from hopgraph.tools.retrieval import build_index, open_index
from hopgraph.tools.retrieval.corpora import text_files
from support.made_documents import SUFFIXES, Part, make_pdf, write_document

COPIES = 5
HEADINGS = ["Zymurgy", "Quillwork", "Xylography", "Falconry", "Joinery"]
FLAT = {".csv", ".txt", ".pdf", ".rtf"}
"""Without headings."""


def place(suffix: str, copy: int) -> str:
    return f"{suffix[1:].capitalize()}burgh{'abcde'[copy]}"


def write_folder(folder: Path) -> list[Path]:
    """Sixty documents of twelve types, with two facts each, the second on another page or in another section."""
    folder.mkdir()
    files: list[Path] = []
    for suffix in SUFFIXES:
        for copy in range(COPIES):
            town = place(suffix, copy)
            parts = [
                Part("Opening", f"The museum of {town} opens at nine. It has a café."),
                Part(f"{HEADINGS[copy]} {town}x", f"The lighthouse of {town} was built by Ada {town}son."),
            ]
            files.append(write_document(folder / f"{town.lower()}{suffix}", f"Guide to {town}", parts))
    return files


@pytest.mark.slow
def test_every_type_is_found_by_a_question_and_cited_with_its_place(tmp_path: Path) -> None:
    pytest.importorskip("liteparse")
    folder = tmp_path / "docs"
    files = write_folder(folder)
    (folder / "scan.pdf").write_bytes(make_pdf([""]))
    (folder / "picture.png").write_bytes(b"\x89PNG")
    report = build_index(folder, tmp_path / "index")
    assert report.left_out == "1 file not read: .png ×1"
    assert [each.removeprefix(f"{folder}/").partition(":")[0] for each in report.first_skipped] == ["scan.pdf"]
    index = open_index(tmp_path / "index")
    stored = [index.passages[row] for row in range(len(index))]
    assert Counter(str(each.metadata["source"]) for each in stored).keys() == {file.name for file in files}
    for suffix in SUFFIXES:
        town = place(suffix, 1)
        context = one_step.Context(model="offline:extractive", retriever=f"bm25:{tmp_path / 'index'}")
        result = one_step.graph.invoke({"question": f"Who built the lighthouse of {town}?"}, context=context)
        cited: Any = result["citations"][0]
        assert f"{town}son" in (cited["quote"] if suffix == ".csv" else result["answer"])  # a row is quoted whole
        assert cited["source"] == f"{town.lower()}{suffix}"
        if suffix == ".pdf":
            assert cited["page"] == 2
        elif suffix not in FLAT:
            assert f"Quillwork {town}x" in cited["section"]
            (best,) = index.search(f"{town}x", 1)
            assert best.passage.metadata["source"] == cited["source"]
            assert f"{town}x" in best.passage.title


def test_without_the_extra_its_files_are_counted_and_the_others_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "can_convert", lambda: False)
    for name in ("a.pdf", "b.PDF", "c.docx", "d.png", "e"):
        (tmp_path / name).write_bytes(b"x\0")
    (tmp_path / "f.md").write_text("A fox.")
    report = build_index(tmp_path, tmp_path.parent / f"{tmp_path.name}-index")
    install = "(pip install 'hopgraph[documents]')"
    assert report.left_out == f"5 files not read: .pdf ×2 {install}, .docx ×1 {install}, .png ×1, no suffix ×1"
    assert report.passages == 1
    with pytest.raises(
        CorpusError, match=r"a\.pdf: 1 file not read: \.pdf ×1 \(pip install 'hopgraph\[documents\]'\)$"
    ):
        build_index(tmp_path / "a.pdf", tmp_path / "none")
