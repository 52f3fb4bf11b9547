import asyncio
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopgraph.state import BadRecordError, CorpusError, SpecError
from hopgraph.tools.retrieval import index_in_memory
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.retrieval.engines.engine_index import resolve_engine
from hopgraph.tools.retrieval.engines.fill import index_into
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever, fuse_rankings
from hopgraph.tools.retrieval.passage_store import StoredPassage
from hopgraph.tools.text import get_analyser
from support.hashed_words import HashedWords

pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")
MODEL = HashedWords()


@pytest.fixture
def target(tmp_path: Path) -> str:
    return f"milvus:{tmp_path / 'lite.db'}#passages"


def found(retriever: IndexRetriever, query: str, k: int = 10) -> list[tuple[str | None, float]]:
    return [(document.id, document.metadata["score"]) for document in retriever.invoke(query, k=k)]


def test_bm25_finds_what_an_index_finds(target: str, shared_data: Path) -> None:
    source = shared_data / "hotpotqa" / "train_100.json"
    report = index_into(target, source)
    assert (report.passages, report.total, report.format, report.resumed_at) == (994, 994, "hotpotqa", 0)
    retriever = resolve_engine(target, MODEL)
    index = index_in_memory(open_corpus(source).records(CorpusReading()), "test", get_analyser("en"))
    overlaps: list[float] = []
    for question in [entry["question"] for entry in json.loads(source.read_text())]:
        ours, theirs = index.search(question, 10), found(retriever, question)
        overlaps.append(len({hit.passage.id for hit in ours} & {key for key, _ in theirs}) / len(ours))
        # Milvus multiplies by k1 + 1, which changes no order.
        assert [score / 1.9 for _, score in theirs] == pytest.approx([hit.score for hit in ours], rel=1e-4)
    assert sum(overlaps) / len(overlaps) >= 0.95


def test_dense_is_the_inner_product_and_hybrid_the_fusion_of_both(target: str, shared_data: Path) -> None:
    source = shared_data / "hotpotqa" / "train_100.json"
    index_into(target, source, dense=MODEL)
    records = list(open_corpus(source).records(CorpusReading()))
    vectors = np.array(MODEL.embed_documents([f"{each.title} {each.text}" for each in records]))
    query = "Which film was directed in Mexico?"
    products = dict(zip((each.id for each in records), vectors @ np.array(MODEL.embed_query(query)), strict=True))
    nearest = sorted(products, key=lambda key: -products[key])[:100]
    dense = found(resolve_engine(f"{target}?mode=dense", MODEL), query, 100)
    assert [score for _, score in dense] == pytest.approx([products[str(key)] for key, _ in dense], rel=1e-5)
    # Its index is an approximate one: of the far end of the list it may miss a few.
    assert len({key for key, _ in dense} & set(nearest)) >= 90
    words = found(resolve_engine(f"{target}?mode=bm25", MODEL), query, 100)
    hybrid = found(resolve_engine(target, MODEL), query, 20)

    def fused(nearest: list[tuple[str | None, float]]) -> list[tuple[str | None, float]]:
        rankings = [[Hit(StoredPassage(str(key), "", ""), score) for key, score in each] for each in (words, nearest)]
        return [(hit.passage.id, hit.score) for hit in fuse_rankings(list(zip(rankings, (0.4, 0.6), strict=True)), 20)]

    # The score of its far end scales all; while Milvus works on its index, that may be another one a moment later.
    again = found(resolve_engine(f"{target}?mode=dense", MODEL), query, 100)
    assert hybrid in (fused(dense), fused(again))


