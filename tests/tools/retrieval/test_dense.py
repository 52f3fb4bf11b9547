"""Dense and hybrid retrieval over FAISS; the vectors are hashed words, so that no model is needed."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopgraph.state import CorpusError, SettingsError, SpecError
from hopgraph.tools.retrieval import build_index, open_index, resolve_retriever, update_index
from hopgraph.tools.retrieval.dense import open_dense
from hopgraph.tools.retrieval.faiss_store import FILE, choose_kind
from hopgraph.tools.retrieval.passage_retriever import FusedIndex, IndexRetriever
from support.hashed_words import HashedWords
from support.sample import read_sample_passages

faiss: Any = pytest.importorskip("faiss", reason="needs the models extra")
QUERIES = ["Who designed the statue?", "the film's director", "a city in France", "born in"]


def write_corpus(path: Path, passages: int, first: int = 0) -> Path:
    sample = list(read_sample_passages())
    with path.open("w") as file:
        for number in range(first, first + passages):
            each = sample[number % len(sample)]
            text = f"{each['text']} {number % 97} {number // 97}"
            file.write(json.dumps({"_id": f"p{number:05}", "title": each["title"], "text": text}) + "\n")
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dense")
    return build_index(write_corpus(folder / "corpus.jsonl", 600), folder / "index", dense=HashedWords()).path


def cosines(index: Path, query: str) -> dict[str, float]:
    """Compare a query with every passage by NumPy alone: id → cosine, to five places."""
    lines = [json.loads(line) for line in (index / "passages.jsonl").read_text().splitlines()]
    vectors = np.array(HashedWords().embed_documents([f"{each['title']} {each['text']}" for each in lines]), np.float32)
    scores = vectors @ np.array(HashedWords().embed_query(query), np.float32)
    return {each["_id"]: round(float(score), 5) for each, score in zip(lines, scores, strict=True)}


async def test_a_flat_index_ranks_as_exact_search_does(built: Path) -> None:
    index = open_dense(built, HashedWords())
    for query in QUERIES:
        hits = await index.asearch(query, 25)
        assert [round(hit.score, 5) for hit in hits] == sorted((round(hit.score, 5) for hit in hits), reverse=True)
        rounded = sorted(hits, key=lambda hit: (-round(hit.score, 5), hit.passage.id))
        near = cosines(built, query)
        wanted = sorted(near, key=lambda key: (-near[key], key))
        assert [hit.passage.id for hit in rounded][:20] == wanted[:20]
        assert [hit.score for hit in hits] == pytest.approx([near[key] for key in wanted[:25]], abs=2e-5)


async def test_equal_passages_come_in_the_order_of_their_ids_also_where_the_list_ends(tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    lines = [{"_id": f"{number:03}", "text": "a red fox"} for number in range(99, -1, -1)]
    source.write_text("".join(json.dumps(each) + "\n" for each in lines))
    index = open_dense(build_index(source, tmp_path / "index", dense=HashedWords()).path, HashedWords())
    assert [hit.passage.id for hit in await index.asearch("fox", 3)] == ["000", "001", "002"]
    assert len(await index.asearch("fox", 1000)) == 100
    assert await index.asearch(" ", 3) == await index.asearch("fox", 0) == []


@pytest.mark.parametrize(("kind", "share"), [("flat", 0.9999), ("hnsw", 0.99), ("ivfpq", 0.85)])
async def test_every_kind_finds_what_is_nearest(tmp_path: Path, kind: str, share: float) -> None:
    source = write_corpus(tmp_path / "corpus.jsonl", 10_000 if kind == "ivfpq" else 3000)
    report = build_index(source, tmp_path / "index", dense=HashedWords(), faiss=kind)
    assert report.dense is not None
    assert report.dense.kind == kind
    index = open_dense(report.path, HashedWords())
    for query in QUERIES:
        near = cosines(report.path, query)
        found = [near[hit.passage.id] for hit in await index.asearch(query, 10)]
        assert np.mean(found) >= share * np.mean(sorted(near.values())[-10:])
    if kind == "ivfpq":  # an update moves codes to other rows
        query = QUERIES[0]
        before = {hit.passage.id: hit.score for hit in await index.asearch(query, 30)}
        lines = source.read_text().splitlines(keepends=True)
        gone = {json.loads(line)["_id"] for line in lines[:3]} | {min(before)}
        source.write_text("".join([*lines[3:2000], '{"_id": "new", "text": "quite new"}\n', *lines[2000:]]))
        model = HashedWords()
        update_index(source, report.path, dense=model, delete=[min(before)])
        assert model.texts <= 1 + 2
        after = {hit.passage.id: hit.score for hit in await open_dense(report.path, model).asearch(query, 34)}
        assert {key: score for key, score in before.items() if key not in gone}.items() <= after.items()
        assert [hit.passage.id for hit in await open_dense(report.path, model).asearch("quite new", 1)] == ["new"]


def test_the_kind_follows_from_the_number_of_passages() -> None:
    assert [choose_kind(n) for n in (1, 100_000, 100_001, 2_000_000, 2_000_001)] == [
        "flat",
        "flat",
        "hnsw",
        "hnsw",
        "ivfpq",
    ]
    assert choose_kind(5, "hnsw") == "hnsw"
    with pytest.raises(SettingsError, match="'tree' is unknown; use one of: flat, hnsw, ivfpq"):
        choose_kind(5, "tree")
    with pytest.raises(SettingsError, match="ivfpq needs 10,000 passages for training, got 9,999"):
        choose_kind(9_999, "ivfpq")


async def test_retrievers_answer_alike_sync_and_async(built: Path) -> None:
    index = open_dense(built, HashedWords())
    dense = IndexRetriever(index=index, k=7)
    hybrid = IndexRetriever(index=FusedIndex("both", open_index(built), index), k=7)
    for retriever in (dense, hybrid):
        here = retriever.invoke(QUERIES[0])
        assert here == await retriever.ainvoke(QUERIES[0])
        assert len(here) == 7
        assert [document.id for document in retriever.invoke(QUERIES[0], k=3)] == [each.id for each in here[:3]]
        assert set(here[0].metadata) == {"title", "score", "source", "index"}
    many = await asyncio.gather(*(hybrid.ainvoke(query) for query in QUERIES * 5))
    assert many == [hybrid.invoke(query) for query in QUERIES * 5]
    assert await dense.ainvoke("") == []


def test_the_manifest_says_which_model_made_the_vectors(built: Path) -> None:
    dense = json.loads((built / "manifest.json").read_text())["dense"]
    assert dense["kind"] == "flat"
    assert (dense["embedding"]["model"], dense["embedding"]["dimension"]) == ("object:HashedWords", 32)
    assert [document.id for document in resolve_retriever(f"bm25:{built}").invoke("statue", k=1)]
    with pytest.raises(SpecError, match="it was passed as an object: pass it again"):
        open_dense(built)


class Negated(HashedWords):
    def embed_query(self, text: str) -> list[float]:
        return [-each for each in super().embed_query(text)]


def test_another_model_is_refused(built: Path) -> None:
    with pytest.raises(CorpusError, match=r"its vectors have 32 dimensions, those of .* have 8"):
        open_dense(built, HashedWords(8))
    with pytest.raises(CorpusError, match=r"not built with .* cosine of -1\.000"):
        open_dense(built, Negated())


def test_damage_is_refused(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "corpus.jsonl", 50)
    index = build_index(source, tmp_path / "index", dense=HashedWords()).path
    whole = (index / FILE).read_bytes()
    (index / FILE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match=r"vectors\.faiss: damaged \(it has \d+ bytes instead of"):
        open_dense(index, HashedWords())
    (index / FILE).write_bytes(b"x" * len(whole))
    with pytest.raises(CorpusError, match=r"vectors\.faiss: damaged"):
        open_dense(index, HashedWords())
    for other in (faiss.IndexFlatIP(16), faiss.IndexFlatL2(32), faiss.IndexFlatIP(32)):
        other.add(np.zeros((50 if other.d == 16 else 49, other.d), np.float32))
        faiss.write_index(other, str(index / FILE))
        manifest = json.loads((index / "manifest.json").read_text())
        manifest["files"][FILE] = (index / FILE).stat().st_size
        (index / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(CorpusError, match="is not a flat inner-product index of 50 × 32 numbers"):
            open_dense(index, HashedWords())


def test_specs_that_cannot_work_say_what_to_do(built: Path, tmp_path: Path) -> None:
    plain = build_index(write_corpus(tmp_path / "corpus.jsonl", 20), tmp_path / "plain").path
    for spec, kind, message in (
        ("faiss:", SpecError, r"the folder's name is missing; write faiss:DIR"),
        (f"hybrid:{built}?speed=1", SpecError, "option 'speed' of .* is unknown; valid: model, bm25_weight"),
        (f"hybrid:{built}?bm25_weight=2", SpecError, "'bm25_weight' of .* must be a number from 0 to 1, got '2'"),
        (f"faiss:{built}?bm25_weight=0", SpecError, "option 'bm25_weight' of .* is unknown; valid: model"),
        (f"faiss:{tmp_path}/none", CorpusError, "no such index"),
        (f"hybrid:{plain}", CorpusError, r"has no vectors; make them: hopgraph index SOURCE --out .* --dense"),
        (f"faiss:{built}?model=word2vec:x", SpecError, "use one of: sentence-transformers"),
    ):
        with pytest.raises(kind, match=message):
            resolve_retriever(spec)


def test_an_index_alone_does_not_decide_who_gets_the_queries(tmp_path: Path) -> None:
    index = build_index(write_corpus(tmp_path / "corpus.jsonl", 20), tmp_path / "index", dense=HashedWords()).path
    manifest = json.loads((index / "manifest.json").read_text())
    manifest["dense"]["embedding"]["model"] = "openai:m?base_url=https://example.org/v1"
    (index / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(SpecError, match=r"server at https://example\.org/v1, .* explicitly: faiss:.*\?model=openai:m"):
        resolve_retriever(f"faiss:{index}")


MAPPED = """
import sys
from pathlib import Path
from hopgraph.tools.retrieval.faiss_store import VectorStore
def own():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon")) // 1024
import faiss
before = own()
store = VectorStore(Path(sys.argv[1]), sys.argv[2], 256, 40_000)
print(own() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see what is in memory")
def test_opening_maps_the_vectors_and_does_not_read_them(tmp_path: Path) -> None:
    store = faiss.IndexFlatIP(256)
    store.add(np.random.default_rng(0).standard_normal((40_000, 256)).astype(np.float32))  # 39 MiB
    (tmp_path / "faiss").mkdir()
    faiss.write_index(store, str(tmp_path / FILE))
    command = [sys.executable, "-c", MAPPED, str(tmp_path), "flat"]
    assert int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) < 8
