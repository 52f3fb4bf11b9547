import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval import Index, build_index, index_in_memory, open_index
from hopgraph.tools.retrieval import index as module
from hopgraph.tools.retrieval.corpora import CorpusReading, SourceRecord, open_corpus
from hopgraph.tools.text import Analyzer, get_analyzer

bm25s: Any = import_module("bm25s")
Stemmer: Any = import_module("Stemmer")

WORDS = ["fox", "dog", "hen", "runs", "running", "hides", "the", "of", "12", "île", "Fox's", "x"]


def record(name: str, text: str, title: str = "") -> SourceRecord:
    return SourceRecord(name, title, text, Path("test"), 1)


class DirectBm25s:
    """The same search by nothing but bm25s."""

    def __init__(self, records: list[SourceRecord], terms: Callable[[str], list[str]] | None = None) -> None:
        self._terms = terms
        self._stemmer = Stemmer.Stemmer("english")
        self._ids = [r.id for r in records]
        self._scorer = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
        self._scorer.index(self._tokens([f"{r.title} {r.text}" for r in records]), show_progress=False)

    def _tokens(self, texts: list[str]) -> Any:
        if self._terms:
            return [self._terms(text) for text in texts]
        return bm25s.tokenize(texts, stopwords="en", stemmer=self._stemmer, show_progress=False)

    def scores(self, query: str) -> dict[str, float]:
        """Score every passage that the query finds."""
        found = self._scorer.retrieve(self._tokens([query]), k=len(self._ids), show_progress=False)
        pairs = zip(found.documents[0].tolist(), found.scores[0].tolist(), strict=True)
        return {self._ids[row]: score for row, score in pairs if score > 0}

    def best(self, query: str, k: int) -> list[tuple[str, float]]:
        return sorted(self.scores(query).items(), key=lambda pair: (-pair[1], pair[0]))[:k]


def found(index: Index, query: str, k: int) -> list[tuple[str, float]]:
    return [(hit.passage.id, hit.score) for hit in index.search(query, k)]


@pytest.fixture(scope="module")
def hotpotqa(shared_data: Path) -> Path:
    return shared_data / "hotpotqa" / "train_100.json"


@pytest.fixture(scope="module")
def built(hotpotqa: Path, tmp_path_factory: pytest.TempPathFactory) -> Index:
    return open_index(build_index(hotpotqa, tmp_path_factory.mktemp("hotpotqa") / "index").path)


def test_real_questions_find_what_bm25s_finds(hotpotqa: Path, built: Index) -> None:
    index = built
    records = list(open_corpus(hotpotqa).records(CorpusReading()))
    direct = DirectBm25s(records, lambda text: get_analyzer("en").terms(text))
    assert len(index) == len(records)
    for question in json.loads(hotpotqa.read_bytes())[:40]:
        assert found(index, question["question"], 50) == direct.best(question["question"], 50)
    text = {r.id: (r.title, r.text) for r in records}
    assert all(text[hit.passage.id] == hit.passage[1:3] for hit in index.search("American film director", 50))


@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=12),
    query=st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=5).map(" ".join),
    k=st.integers(1, 14),
    seed=st.integers(0, 5),
    rows=st.integers(1, 4),
)
def test_any_search_finds_what_bm25s_finds_with_ties_by_id(
    texts: list[str], query: str, k: int, seed: int, rows: int
) -> None:
    names = [f"p{number}" for number in range(len(texts))]
    random.Random(seed).shuffle(names)
    records = [record(name, text) for name, text in zip(names, [*texts[:-1], "fox anchor"], strict=True)]
    expected = DirectBm25s(records).best(query, k) if "anchor" not in query and _known(query) else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", rows)  # passages whose scores are computed together
        assert found(index_in_memory(records, "test", Analyzer()), query, k) == expected


def _known(query: str) -> bool:
    """Without a known word, bm25s called directly fails on an index that has no empty word."""
    return bool(set(query.split()) - {"the", "of", "x", "unknown"})


