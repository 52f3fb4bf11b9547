"""Retrieval: any retriever, two corpora, and passages that contain the question replaced by others."""

from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime

from hopgraph.nodes.retrieve import retrieve
from hopgraph.state import Query
from hopgraph.state.migres import MigresContext
from support.node_inputs import CountingCorpus, WithOptions, WithoutK

QUESTION = "Who painted the Night Watch?"


class AsyncOnly(WithoutK):
    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content="async", id="async")]


@pytest.mark.parametrize(
    ("retriever", "ids"), [(WithoutK(), ["0", "2", "3"]), (WithOptions(), ["0", "2", "3"]), (AsyncOnly(), ["async"])]
)
async def test_a_retriever_needs_not_take_a_number(retriever: BaseRetriever, ids: list[str]) -> None:
    update = await retrieve(
        {"question": "q", "queries": [Query(text="q", why="")], "asked": ["p"], "excluded": ["1"], "iteration": 1},
        Runtime(context=MigresContext(retriever=retriever, passages_per_query=3)),
    )
    assert update["candidates"][0]["passage_ids"] == ids
    assert update["asked"] == ["p", "q"]


async def test_one_id_in_two_corpora_is_two_passages() -> None:
    class Other(WithOptions):
        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
        ) -> list[Document]:
            return [Document(page_content="q 0", id="0"), Document(page_content="another text", id="1")]

    update = await retrieve(
        {"question": "q", "queries": [Query(text="q", why="")], "asked": [], "excluded": [], "iteration": 1},
        Runtime(context=MigresContext(retriever=WithOptions(), second_retriever=Other(), passages_per_query=2)),
    )
    assert [each["text"] for each in update["passages"]] == ["q 0", "q 1", "another text"]
    assert len(set(update["candidates"][0]["passage_ids"])) == 3


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
    assert await retrieved(CountingCorpus(texts=texts(0, 1)), on=False) == (["0", "1", "2"], 0)


async def test_others_take_their_places() -> None:
    corpus = CountingCorpus(texts=texts(0, 2, 3, 5))
    assert await retrieved(corpus) == (["1", "4", "6"], 4)
    assert corpus.asked_for == [4, 8]


async def test_nothing_more_is_asked_for_when_nothing_is_left_out() -> None:
    corpus = CountingCorpus(texts=texts())
    assert await retrieved(corpus) == (["0", "1", "2"], 0)
    assert corpus.asked_for == [4]


@pytest.mark.parametrize("size", [2, 5])
async def test_a_corpus_that_has_no_others_gives_fewer(size: int) -> None:
    assert await retrieved(CountingCorpus(texts=texts(*range(1, 20), size=size))) == (["0"], size - 1)


async def test_the_search_for_others_ends() -> None:
    corpus = CountingCorpus(texts=texts(*range(1000), size=1000))
    assert await retrieved(corpus) == ([], 63)
    assert corpus.asked_for == [4, 8, 16, 32, 64]


async def test_both_retrievers_are_counted() -> None:
    second = CountingCorpus(texts=texts(1))
    assert await retrieved(CountingCorpus(texts=texts(0)), second_retriever=second) == (["1", "2", "3", "0"], 2)
