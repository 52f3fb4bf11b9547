"""MIGRES's mixture (Table 9): 50 passages by BM25 and 50 by vectors for each query, united, then reranked."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from langgraph.runtime import Runtime

from hopgraph.nodes.retrieve import RetrieveState, retrieve
from hopgraph.nodes.sentence_filter import sentence_filter
from hopgraph.state import BudgetState, Query
from hopgraph.state.migres import MigresContext
from hopgraph.tools.retrieval import build_index, resolve_retriever
from hopgraph.tools.scoring.resolve import resolve_reranker
from support.sample import read_sample_passages
from support.servers.embedding_app import EmbeddingApp
from support.servers.loopback import LoopbackServer

pytest.importorskip("faiss", reason="needs the models extra")
QUERIES = ["Who designed the Statue of Liberty?", "the director of the film Pan's Labyrinth"]


@pytest.fixture
def index(tmp_path: Path) -> Generator[Path]:
    source = tmp_path / "corpus.jsonl"
    lines = [{"_id": each["id"], "title": each["title"], "text": each["text"]} for each in read_sample_passages()]
    source.write_text("".join(json.dumps(each) + "\n" for each in lines))
    with LoopbackServer(EmbeddingApp().app()) as server:
        yield build_index(source, tmp_path / "index", dense=f"openai:any?base_url={server.url}/v1").path


def asking(*queries: Query) -> RetrieveState:
    spent = BudgetState(calls={}, started_at=0.0)
    return {**spent, "question": queries[0]["text"], "queries": [*queries], "asked": [], "excluded": [], "iteration": 1}


async def test_the_union_of_fifty_and_fifty_is_reranked(index: Path) -> None:
    settings = MigresContext(retriever=f"bm25:{index}", second_retriever=f"faiss:{index}")
    assert settings.top_k == 50
    queries = [Query(text=text, why="") for text in QUERIES]
    found = await retrieve(
        asking(*queries),
        Runtime(context=settings),
    )
    for query, candidates in zip(QUERIES, found["candidates"], strict=True):
        by_words, by_vectors = (
            [str(each.id) for each in resolve_retriever(f"{kind}:{index}").invoke(query, k=50)]
            for kind in ("bm25", "faiss")
        )
        assert len(by_vectors) == 50
        assert set(by_vectors) - set(by_words)  # the vectors bring passages that share no word
        assert candidates["passage_ids"] == [*by_words, *(key for key in by_vectors if key not in by_words)]
    everything = settings.model_copy(update={"threshold": -100.0, "threshold_reranker": None, "context_passages": 100})
    filtered = await sentence_filter(
        {"candidates": found["candidates"], "passages": found["passages"]}, Runtime(context=everything)
    )
    reranker = resolve_reranker("lexical")
    texts = {each["id"]: f"{each['title']}\n{each['text']}" for each in found["passages"]}
    for query, candidates, knowledge in zip(QUERIES, found["candidates"], filtered["knowledge"], strict=True):
        shown = [each["passage_id"] for each in knowledge["excerpts"]]
        assert sorted(shown) == sorted(candidates["passage_ids"])  # all of them were scored, once each
        scores = reranker.score([(query, texts[key]) for key in shown])
        assert scores == pytest.approx(sorted(scores, reverse=True))


async def test_hybrid_is_one_retriever_of_both(index: Path) -> None:
    settings = MigresContext(retriever=f"hybrid:{index}", top_k=10)
    query = Query(text=QUERIES[0], why="")
    found = await retrieve(
        asking(query),
        Runtime(context=settings),
    )
    (candidates,) = found["candidates"]
    assert len(candidates["passage_ids"]) == 10
    assert candidates["scores"] == sorted(candidates["scores"], reverse=True)
    assert 0.6 <= candidates["scores"][0] <= 1  # the best by vectors alone has 0.6
    assert {each["source"] for each in found["passages"]} == {f"hybrid:{index}"}
