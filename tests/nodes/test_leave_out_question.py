"""The switch against contamination: passages that contain the question are replaced by others."""

from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state import Query
from hopgraph.state.migres import MigresContext

QUESTION = "Who painted the Night Watch?"
WITHOUT_RETRIEVAL = {"cot", "cot_sc", "direct", "genread", "gold_passages", "least_to_most"}


class Corpus(BaseRetriever):
    """Gives its first k documents, and notes how many it was asked for."""

    texts: list[str]
    asked_for: list[int] = []  # noqa: RUF012 - pydantic copies it

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int = 5
    ) -> list[Document]:
        self.asked_for.append(k)
        return [Document(page_content=text, id=str(n)) for n, text in enumerate(self.texts[:k])]


async def retrieved(corpus: BaseRetriever, *, on: bool = True, **settings: Any) -> tuple[list[str], int]:
    events: list[Any] = []
    runtime: Runtime[Any] = Runtime(
        context=MigresContext(retriever=corpus, passages_per_query=3, leave_out_question=on, **settings),
        stream_writer=events.append,
    )
    queries = [Query(text="a sub-question", why="")]
    update = await retrieve(
        {"question": QUESTION, "queries": queries, "asked": [], "excluded": ["8"], "iteration": 1}, runtime
    )
    found = [event["data"] for event in events if event["event"] == "retrieved"]
    assert found[0]["passage_ids"] == update["candidates"][0]["passage_ids"]
    return update["candidates"][0]["passage_ids"], found[0]["left_out"]


def texts(*bad: int, size: int = 20) -> list[str]:
    return [f"Quiz: who painted the “Night Watch”? {n}" if n in bad else f"Rembrandt {n}" for n in range(size)]


async def test_off_by_default_nothing_is_left_out() -> None:
    assert MigresContext().leave_out_question is False
    assert await retrieved(Corpus(texts=texts(0, 1)), on=False) == (["0", "1", "2"], 0)


async def test_others_take_their_places() -> None:
    corpus = Corpus(texts=texts(0, 2, 3, 5))
    assert await retrieved(corpus) == (["1", "4", "6"], 4)
    assert corpus.asked_for == [4, 8]


async def test_nothing_more_is_asked_for_when_nothing_is_left_out() -> None:
    corpus = Corpus(texts=texts())
    assert await retrieved(corpus) == (["0", "1", "2"], 0)
    assert corpus.asked_for == [4]


@pytest.mark.parametrize("size", [2, 5])
async def test_a_corpus_that_has_no_others_gives_fewer(size: int) -> None:
    assert await retrieved(Corpus(texts=texts(*range(1, 20), size=size))) == (["0"], size - 1)


async def test_the_search_for_others_ends() -> None:
    corpus = Corpus(texts=texts(*range(1000), size=1000))
    assert await retrieved(corpus) == ([], 63)
    assert corpus.asked_for == [4, 8, 16, 32, 64]


async def test_both_retrievers_are_counted() -> None:
    second = Corpus(texts=texts(1))
    assert await retrieved(Corpus(texts=texts(0)), second_retriever=second) == (["1", "2", "3", "0"], 2)


@pytest.mark.parametrize("name", sorted(METHODS.keys() - ALIASES.keys()))
async def test_every_method_leaves_them_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_GOLD_PASSAGES", '[{"title": "Rembrandt", "text": "He painted the Night Watch."}]')
    corpus = Corpus(texts=["Quiz: who painted the Night Watch? Rembrandt van Rijn.", *texts()])
    settings = {"retriever": corpus, "leave_out_question": True, "passages_per_query": 2}
    counts: list[int] = []
    seen: set[str] = set()
    stream = METHODS[name].graph.astream({"question": QUESTION}, context=settings, stream_mode="custom", subgraphs=True)
    async for _, event in stream:
        if event["event"] == "retrieved":
            counts.append(event["data"]["left_out"])
            seen.update(event["data"]["passage_ids"])
    assert "0" not in seen
    assert len(corpus.asked_for) >= len(counts)
    assert all(count >= 1 for count in counts)
    assert counts or name in WITHOUT_RETRIEVAL
