import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopgraph.state import BadRecordError, CorpusError, SpecError
from hopgraph.tools.retrieval import index_in_memory
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.retrieval.engines.engine_index import TermIndex, resolve_engine
from hopgraph.tools.retrieval.engines.fill import index_into
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever, fuse_rankings
from hopgraph.tools.retrieval.passage_store import StoredPassage
from hopgraph.tools.text import get_analyser
from support.hashed_words import HashedWords
from support.servers.elasticsearch_server import ElasticsearchServer

pytest.importorskip("elasticsearch")
MODEL, SMALL = HashedWords(), HashedWords(16)


@pytest.fixture
def server() -> Iterator[ElasticsearchServer]:
    with ElasticsearchServer() as running:
        yield running


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path / "corpus.jsonl", range(1234))


def write(path: Path, numbers: Any) -> Path:
    words = ["fox", "hen", "owl", "cat", "dog", "harbour", "lighthouse", "painter", "river", "müßig"]
    with path.open("w") as file:
        for number in numbers:
            text = " ".join(words[number * step % 10] for step in range(1, 4 + number % 9))
            file.write(json.dumps({"_id": f"p{number}", "title": f"Title {number % 7}", "text": text}) + "\n")
    return path


def found(retriever: IndexRetriever, query: str, k: int = 10) -> list[tuple[str | None, float]]:
    return [(document.id, document.metadata["score"]) for document in retriever.invoke(query, k=k)]


def test_bm25_ranks_and_scores_as_an_index_does(server: ElasticsearchServer, shared_data: Path) -> None:
    source = shared_data / "hotpotqa" / "train_100.json"
    target = f"elasticsearch:{server.url}#hotpot"
    report = index_into(target, source)
    assert (report.passages, report.total, report.resumed_at, report.skipped) == (994, 994, 0, 0)
    retriever = resolve_engine(target, MODEL)
    index = index_in_memory(open_corpus(source).records(CorpusReading()), "test", get_analyser("en"))
    for entry in json.loads(source.read_text())[:15]:
        query = entry["question"] + " " + entry["question"].split()[0]
        assert found(retriever, query) == [
            (hit.passage.id, pytest.approx(hit.score, rel=1e-5)) for hit in index.search(query, 10)
        ]


def test_dense_is_the_inner_product_and_hybrid_the_fusion_of_both(server: ElasticsearchServer, corpus: Path) -> None:
    target = f"elasticsearch:{server.url}#dense"
    index_into(target, corpus, dense=MODEL)
    records = list(open_corpus(corpus).records(CorpusReading()))
    vectors = np.array(MODEL.embed_documents([f"{each.title} {each.text}" for each in records]))
    products = vectors @ np.array(MODEL.embed_query("fox river"))
    dense = found(resolve_engine(f"{target}?mode=dense", MODEL), "fox river", 100)
    ids = [record.id for record in records]
    assert [score for _, score in dense] == pytest.approx(sorted(products, reverse=True)[:100])
    assert all(score == pytest.approx(products[ids.index(str(key))]) for key, score in dense)
    words = found(resolve_engine(f"{target}?mode=bm25", MODEL), "fox river", 100)
    hybrid = found(resolve_engine(target, MODEL), "fox river", 20)
    rankings = [[Hit(StoredPassage(str(key), "", ""), score) for key, score in each] for each in (words, dense)]
    fused = fuse_rankings(list(zip(rankings, (0.4, 0.6), strict=True)), 20)
    assert hybrid == [(hit.passage.id, hit.score) for hit in fused]


async def test_many_searches_at_once_and_off_the_event_loop(server: ElasticsearchServer, corpus: Path) -> None:
    target = f"elasticsearch:{server.url}#many"
    await asyncio.to_thread(index_into, target, corpus, dense=MODEL)
    retriever = await asyncio.to_thread(resolve_engine, target, MODEL)
    one = await retriever.ainvoke("owl harbour", k=5)
    assert await asyncio.gather(*(retriever.ainvoke("owl harbour", k=5) for _ in range(20))) == [one] * 20
    assert [document.metadata["source"] for document in one] == [target] * 5
    assert await retriever.ainvoke("the of", k=5) != []  # no term, but a vector
    assert retriever.invoke("  ") == retriever.invoke("fox", k=0) == []