def test_ties_are_cut_by_id() -> None:
    names = [f"p{number:03}" for number in range(500)]
    random.Random(3).shuffle(names)
    index = index_in_memory([record(name, "same words") for name in names] + [record("q", "same words here")], "test")
    assert [name for name, _ in found(index, "words", 5)] == [f"p{number:03}" for number in range(5)]
    assert [name for name, _ in found(index, "words here", 2)] == ["q", "p000"]
    assert len(found(index, "words", 1000)) == 501


@pytest.mark.parametrize("query", ["", "  ", "the of and", "unheardof", "?!", "\x00\ud800"])
def test_a_query_without_known_terms_finds_nothing(query: str) -> None:
    assert index_in_memory([record("1", "some words")], "test").search(query, 5) == []


def test_passages_without_the_terms_are_not_found() -> None:
    index = index_in_memory([record("1", "red fox"), record("2", "blue hen"), record("3", "the")], "test")
    assert [name for name, _ in found(index, "foxes", 50)] == ["1"]
    assert found(index, "fox", 0) == []


def test_titles_are_searched_too() -> None:
    index = index_in_memory([record("1", "It runs.", title="Fox"), record("2", "It sits.", title="Hen")], "test")
    assert [name for name, _ in found(index, "hens", 5)] == ["2"]


def test_a_query_of_100000_characters_works(built: Index) -> None:
    query = " ".join(passage.text for passage in built.passages)[:100_000]
    assert len(found(built, query, 50)) == 50


def test_threads_may_share_an_index(hotpotqa: Path, built: Index) -> None:
    queries = [question["question"] for question in json.loads(hotpotqa.read_bytes())] * 3
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(partial(found, built, k=20), queries))
    assert together == [found(built, query, 20) for query in queries]


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([], "no searchable word"),
        ([record("1", "the")], "no searchable word"),
        ([record("1", "fox"), record("1", "hen")], "twice"),
    ],
)
def test_memory_indexes_refuse_what_cannot_be_searched(records: list[SourceRecord], reason: str) -> None:
    with pytest.raises(CorpusError, match=reason):
        index_in_memory(records, "test")


def edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        content = json.loads((folder / "manifest.json").read_text())
        change(content)
        (folder / "manifest.json").write_text(json.dumps(content))

    return apply


def write(name: str, content: bytes) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return apply


def cut(name: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:-10])

    return apply


def garble_without_a_change_of_size(folder: Path) -> None:
    path = folder / "passages.offsets.npy"
    path.write_bytes(b"\x00" * path.stat().st_size)


def delete(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (write("manifest.json", b"{"), r"manifest.json: damaged, .*\(content: Invalid JSON"),
        (
            edit(lambda content: content.update(format_version=99)),
            r"another version .*\(format_version: Input should be 1",
        ),
        (edit(lambda content: content["analyzer"].update(stemmer="none")), r"version of the analyzer \(stemmer\)"),
        (edit(lambda content: content.pop("corpus")), r"\(corpus: Field required\)"),
        (cut("passages.jsonl"), r"passages.jsonl: damaged \(it has .* bytes instead of"),
        (cut("bm25/data.csc.index.npy"), r"data.csc.index.npy: damaged \(it has"),
        (delete("ranks.npy"), r"ranks.npy: damaged \(it is missing\)"),
        (garble_without_a_change_of_size, r"damaged \(.*\); rebuild the index with `hopgraph index --replace`"),
        (delete("manifest.json"), "not an index: it has no manifest.json; if it has documents, `hopgraph index"),
    ],
)
def test_a_damaged_index_is_refused_in_one_line(tmp_path: Path, damage: Callable[[Path], None], reason: str) -> None:
    (tmp_path / "notes.txt").write_text("Some notes on foxes. They run.")
    build_index(tmp_path / "notes.txt", tmp_path / "index")
    damage(tmp_path / "index")
    with pytest.raises(CorpusError, match=reason) as error:
        open_index(tmp_path / "index")
    assert "\n" not in str(error.value)
    assert str(tmp_path / "index") in str(error.value)


def test_a_missing_index_and_a_file_are_no_index(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CorpusError, match="no such index; `hopgraph index"):
        open_index(tmp_path / "missing")
    with pytest.raises(CorpusError, match="is a file; an index is a folder"):
        open_index(tmp_path / "file")
