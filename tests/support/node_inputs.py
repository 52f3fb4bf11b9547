"""Inputs for tests of single nodes: state records, usage, and small retrievers."""

import time
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime

from hopgraph.state import BudgetState, Call, Citation, Draft, Evidence, Excerpt, Knowledge, Passage, StepEvent
from hopgraph.state.context import ContextT
from hopgraph.state.question_tree import QuestionNode
from hopgraph.state.tree_of_reviews import ReviewNode


def passage(key: str, text: str = "One. Two.", **fields: Any) -> Passage:
    known: Any = {"id": key, "title": key.upper(), "text": text, "score": 1.0, "source": "s", "hop": 1, **fields}
    return known


def evidence(number: int, statement: str, *ids: str) -> Evidence:
    return Evidence(id=f"1.1.{number}", statement=statement, passage_ids=list(ids), quote="", verified=True)


def citation(title: str, quote: str, kind: Any = "passage") -> Citation:
    return Citation(passage_id=title, title=title, quote=quote, start=0, end=len(quote), kind=kind)


def model_call(**fields: Any) -> Call:
    """Return a model call, by default of 10 prompt tokens and 5 completion tokens."""
    counted: Any = {
        "kind": "model",
        "role": "r",
        "attempts": 1,
        "cached": 0,
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "parse_failures": 0,
        "passages": 0,
        "knowledge_tokens": 0,
        **fields,
    }
    return counted


def spent(*calls: Call, ago: float = 0.0) -> BudgetState:
    """Return the budget state of a run that began `ago` seconds ago and made these calls."""
    return BudgetState(calls={str(number): each for number, each in enumerate(calls)}, started_at=time.time() - ago)


def question_node(key: str, **fields: Any) -> QuestionNode:
    """Return an open node of a question tree, with its parent and its depth read from its path."""
    made: Any = {
        "id": key,
        "parent": key.rpartition(".")[0],
        "depth": key.count("."),
        "question": f"question {key}?",
        "status": "open",
        "answer": "",
        "how": "",
        "explanation": "",
        "passage_ids": [],
        **fields,
    }
    return made


class WithoutK(BaseRetriever):
    """Always returns nine documents."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content=f"{query} {number}", id=str(number)) for number in range(9)]


class WithOptions(WithoutK):
    """Returns its first k documents."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return super()._get_relevant_documents(query, run_manager=run_manager)[: options["k"]]


class CountingCorpus(BaseRetriever):
    """Returns its first k documents and records k."""

    texts: list[str]
    asked_for: list[int] = []  # noqa: RUF012 - pydantic copies it

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int = 5
    ) -> list[Document]:
        self.asked_for.append(k)
        return [Document(page_content=text, id=str(n)) for n, text in enumerate(self.texts[:k])]


def draft(answer: str, reasoning: str = "", *pieces: Evidence) -> Draft:
    """Return a sample with an answer, a chain of thought and its evidence."""
    return Draft(reasoning=reasoning, answer=answer, evidence=list(pieces))


def knowledge(query: str, *keys: str) -> Knowledge:
    """Return the knowledge of a query: the first four characters of each passage."""
    return Knowledge(
        query=query, excerpts=[Excerpt(passage_id=key, spans=[[0, 4]], text="", score=1.0) for key in keys]
    )


def review_node(key: str, verdict: Any = "", **fields: Any) -> ReviewNode:
    """Return a node of a review tree that adds passage `p<id>` to its path; reviewed if a verdict is given."""
    made: Any = {
        "id": key,
        "parent": key.rpartition(".")[0],
        "depth": key.count("."),
        "passage_ids": [f"p{key}"] if "." in key else [],
        "status": "reviewed" if verdict else "open",
        "verdict": verdict,
        "analysis": "",
        "answer": "",
        "query": "",
        "why": "",
        **fields,
    }
    return made


def review_tree(*nodes: ReviewNode) -> dict[str, ReviewNode]:
    """Return these nodes below an expanded root, by id."""
    root = review_node("0", "search", status="expanded", query="Who?")
    return {each["id"]: each for each in (root, *nodes)}


def node_runtime(settings: ContextT, events: list[StepEvent] | None = None) -> Runtime[ContextT]:
    """Return a node's runtime, which writes step events to `events`."""
    written = events if events is not None else []
    return Runtime(context=settings, stream_writer=written.append)
