"""Retrieval: any retriever, two corpora, and passages that contain the question replaced by others."""

import asyncio
import time
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime

from hopgraph.nodes.retrieve import retrieve
from hopgraph.state import BudgetState, CorpusError, Query
from hopgraph.state.migres import MigresContext
from support.node_inputs import CountingCorpus, WithOptions, WithoutK

QUESTION = "Who painted the Night Watch?"


class First(BudgetState):
    iteration: int


FIRST = First(iteration=1, calls={}, started_at=0.0)


class AsyncOnly(WithoutK):
    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content="async", id="async")]


@pytest.mark.parametrize(
    ("retriever", "ids"), [(WithoutK(), ["0", "2", "3"]), (WithOptions(), ["0", "2", "3"]), (AsyncOnly(), ["async"])]
)
async def test_a_retriever_needs_not_take_a_number(retriever: BaseRetriever, ids: list[str]) -> None:
    update = await retrieve(
        {"question": "q", "queries": [Query(text="q", why="")], "asked": ["p"], "excluded": ["1"], **FIRST},
        Runtime(context=MigresContext(retriever=retriever, top_k=3)),
    )
    assert update["candidates"][0]["passage_ids"] == ids
    assert update["asked"] == ["p", "q"]


class Gives(WithoutK):
    given: Any

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> Any:
        return self.given() if callable(self.given) else self.given


def asked(retriever: BaseRetriever, **more: Any) -> tuple[Any, Runtime[Any]]:
    state = {"question": "q", "queries": [Query(text="q", why="")], "asked": [], "excluded": [], **FIRST}
    return {**state, **more}, Runtime(context=MigresContext(retriever=retriever))


class Late(BaseRetriever):
    kind: str

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        time.sleep(2)
        return [Document(page_content="late")]


class LateAsync(Late):
    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        if self.kind == "fails":
            raise TimeoutError("the database is slow")
        await asyncio.sleep(3600)
        return []


@pytest.mark.parametrize("late", [Late(kind="sync"), LateAsync(kind="async")])
async def test_the_deadline_ends_a_search(late: BaseRetriever) -> None:
    settings = MigresContext(retriever=late, second_retriever=WithoutK(), deadline_seconds=0.4)
    state, _ = asked(late, calls={}, started_at=time.time())
    update = await retrieve(state, Runtime(context=settings))
    assert "late" not in [each["text"] for each in update["passages"]]


async def test_a_retrievers_own_timeout_is_an_error() -> None:
    with pytest.raises(TimeoutError, match="the database is slow"):
        await retrieve(*asked(LateAsync(kind="fails")))


async def test_a_retriever_may_give_an_iterator() -> None:
    update = await retrieve(*asked(Gives(given=lambda: iter([Document(page_content="a", id="x")]))))
    assert update["candidates"][0]["passage_ids"] == ["x"]


async def test_a_chunk_does_not_take_the_place_of_one_that_was_found_before() -> None:
    before = (await retrieve(*asked(Gives(given=[Document(page_content="a", id="x")]))))["passages"]
    chunks = [Document(page_content=text, id="x") for text in ("b", "a")]
    update = await retrieve(*asked(Gives(given=chunks), passages=before, iteration=2))
    ids = update["candidates"][0]["passage_ids"]
    assert ids[0].startswith("x#")
    assert [each["id"] for each in update["passages"] if each["text"] == "b"] == ids[:1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "Gives returned NoneType; a retriever returns LangChain Documents"),
        (["text"], "Gives returned str"),
        ([(Document(page_content="a"), 0.5)], "Gives returned tuple"),
        ([Document.model_construct(page_content=None, metadata={})], "Gives returned a Document without text"),
        ([Document.model_construct(page_content="a", metadata=None)], "Gives returned a Document without text or"),
    ],
)
async def test_what_is_no_list_of_documents_is_named(given: Any, said: str) -> None:
    with pytest.raises(CorpusError, match=f"^{said}"):
        await retrieve(*asked(Gives(given=given)))


async def test_one_id_in_two_corpora_is_two_passages() -> None:
    class Other(WithOptions):
        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
        ) -> list[Document]:
            return [Document(page_content="q 0", id="0"), Document(page_content="another text", id="1")]

    update = await retrieve(
        {"question": "q", "queries": [Query(text="q", why="")], "asked": [], "excluded": [], **FIRST},
        Runtime(context=MigresContext(retriever=WithOptions(), second_retriever=Other(), top_k=2)),
    )
    assert [each["text"] for each in update["passages"]] == ["q 0", "q 1", "another text"]
    assert len(set(update["candidates"][0]["passage_ids"])) == 3


async def retrieved(corpus: BaseRetriever, *, on: bool = True, **settings: Any) -> tuple[list[str], int]:
    events: list[Any] = []
    runtime: Runtime[Any] = Runtime(
        context=MigresContext(retriever=corpus, top_k=3, exclude_question_text=on, **settings),
        stream_writer=events.append,
    )
    queries = [Query(text="a sub-question", why="")]
    update = await retrieve(
        {"question": QUESTION, "queries": queries, "asked": [], "excluded": ["8"], **FIRST}, runtime
    )
    found = [event["data"] for event in events if event["event"] == "retrieved"]
    assert found[0]["passage_ids"] == update["candidates"][0]["passage_ids"]
    return update["candidates"][0]["passage_ids"], found[0]["left_out"]


def texts(*bad: int, size: int = 20) -> list[str]:
    return [f"Quiz: who painted the “Night Watch”? {n}" if n in bad else f"Rembrandt {n}" for n in range(size)]


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
