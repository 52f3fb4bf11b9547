import asyncio
import json
import os
import shutil
import threading
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval import Bm25Retriever, Index, build_index, index_in_memory, resolve_retriever
from hopgraph.tools.retrieval import index as module
from hopgraph.tools.retrieval.corpora import SourceRecord
from support.paths import SAMPLE

RECORDS = [
    SourceRecord("2", "Hen", "A hen sits. A hen lays.", Path("x"), 1),
    SourceRecord("1", "Fox", "A fox runs.", Path("x"), 2),
    SourceRecord("3", "", "A fox and a hen meet.", Path("x"), 3),
]


@pytest.fixture
def retriever() -> Bm25Retriever:
    return Bm25Retriever(index=index_in_memory(RECORDS, "test"))


def test_documents_come_best_first_with_score_title_and_source(retriever: Bm25Retriever) -> None:
    documents = retriever.invoke("foxes")
    assert [document.id for document in documents] == ["1", "3"]
    best, second = (document.metadata["score"] for document in documents)
    assert best > second > 0
    assert documents[0].page_content == "A fox runs."
    assert documents[0].metadata == {"title": "Fox", "score": best, "source": "test", "index": "test"}


async def test_the_number_of_documents_is_given_by_the_call_else_by_the_retriever(retriever: Bm25Retriever) -> None:
    assert len(retriever.invoke("fox hen")) == 3
    assert len(retriever.invoke("fox hen", k=2)) == 2
    assert len(await retriever.ainvoke("fox hen", k=1)) == 1
    assert len(Bm25Retriever(index=retriever.index, k=1).invoke("fox hen")) == 1
    assert await retriever.ainvoke("unheardof") == retriever.invoke("") == []


async def test_large_indexes_are_searched_off_the_event_loop(
    retriever: Bm25Retriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    search = Index.search

    def watched(*args: object) -> object:
        threads.append(threading.get_ident())
        return search(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Index, "search", watched)
    here = await retriever.ainvoke("fox hen")
    monkeypatch.setattr(module, "_SMALL_INDEX", 2)
    there = await asyncio.gather(*(retriever.ainvoke("fox hen") for _ in range(5)))
    assert there == [here] * 5
    assert threads[0] == threading.get_ident()
    assert threading.get_ident() not in threads[1:]


def test_it_is_a_langchain_retriever_like_any_other(retriever: Bm25Retriever) -> None:
    assert isinstance(retriever, BaseRetriever)
    assert (retriever | RunnableLambda(ids_of)).invoke("fox") == ["1", "3"]
    assert retriever.batch(["fox", "hen"])[1][0].id == "2"


def ids_of(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


@pytest.fixture
def index(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "a", "title": "T", "text": "red fox"}\n')
    return build_index(corpus, tmp_path / "index").path


def test_specs_name_indexes(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    retriever = resolve_retriever(f"bm25:{index}")
    assert retriever.invoke("fox")[0].metadata["source"] == f"bm25:{index}"
    assert resolve_retriever(str(index)) is retriever
    monkeypatch.chdir(index.parent)
    assert resolve_retriever(" bm25:index ") is retriever
    monkeypatch.setenv("HOME", str(index.parent))
    assert resolve_retriever("bm25:~/index") is retriever


def test_an_index_that_was_replaced_is_opened_anew(index: Path) -> None:
    old = resolve_retriever(f"bm25:{index}")
    (index.parent / "corpus.jsonl").write_text('{"_id": "b", "title": "T", "text": "red fox"}\n')
    build_index(index.parent / "corpus.jsonl", index)
    assert [document.id for document in resolve_retriever(f"bm25:{index}").invoke("fox")] == ["b"]
    assert [document.id for document in old.invoke("fox")] == ["a"]
    shutil.rmtree(index)
    with pytest.raises(CorpusError, match="no such index"):
        resolve_retriever(f"bm25:{index}")


def test_the_sample_corpus_is_bundled_and_searched_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample").mkdir()  # a folder of this name does not hide the bundled corpus
    retriever = resolve_retriever("sample")
    assert resolve_retriever("sample") is retriever
    lines = (SAMPLE / "corpus.jsonl").read_text().splitlines()
    wanted = [json.loads(line) for line in lines[:20]]
    for passage in wanted:
        found = retriever.invoke(f"{passage['title']} {passage['text']}", k=1)[0]
        assert (found.id, found.page_content, found.metadata["source"]) == (passage["_id"], passage["text"], "sample")
    assert os.listdir(tmp_path) == ["sample"]
