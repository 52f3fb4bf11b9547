"""What holds for every search engine: Milvus Lite, and an Elasticsearch that answers as documented."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.retrieval import index_in_memory
from hopgraph.tools.retrieval.corpora import CorpusReading, SourceRecord, open_corpus
from hopgraph.tools.retrieval.engines.engine_index import TermIndex, resolve_engine
from hopgraph.tools.retrieval.engines.fill import index_into
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever, fuse_rankings
from hopgraph.tools.retrieval.passage_store import StoredPassage
from hopgraph.tools.text import get_analyzer
from support.hashed_words import HashedWords
from support.servers.elasticsearch_server import ElasticsearchServer

MODEL = HashedWords()
Found = list[tuple[str | None, float]]


@pytest.fixture(params=["elasticsearch", "milvus"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "milvus":
        pytest.importorskip("pymilvus")
        pytest.importorskip("milvus_lite")
        yield f"milvus:{tmp_path / 'lite.db'}#passages"
    else:
        pytest.importorskip("elasticsearch")
        with ElasticsearchServer() as server:
            yield f"elasticsearch:{server.url}#passages"


@pytest.fixture
def hotpotqa(shared_data: Path) -> Path:
    return shared_data / "hotpotqa" / "train_100.json"


def found(retriever: IndexRetriever, query: str, k: int = 10) -> Found:
    return [(document.id, document.metadata["score"]) for document in retriever.invoke(query, k=k)]


def records(source: Path) -> list[SourceRecord]:
    return list(open_corpus(source).records(CorpusReading()))


def test_bm25_finds_what_an_index_finds(target: str, hotpotqa: Path) -> None:
    report = index_into(target, hotpotqa)
    assert (report.passages, report.total, report.format, report.resumed_at) == (994, 994, "hotpotqa", 0)
    retriever = resolve_engine(target, MODEL)
    index = index_in_memory(records(hotpotqa), "test", get_analyzer("en"))
    scale = 1.9 if target.startswith("milvus") else 1  # Milvus multiplies by k1 + 1, which changes no order
    overlaps: list[float] = []
    for entry in json.loads(hotpotqa.read_text())[:40]:
        query = f"{entry['question']} {entry['question'].split()[0]}"
        ours, theirs = index.search(query, 10), found(retriever, query)
        overlaps.append(len({hit.passage.id for hit in ours} & {key for key, _ in theirs}) / len(ours))
        assert [score / scale for _, score in theirs] == pytest.approx([hit.score for hit in ours], rel=1e-4)
        assert scale > 1 or [key for key, _ in theirs] == [hit.passage.id for hit in ours]
    assert sum(overlaps) / len(overlaps) >= 0.95


def test_dense_is_the_inner_product_and_hybrid_the_fusion_of_both(target: str, hotpotqa: Path) -> None:
    index_into(target, hotpotqa, dense=MODEL)
    every = records(hotpotqa)
    vectors = np.array(MODEL.embed_documents([f"{each.title} {each.text}" for each in every]))
    query = "Which film was directed in Mexico?"
    products = dict(zip((each.id for each in every), vectors @ np.array(MODEL.embed_query(query)), strict=True))
    nearest = sorted(products, key=lambda key: -products[key])[:100]
    dense = found(resolve_engine(f"{target}?mode=dense", MODEL), query, 100)
    assert [score for _, score in dense] == pytest.approx([products[str(key)] for key, _ in dense], rel=1e-5)
    # Milvus's index is an approximate one: of the far end of the list it may miss a few.
    assert len({key for key, _ in dense} & set(nearest)) >= 90
    words = found(resolve_engine(f"{target}?mode=bm25", MODEL), query, 100)
    hybrid = found(resolve_engine(target, MODEL), query, 20)

    def fused(nearest: Found) -> Found:
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
    assert (document.metadata["source"], document.metadata["page"]) == (target, 2)
    assert set(document.metadata) == {"title", "score", "source", "index", "page"}
    assert await retriever.ainvoke("the of", k=5) != []  # no term, but a vector
    assert await retriever.ainvoke("  ") == await retriever.ainvoke("fox", k=0) == []
    words = await asyncio.to_thread(resolve_engine, f"{target}?mode=bm25", MODEL)
    assert [each.id for each in await words.ainvoke("fox run")] == ["b", "a"]
    assert await words.ainvoke("the of") == await words.ainvoke("fox", k=0) == []


def test_the_same_source_again_changes_nothing_and_another_adds(target: str, tmp_path: Path) -> None:
    source, other = tmp_path / "corpus.jsonl", tmp_path / "more.jsonl"
    with pytest.raises(CorpusError, match="no such collection; fill it: hopgraph index SOURCE --to "):
        resolve_engine(target, MODEL)
    source.write_text('{"_id": "1", "text": "one fox"}\n{"_id": "2", "text": "two hens"}\n')
    index_into(target, source)
    source.write_text('{"_id": "2", "text": "two owls"}\n{"_id": "3", "text": "three owls"}\n')
    report = index_into(target, source)
    assert (report.total, report.changes.changed) == (2, ("corpus.jsonl",))
    report = index_into(target, source)
    assert (report.total, report.passages, report.changes.unchanged) == (2, 0, 1)
    retriever: Any = resolve_engine(target, MODEL)
    assert isinstance(retriever.index, TermIndex)
    assert found(retriever, "hen") == found(retriever, "fox") == []
    assert [key for key, _ in found(retriever, "owls")] == ["2", "3"]
    other.write_text('{"_id": "3", "text": "three cats"}\n{"_id": "4", "text": "four cats"}\n')
    assert index_into(target, other).total == 3
    with pytest.raises(CorpusError, match="was filled without --dense; do so again"):
        index_into(target, source, dense=MODEL)
    for mode in ("dense", "hybrid"):
        with pytest.raises(CorpusError, match="has no vectors"):
            resolve_engine(f"{target}?mode={mode}", MODEL)


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
    files = {str(key).partition("#")[0] for key, _ in found(retriever, "badger")}
    assert files == {"f3.md", "f30.md", "f59.md", "new1.md", "new2.md"}
    assert not {"f0.md", "f3.md", "f41.md"} & {
        str(key).partition("#")[0] for key, _ in found(retriever, "owl3 owl0 owl41")
    }
    (docs / "f7.md").unlink()
    assert index_into(target, docs, dense=MODEL, keep_deleted=True).total == 61
    assert index_into(target, docs, dense=MODEL).total == 60
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "cat.md").write_text("A cat.")
    assert index_into(target, tmp_path / "more", dense=MODEL).total == 61  # another source deletes nothing


def test_a_missing_package_names_the_extra(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = target.partition(":")[0]
    monkeypatch.setitem(sys.modules, "pymilvus" if kind == "milvus" else kind, None)
    with pytest.raises(SpecError, match=rf"pip install 'hopgraph\[{kind}\]'"):
        resolve_engine(target, MODEL)