async def test_documents_and_many_searches_at_once(target: str, tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    fox = '{"_id": "b", "title": "Fox", "text": "A fox runs.", "metadata": {"page": 2}}\n'
    source.write_text(fox + '{"_id": "a", "text": "Foxes, running."}\n')
    await asyncio.to_thread(index_into, target, source, dense=MODEL)
    retriever = await asyncio.to_thread(resolve_engine, target, MODEL)
    one = await retriever.ainvoke("fox", k=5)
    assert await asyncio.gather(*(retriever.ainvoke("fox", k=5) for _ in range(20))) == [one] * 20
    document = next(each for each in one if each.id == "b")
    assert (document.page_content, document.metadata["title"]) == ("A fox runs.", "Fox")
    assert set(document.metadata) == {"title", "score", "source", "index", "page"}
    words = await asyncio.to_thread(resolve_engine, f"{target}?mode=bm25", MODEL)
    assert [each.id for each in await words.ainvoke("fox run")] == ["b", "a"]
    assert await words.ainvoke("the of") == await words.ainvoke("fox", k=0) == []


def test_terms_with_marks_stay_whole(target: str, tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    texts = ["कमल का फूल तालाब में", "काम की किताब", "किताबें पढ़ना"]
    source.write_text("".join(json.dumps({"_id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)))
    index_into(target, source, language="hi")
    retriever: Any = resolve_engine(target, MODEL)
    assert retriever.index.analyser.language == "hindi"
    assert sorted(key or "" for key, _ in found(retriever, "किताब")) == ["1", "2"]
    assert [key for key, _ in found(retriever, "कमल")] == ["0"]


FILL = """
import sys
from pathlib import Path
from hopgraph.tools.retrieval.engines.fill import index_into
index_into(sys.argv[1], Path(sys.argv[2]))
"""


def test_another_process_finds_it_and_only_one_has_it_open(target: str, tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    source.write_text('{"_id": "1", "text": "one fox"}\n')
    command = [sys.executable, "-c", FILL, target, str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert [key for key, _ in found(resolve_engine(target, MODEL), "fox")] == ["1"]
    second = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert "CorpusError" in second.stderr.splitlines()[-1]
    assert "one process at a time" in second.stderr.splitlines()[-1]


def test_again_adds_nothing_and_a_collection_of_somebody_else_is_refused(target: str, tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    source.write_text('{"_id": "1", "text": "one fox"}\n{"_id": "2", "text": "two hens"}\n')
    index_into(target, source)
    source.write_text('{"_id": "2", "text": "two owls"}\n{"_id": "3", "text": "three owls"}\n')
    report = index_into(target, source)
    assert (report.total, report.changes.changed) == (2, ("corpus.jsonl",))
    report = index_into(target, source)
    assert (report.total, report.passages, report.changes.unchanged) == (2, 0, 1)
    retriever = resolve_engine(target, MODEL)
    assert found(retriever, "hen") == found(retriever, "fox") == []
    assert [key for key, _ in found(retriever, "owls")] == ["2", "3"]
    with pytest.raises(CorpusError, match="was filled without --dense; do so again"):
        index_into(target, source, dense=MODEL)
    with pytest.raises(CorpusError, match="no such collection; fill it"):
        resolve_engine(f"{target}2", MODEL)
    with pytest.raises(CorpusError, match="has no vectors"):
        resolve_engine(f"{target}?mode=hybrid", MODEL)


def test_a_foreign_collection_is_left_alone(target: str, tmp_path: Path) -> None:
    pymilvus: Any = import_module("pymilvus")
    pymilvus.MilvusClient(target.removeprefix("milvus:").partition("#")[0]).create_collection("passages", dimension=4)
    source = tmp_path / "corpus.jsonl"
    source.write_text('{"_id": "1", "text": "one fox"}\n')
    for use in (lambda: resolve_engine(target, MODEL), lambda: index_into(target, source)):
        with pytest.raises(CorpusError, match="not made by `hopgraph index`"):
            use()


def test_records_that_milvus_cannot_hold(target: str, tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    source.write_text(json.dumps({"_id": "1", "text": "é" * 40_000}) + '\n{"_id": "2", "text": "two hens"}\n')
    with pytest.raises(BadRecordError, match=r"corpus.jsonl:1: .*its text has more than 65,535 bytes"):
        index_into(target, source)
    assert index_into(target, source, skip_invalid=True).total == 1


def test_what_cannot_be_reached_is_told_in_one_line(
    target: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CorpusError, match=r"milvus:http://127.0.0.1:9#x: cannot be opened") as caught:
        resolve_engine("milvus:http://127.0.0.1:9#x", MODEL)
    assert "\n" not in str(caught.value)
    with pytest.raises(CorpusError, match="there is no folder"):
        resolve_engine(f"milvus:{tmp_path}/none/lite.db#x", MODEL)
    assert capfd.readouterr() == ("", "")


def test_a_missing_package_names_the_extra(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(SpecError, match=r"pip install 'hopgraph\[milvus\]'"):
        resolve_engine(target, MODEL)


def test_a_folder_is_brought_up_to_date_file_by_file(target: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(60):
        (docs / f"f{number}.md").write_text(f"# File {number}\n\nThe animal of file{number} is an owl{number}.\n")
    index_into(target, docs, dense=MODEL)
    for name in ("f3.md", "f30.md", "new1.md", "new2.md"):
        (docs / name).write_text(f"A badger lives in {name}.")
    (docs / "f59.md").write_text("A badger lives here. " * 40)  # more passages than before
    for name in ("f0.md", "f41.md"):
        (docs / name).unlink()
    planned, embedded = index_into(target, docs, dense=MODEL, dry_run=True), MODEL.texts
    report = index_into(target, docs, dense=MODEL)
    assert report.changes == planned.changes
    assert list(map(len, (report.changes.added, report.changes.changed, report.changes.vanished))) == [2, 3, 2]
    assert (report.changes.unchanged, report.passages, report.total) == (55, 6, 61)
    assert MODEL.texts - embedded == 6 + 1  # and the probe
    retriever = resolve_engine(f"{target}?mode=bm25", MODEL)
    assert {str(key).partition("#")[0] for key, _ in found(retriever, "badger")} == {
        *("f3.md", "f30.md", "f59.md", "new1.md", "new2.md")
    }
    assert found(retriever, "owl3 owl0 owl41") == []
    (docs / "f7.md").unlink()
    assert index_into(target, docs, dense=MODEL, keep_deleted=True).total == 61
    assert index_into(target, docs, dense=MODEL).total == 60
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "cat.md").write_text("A cat.")
    assert index_into(target, tmp_path / "more", dense=MODEL).total == 61  # another source deletes nothing
