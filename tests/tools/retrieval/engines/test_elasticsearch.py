import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import BadRecordError, CorpusError, SpecError
from hopgraph.tools.retrieval import index_in_memory
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.retrieval.engines.engine_index import resolve_engine
from hopgraph.tools.retrieval.engines.fill import index_into
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever
from hopgraph.tools.text import get_analyzer
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


def test_a_run_that_broke_off_goes_on_where_it_was(
    server: ElasticsearchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopgraph.tools.retrieval.engines.fill._CHECKPOINT", 2)
    source, target = write(tmp_path / "long.jsonl", range(3300)), f"elasticsearch:{server.url}#resumed"
    server.fail_bulk_after = 5
    with pytest.raises(CorpusError, match="primary shard is not active"):
        index_into(target, source, dense=MODEL)
    with pytest.raises(CorpusError, match="filling it was interrupted; run the same"):
        resolve_engine(target, MODEL)
    server.fail_bulk_after = None
    embedded = MODEL.texts
    report = index_into(target, source, dense=MODEL)
    assert (report.resumed_at, report.total, report.passages) == (2000, 3300, 3300)
    assert MODEL.texts - embedded == 1300 + 1  # and the probe
    whole = index_in_memory(open_corpus(source).records(CorpusReading()), "test", get_analyzer("en"))
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
        with pytest.raises(CorpusError, match="vectors have 32 dimensions, those of 'object:HashedWords' have 16"):
            use()
    with pytest.raises(SpecError, match="it was passed as an object: pass it again"):
        resolve_engine(target)
    with pytest.raises(CorpusError, match="has english passages, not german ones"):
        index_into(target, corpus, dense=MODEL, language="de")
    meta = server.indexes["theirs"].mappings["_meta"]
    facts = json.loads(meta["hopgraph"])
    meta["hopgraph"] = json.dumps({**facts, "format_version": 2})
    with pytest.raises(CorpusError, match=r"another version of hopgraph \(format_version: "):
        resolve_engine(target, MODEL)
    meta["hopgraph"] = json.dumps({**facts, "analyzer": {**facts["analyzer"], "stemmer_version": "1.0"}})
    with pytest.raises(CorpusError, match="another version of the analyzer"):
        resolve_engine(target, MODEL)
    del meta["hopgraph"]
    for use in (lambda: resolve_engine(target, MODEL), lambda: index_into(target, corpus)):
        with pytest.raises(CorpusError, match="not made by `hopgraph index`"):
            use()


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
    with pytest.raises(CorpusError, match="no passage has a searchable word"):
        index_into(f"{target}2", source)


def test_keys_come_from_the_environment_and_are_never_shown(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ElasticsearchServer(api_key="c2VjcmV0LWtleQ==") as server:
        target = f"elasticsearch:{server.url}#kept"
        with pytest.raises(CorpusError, match="rejects the key; set HOPGRAPH_ELASTICSEARCH_API_KEY"):
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
    with ElasticsearchServer() as server, pytest.raises(CorpusError, match="must be lowercase"):
        index_into(f"elasticsearch:{server.url}#Words", corpus)


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
