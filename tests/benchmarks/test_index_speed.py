"""Building and searching an index, against bm25s called directly with the same analyzer.

Ours and theirs take turns, and the quickest round of each counts: what else the machine does then matters
least.
"""

import json
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.retrieval import build_index, open_index
from support.zipf_corpus import TITLES, made_word, write_corpus, zipf_texts

bm25s: Any = import_module("bm25s")
Stemmer: Any = import_module("Stemmer")

SEARCHING = 1.3
BUILDING = 2.5
"""It also reads the records, finds links, compounds and languages, and stores the passages."""
WORDS = 60


def searched(texts: list[str]) -> list[str]:
    return [f"{made_word('Title', number % TITLES)} {text}" for number, text in enumerate(texts)]


def seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def compare(benchmark: Any, direct: list[float], most: float = SEARCHING) -> None:
    ratio = benchmark.stats.stats.min / min(direct)
    benchmark.extra_info |= {"bm25s_seconds": min(direct), "ratio": ratio}
    assert ratio <= most


def direct_tokens(texts: list[str]) -> Any:
    return bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)


def direct_build(texts: list[str], out: Path) -> None:
    scorer = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    scorer.index(direct_tokens(texts), show_progress=False)
    scorer.save(out, show_progress=False)


@pytest.mark.benchmark
def test_building_costs_a_multiple_of_bm25s_alone(benchmark: Any, tmp_path: Path) -> None:
    texts = list(zipf_texts(30_000, WORDS, 40_000))
    source = write_corpus(tmp_path / "corpus.jsonl", texts)
    documents = searched(texts)
    direct: list[float] = []

    def before() -> None:
        direct.append(seconds(lambda: direct_build(documents, tmp_path / "direct")))

    benchmark.pedantic(build_index, (source, tmp_path / "ours"), setup=before, rounds=7, warmup_rounds=1)
    compare(benchmark, direct, BUILDING)


@pytest.mark.benchmark
@pytest.mark.parametrize("passages", [1_000, 100_000])
def test_searching_costs_little_more_than_bm25s_alone(benchmark: Any, tmp_path: Path, passages: int) -> None:
    source = write_corpus(tmp_path / "corpus.jsonl", zipf_texts(passages, WORDS, min(40_000, passages * 10)))
    build_index(source, tmp_path / "index")
    index = open_index(tmp_path / "index")
    direct = bm25s.BM25.load(tmp_path / "index" / "bm25", mmap=True)
    with source.open() as file:
        corpus = [json.loads(line) for line in file]
    queries = list(zipf_texts(200, 12, 400))

    def search_directly() -> None:
        stemmer = Stemmer.Stemmer("english")
        for query in queries:
            tokens = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
            direct.retrieve(tokens, corpus=corpus, k=50, show_progress=False)

    def search() -> None:
        for query in queries:
            index.search(query, 50)

    alone: list[float] = []
    benchmark.pedantic(search, setup=lambda: alone.append(seconds(search_directly)), rounds=9, warmup_rounds=1)
    compare(benchmark, alone)


@pytest.mark.benchmark
def test_a_small_index_is_built_at_once(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "corpus.jsonl", list(zipf_texts(150, WORDS, 2_000)))
    rounds = [seconds(partial(build_index, source, tmp_path / f"index-{number}")) for number in range(5)]
    assert min(rounds) < 1