def test_the_same_source_again_changes_nothing_and_another_adds(
    server: ElasticsearchServer, corpus: Path, tmp_path: Path
) -> None:
    target = f"elasticsearch:{server.url}#again"
    index_into(target, corpus)
    before = found(resolve_engine(target, MODEL), "lighthouse owl")
    report = index_into(target, corpus)
    assert (report.total, report.resumed_at) == (1234, 0)
    assert found(resolve_engine(target, MODEL), "lighthouse owl") == before
    more = write(tmp_path / "more.jsonl", range(1200, 1300))
    assert index_into(target, more).total == 1300
    facts = json.loads(server.indexes["again"].mappings["_meta"]["hopgraph"])
    assert [(each["source"], each["passages"]) for each in facts["corpora"]] == [
        ("corpus.jsonl", 1234),
        ("more.jsonl", 100),
    ]


def test_a_run_that_broke_off_goes_on_where_it_was(
    server: ElasticsearchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopgraph.tools.retrieval.engines.fill._CHECKPOINT", 2)
    source, target = write(tmp_path / "long.jsonl", range(3300)), f"elasticsearch:{server.url}#resumed"
    server.fail_bulk_after = 5
    with pytest.raises(CorpusError, match="primary shard is not active"):
        index_into(target, source, dense=MODEL)
    with pytest.raises(CorpusError, match="was not finished; run the same"):
        resolve_engine(target, MODEL)
    server.fail_bulk_after = None
    embedded = MODEL.texts
    report = index_into(target, source, dense=MODEL)
    assert (report.resumed_at, report.total, report.passages) == (2000, 3300, 3300)
    assert MODEL.texts - embedded == 1300 + 1  # and the probe
    whole = index_in_memory(open_corpus(source).records(CorpusReading()), "test", get_analyser("en"))
    # Hundreds of passages are the same but for their id: which of them come is the engine's choice.
    scores = [score for _, score in found(resolve_engine(f"{target}?mode=bm25", MODEL), "painter cat")]
    assert scores == pytest.approx([hit.score for hit in whole.search("painter cat", 10)])


def test_a_changed_source_is_not_taken_up_in_the_middle(
    server: ElasticsearchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopgraph.tools.retrieval.engines.fill._CHECKPOINT", 1)
    source, target = write(tmp_path / "long.jsonl", range(2000)), f"elasticsearch:{server.url}#changed"
    server.fail_bulk_after = 3
    with pytest.raises(CorpusError):
        index_into(target, source)
    server.fail_bulk_after = None
    write(source, range(1, 2001))
    assert index_into(target, source).resumed_at == 0


def test_a_collection_of_somebody_else_or_of_another_kind_is_refused(server: ElasticsearchServer, corpus: Path) -> None:
    target = f"elasticsearch:{server.url}#theirs"
    index_into(target, corpus, dense=MODEL)
    with pytest.raises(CorpusError, match=r"was filled with --dense object:HashedWords; do so again"):
        index_into(target, corpus)
    for use in (lambda: index_into(target, corpus, dense=SMALL), lambda: resolve_engine(target, SMALL)):
        with pytest.raises(CorpusError, match="vectors have 32 numbers, those of 'object:HashedWords' have 16"):
            use()
    with pytest.raises(SpecError, match="given as an object in code: give it again"):
        resolve_engine(target)
    with pytest.raises(CorpusError, match="has english passages, not german ones"):
        index_into(target, corpus, dense=MODEL, language="de")
    meta = server.indexes["theirs"].mappings["_meta"]
    facts = json.loads(meta["hopgraph"])
    meta["hopgraph"] = json.dumps({**facts, "format_version": 2})
    with pytest.raises(CorpusError, match=r"another version of hopgraph \(format_version: "):
        resolve_engine(target, MODEL)
    meta["hopgraph"] = json.dumps({**facts, "analyser": {**facts["analyser"], "stemmer_version": "1.0"}})
    with pytest.raises(CorpusError, match="another version of the analyser"):
        resolve_engine(target, MODEL)
    del meta["hopgraph"]
    for use in (lambda: resolve_engine(target, MODEL), lambda: index_into(target, corpus)):
        with pytest.raises(CorpusError, match="not made by `hopgraph index`"):
            use()


def test_dense_search_without_vectors_and_missing_collections(server: ElasticsearchServer, corpus: Path) -> None:
    target = f"elasticsearch:{server.url}#words"
    with pytest.raises(CorpusError, match="no such collection; fill it: hopgraph index SOURCE --to elasticsearch:"):
        resolve_engine(target, MODEL)
    index_into(target, corpus)
    words: Any = resolve_engine(target, MODEL)
    assert isinstance(words.index, TermIndex)
    for mode in ("dense", "hybrid"):
        with pytest.raises(CorpusError, match="has no vectors"):
            resolve_engine(f"{target}?mode={mode}", MODEL)
    with pytest.raises(CorpusError, match="must be lowercase"):
        index_into(f"elasticsearch:{server.url}#Words", corpus)


def test_bad_records_are_refused_or_counted(server: ElasticsearchServer, tmp_path: Path) -> None:
    source, target = tmp_path / "bad.jsonl", f"elasticsearch:{server.url}#bad"
    long = "x" * 600
    bad = f'{{"_id": "{long}", "text": "too long"}}\n{{"_id": "2", "text": " "}}\n{{"_id": "3", "text": "\\ud800"}}\n'
    source.write_text('{"_id": "1", "text": "one fox"}\n' + bad)
    with pytest.raises(BadRecordError, match=r"bad.jsonl:2: .*more than 512 bytes"):
        index_into(target, source)
    report = index_into(target, source, skip_invalid=True)
    assert (report.passages, report.skipped) == (1, 3)
    assert "not valid UTF-8" in report.first_skipped[2]
    source.write_text('{"_id": "1", "text": "the of"}\n')
    with pytest.raises(CorpusError, match="no passage with a word"):
        index_into(f"{target}2", source)


def test_metadata_is_stored(server: ElasticsearchServer, tmp_path: Path) -> None:
    source, target = tmp_path / "corpus.jsonl", f"elasticsearch:{server.url}#metadata"
    source.write_text('{"_id": "1", "text": "one fox", "metadata": {"source": "fox.pdf", "page": 2}}\n')
    index_into(target, source)
    metadata = resolve_engine(target).invoke("fox")[0].metadata
    assert (metadata["source"], metadata["page"]) == ("fox.pdf", 2)


def test_keys_come_from_the_environment_and_are_never_shown(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ElasticsearchServer(api_key="c2VjcmV0LWtleQ==") as server:
        target = f"elasticsearch:{server.url}#kept"
        with pytest.raises(CorpusError, match="refuses the key; set HOPGRAPH_ELASTICSEARCH_API_KEY"):
            index_into(target, corpus)
        monkeypatch.setenv("HOPGRAPH_ELASTICSEARCH_API_KEY", "c2VjcmV0LWtleQ==")
        assert index_into(target, corpus).total == 1234
    with pytest.raises(CorpusError) as caught:
        resolve_engine(target.replace("//", "//elastic:hunter2@"), MODEL)
    assert "hunter2" not in str(caught.value)
    assert "c2Vj" not in str(caught.value)


def test_a_server_that_is_not_there_or_is_another_one_is_told(corpus: Path) -> None:
    with pytest.raises(CorpusError, match=r"elasticsearch:http://127.0.0.1:9#x: cannot be read: no answer"):
        resolve_engine("elasticsearch:http://127.0.0.1:9#x", MODEL)
    with ElasticsearchServer(product=False) as server, pytest.raises(CorpusError, match="not Elasticsearch"):
        index_into(f"elasticsearch:{server.url}#x", corpus)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "elasticsearch", None)
    with pytest.raises(SpecError, match=r"pip install 'hopgraph\[elasticsearch\]'"):
        resolve_engine("elasticsearch:http://127.0.0.1:9#x", MODEL)


def test_a_folder_is_brought_up_to_date_file_by_file(server: ElasticsearchServer, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(60):
        (docs / f"f{number}.md").write_text(f"# File {number}\n\nThe animal of file{number} is an owl{number}.\n")
    target = f"elasticsearch:{server.url}#docs"
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


def test_an_interrupted_update_is_finished_by_the_next(
    server: ElasticsearchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopgraph.tools.retrieval.engines.fill._BATCH", 4)
    docs, target = tmp_path / "docs", f"elasticsearch:{server.url}#killed"
    docs.mkdir()

    def write_all(animal: str) -> None:
        for number in range(9):
            (docs / f"f{number}.md").write_text(f"The {animal} of file {number} is here again. " * 30)

    write_all("owl")
    index_into(target, docs)
    write_all("badger")
    server.fail_bulk_after = server.bulks + 3
    with pytest.raises(CorpusError, match="primary shard is not active"):
        index_into(target, docs)
    server.fail_bulk_after = None
    report = index_into(target, docs)
    assert 0 < report.changes.unchanged < 9  # those that were complete
    assert report.total == len(list(open_corpus(docs).records(CorpusReading())))
    retriever = resolve_engine(target)
    assert found(retriever, "owl") == []
    assert len(found(retriever, "badger", 99)) == report.total
    assert index_into(target, docs).passages == 0
