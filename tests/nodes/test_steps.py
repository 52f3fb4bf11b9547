"""The small decisions inside the steps, each at its edges; how steps work together is in tests/graphs."""

import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime

from hopgraph.graphs.migres import any_queries, enough_information, what_is_left, what_was_kept
from hopgraph.nodes.core.budget import REPLY_TOKENS, allocate_calls, calls_left, is_exhausted
from hopgraph.nodes.core.excerpts import excerpt_text, passages_by_id, prompt_passages, with_title
from hopgraph.nodes.core.reply_text import is_dont_know, read_numbers, short_answer
from hopgraph.nodes.core.search import to_passages
from hopgraph.nodes.decide import Decision
from hopgraph.nodes.finish import FinishState, cite, cited_evidence, finish, total
from hopgraph.nodes.nli_verify import nli_verify
from hopgraph.nodes.prepare import checked_question
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.sentence_filter import relevance_threshold
from hopgraph.state import Call, Evidence, Excerpt, Passage, Query, QuestionError, Spent, StepEvent
from hopgraph.state.events import event_order
from hopgraph.state.migres import MigresContext
from hopgraph.tools.models import parse_reply
from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker


def passage(key: str, text: str = "One. Two.", **fields: Any) -> Passage:
    known: Any = {"id": key, "title": key.upper(), "text": text, "score": 1.0, "source": "s", "hop": 1, **fields}
    return known


def evidence(number: int, statement: str, *ids: str) -> Evidence:
    return Evidence(id=f"1.1.{number}", statement=statement, passage_ids=list(ids), quote="", verified=True)


def call(**fields: Any) -> Call:
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


# retrieve


def test_documents_of_any_retriever_become_passages() -> None:
    documents = [
        Document(page_content="a", metadata={"title": "T", "score": 2}, id="x"),
        Document(page_content="b", metadata={"id": 7, "relevance_score": 0.5}),
        Document(page_content="c\u202e"),
        Document(page_content="again", id="x"),
    ]
    found = to_passages(documents, "Mine", hop=2)
    assert [(each["id"], each["title"], each["score"]) for each in found[:2]] == [("x", "T", 2.0), ("7", "", 0.5)]
    assert (found[2]["text"], found[2]["score"], found[2]["source"], found[2]["hop"]) == ("c", 1 / 3, "Mine", 2)
    assert len(found) == 3
    assert to_passages(documents, "Mine", hop=2)[2]["id"] == found[2]["id"] != ""
    assert to_passages([], "Mine", hop=1) == []


class WithoutK(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content=f"{query} {number}", id=str(number)) for number in range(9)]


class WithOptions(WithoutK):
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return super()._get_relevant_documents(query, run_manager=run_manager)[: options["k"]]


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


# sentence_filter


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, LexicalReranker().threshold),
        ({"threshold": 0.25}, 0.25),
        ({"threshold": 3.0, "threshold_for": "bge"}, LexicalReranker().threshold),
        ({"threshold": 3.0, "threshold_for": "lexical"}, 3.0),
    ],
)
def test_a_threshold_counts_for_the_reranker_it_was_found_for(settings: dict[str, Any], expected: float) -> None:
    assert relevance_threshold(MigresContext(**settings), LexicalReranker()) == expected


def test_no_threshold_anywhere_keeps_everything() -> None:
    class Uncalibrated:
        name, threshold = "new", None

        def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return [0.0] * len(pairs)

    assert relevance_threshold(MigresContext(), Uncalibrated()) == float("-inf")


# knowledge


def test_an_excerpt_shows_its_gaps_and_nothing_twice() -> None:
    text = "One. Two. Three."
    assert excerpt_text(Excerpt(passage_id="a", spans=[[0, 4], [10, 16]], text="", score=0), passage("a", text)) == (
        "One. … Three."
    )
    assert excerpt_text(Excerpt(passage_id="a", spans=[[0, 4], [5, 9]], text="", score=0), passage("a", text)) == (
        "One. Two."
    )
    written = Excerpt(passage_id="a", spans=[], text="Short.", score=0)
    assert prompt_passages([written], passages_by_id([passage("a", text)])) == [{"title": "A", "text": "Short."}]
    assert with_title(passage("a", "x")) == "A\nx"
    assert with_title(passage("a", "x", title="")) == "x"


# recall_knowledge


@pytest.mark.parametrize(
    "text",
    ["", " . ", "I don't know.", "I don\u2019t know", "I do not know that.", "Unknown", "Sorry, I don't have that."],
)
def test_not_knowing_is_understood(text: str) -> None:
    assert is_dont_know(text)


@pytest.mark.parametrize("text", ["Lima is in Peru.", "Unknown Pleasures is an album.", "I think it is Lima."])
def test_knowing_is_understood(text: str) -> None:
    assert not is_dont_know(text)


# extract


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        (3, [3]),
        ("3", [3]),
        ("[12]", [12]),
        ("Passages 1 and 12", [1, 12]),
        ([1, "2", [3]], [1, 2, 3]),
        (2.0, [2]),
        (float("inf"), []),
        ([], []),
    ],
)
def test_passage_numbers_are_read_as_models_write_them(written: object, numbers: list[int]) -> None:
    assert read_numbers(written) == numbers


# decide


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Lima", "Lima"),
        (" Lima \n Peru ", "Lima Peru"),
        ("unanswerable", ""),
        ('"Unanswerable."', ""),
        ("**unanswerable**: no", ""),
        ("", ""),
    ],
)
def test_an_answer_is_one_line_or_nothing(said: str, answer: str) -> None:
    assert short_answer(said) == answer


@pytest.mark.parametrize(
    ("said", "answer"), [("Yes.", "yes"), ("NO, since …", "no"), ("true", "yes"), ("Nobody", ""), ("unanswerable", "")]
)
def test_a_yes_no_answer_is_yes_or_no_or_nothing(said: str, answer: str) -> None:
    assert short_answer(said, yes_no=True) == answer


@pytest.mark.parametrize(
    ("said", "confidence"), [(4, 4), ("5/5", 5), (9, 5), (0, 1), (4.6, 5), ("high", None), (None, None)]
)
def test_confidence_is_one_to_five_or_unknown(said: object, confidence: int | None) -> None:
    assert Decision.model_validate({"answer": {"text": "x", "confidence": said}}).answer.confidence == confidence


@pytest.mark.parametrize(
    "reply",
    [
        '{"answer": "1994"}',
        '{"answer": 1994}',
        '{"answer": {"text": 1994}}',
        '{"answer": {"text": "1994"}, "explanation": null, "missing_information": null, "used_information": null}',
        '{"answer": {"text": "1994"}, "used_information": [1e999]}',
        'Perhaps {"answer": "1995"}? No.</think>{"answer": "1994"}',
    ],
)
def test_usual_slips_cost_no_second_call(reply: str) -> None:
    assert parse_reply(reply, Decision).answer.text == "1994"


async def test_a_statement_is_kept_for_the_passage_that_entails_it() -> None:
    passages = [passage("a", "Cats purr."), passage("b", "Lima is the capital of Peru.")]
    drafts = [evidence(1, "Lima is the capital of Peru.", "a"), evidence(2, "Lima is the capital of Peru.", "b")]
    update = await nli_verify(
        {"drafts": [*drafts, *drafts], "evidence": [], "passages": passages}, Runtime(context=MigresContext())
    )
    assert [(each["id"], each["passage_ids"]) for each in update["evidence"]] == [("1.1.2", ["b"])]
    again = await nli_verify(
        {"drafts": drafts, "evidence": update["evidence"], "passages": passages}, Runtime(context=MigresContext())
    )
    assert again["evidence"] == []


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


# finish


def finishing(**fields: Any) -> FinishState:
    state: Any = {
        "answer": "Lima",
        "explanation": "It is the capital.",
        "evidence": [evidence(1, "Lima is a city.", "a"), evidence(2, "Cats purr.", "b")],
        "used": [],
        "passages": [passage("a"), passage("b", hop=2), passage("c", hop=2)],
        "iteration": 2,
        "stop_reason": None,
        "calls": {},
        "started_at": 0.0,
        **fields,
    }
    return state


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ({"used": ["1.1.2"]}, ["1.1.2"]),
        ({}, ["1.1.1"]),
        ({"answer": "no", "explanation": ""}, ["1.1.1", "1.1.2"]),
        ({"used": ["9.9.9"]}, ["1.1.1"]),
    ],
)
def test_what_the_answer_rests_on(fields: dict[str, Any], ids: list[str]) -> None:
    assert [each["id"] for each in cited_evidence(finishing(**fields))] == ids


async def test_cited_passages_come_first_and_recalled_ones_not_at_all() -> None:
    recalled = passage("model:1.1", source="model")
    state = finishing(used=["1.1.2"], passages=[recalled, passage("a"), passage("b", hop=2), passage("c", hop=2)])
    update = await finish(state, Runtime(context=MigresContext()))
    assert [each["id"] for each in update["passages"].value] == ["b", "a", "c"]
    assert update["stop_reason"] == "answered"


async def test_no_answer_has_no_citations() -> None:
    update = await finish(finishing(answer="", used=["1.1.2"]), Runtime(context=MigresContext()))
    assert (update["citations"], update["stop_reason"]) == ([], "unanswerable")


def test_a_passage_is_cited_once() -> None:
    cited = cite([evidence(1, "One", "a", "b"), evidence(2, "Two", "a")], passages_by_id([passage("a"), passage("b")]))
    assert [(each["passage_id"], each["quote"]) for each in cited] == [("a", "One."), ("b", "One.")]


def test_totals_add_up() -> None:
    usage = total(
        [call(passages=3), call(attempts=2, parse_failures=1), call(kind="retrieval", attempts=0, passages=50)], 2
    )
    assert (usage["llm_calls"], usage["retrievals"], usage["passages"], usage["parse_failures"]) == (3, 1, 3, 1)
    assert set(total([], 0).values()) == {0}


# budget


def spent(*calls: Call, ago: float = 0.0) -> Spent:
    return Spent(calls={str(number): each for number, each in enumerate(calls)}, started_at=time.time() - ago)


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 8), st.integers(0, 3), st.integers(0, 3))
def test_shares_never_exceed_the_budget_and_first_requests_come_first(
    limit: int, used: int, count: int, keep: int, retries: int
) -> None:
    settings = MigresContext(max_llm_calls=limit, parse_retries=retries)
    shares = allocate_calls(settings, spent(*[call()] * used), [0] * count, reserve_calls=keep)
    left = max(0, limit - used - keep)
    assert sum(shares) == min(left, count * (1 + retries))
    assert sum(1 for share in shares if share) == min(left, count)
    assert shares == sorted(shares, reverse=True)


def test_without_a_limit_everybody_may_ask_again() -> None:
    assert allocate_calls(MigresContext(parse_retries=2), spent(), [5, 5]) == [3, 3]
    assert calls_left(MigresContext(), spent(call())) is None


def test_tokens_are_given_out_in_order() -> None:
    settings = MigresContext(max_tokens=15 + 80 + 2 * REPLY_TOKENS, parse_retries=0)
    assert allocate_calls(settings, spent(call()), [60, 60, 20]) == [1, 0, 1]
    for keep in (0, 1):  # before the final answer its share is left over
        assert allocate_calls(settings, spent(call()), [60, 60, 20], reserve_calls=keep) == [1, 0, 0]


@pytest.mark.parametrize(
    ("settings", "exhausted"),
    [
        ({}, False),
        ({"max_llm_calls": 3}, False),
        ({"max_llm_calls": 2}, True),
        ({"max_tokens": 15}, True),
        ({"deadline_seconds": 1}, True),
        ({"deadline_seconds": 90}, False),
    ],
)
def test_when_the_budget_is_used_up(settings: dict[str, Any], exhausted: bool) -> None:
    assert is_exhausted(MigresContext(**settings), spent(call(), ago=2), calls=2) is exhausted


# prepare, events


def test_a_question_is_cleaned_or_refused() -> None:
    assert checked_question("  Who\u202e?\r\n ") == "Who?"
    for wrong in ("", "\u200b \n", "x" * 10_001, 7):
        with pytest.raises(QuestionError) as caught:
            checked_question(wrong)  # pyright: ignore[reportArgumentType] - as a server's client might
        assert "\n" not in str(caught.value)


def test_a_trace_has_one_order() -> None:
    def event(step: int, path: str, number: int) -> StepEvent:
        return StepEvent(event="asked", node="n", step=step, path=path, number=number, data={})

    ordered = [event(1, "n", 0), event(2, "n/0001", 0), event(2, "n/0001", 1), event(2, "n/0010", 0), event(10, "a", 0)]
    arrived = [ordered[place] for place in (3, 0, 4, 2, 1)]
    assert sorted(arrived, key=event_order) == ordered


# routers


@pytest.mark.parametrize(
    ("excerpts", "compression", "recall", "edge"),
    [
        ([1, 1], "sentences", True, "passages kept"),
        ([1, 0], "sentences", True, "nothing left"),
        ([0, 0], "sentences", False, "passages kept"),
        ([1, 0], "summary", True, "to compress"),
        ([0, 0], "snippet", True, "nothing left"),
    ],
)
def test_what_follows_the_filter(excerpts: list[int], compression: str, recall: bool, edge: str) -> None:
    state: Any = {
        "knowledge": [{"query": "q", "excerpts": [None] * count} for count in excerpts],
        "settings": {"compression": compression, "recall": recall},
    }
    assert what_was_kept(state) == edge
    if edge != "to compress":
        assert what_is_left(state) == edge


@pytest.mark.parametrize(
    ("reason", "edge"),
    [("answered", "answerable"), (None, "missing"), ("budget", "limit reached"), ("max_iterations", "limit reached")],
)
def test_what_follows_a_decision(reason: str | None, edge: str) -> None:
    state: Any = {"stop_reason": reason}
    assert enough_information(state) == edge


def test_what_follows_new_queries() -> None:
    some: Any = {"queries": [1]}
    none: Any = {"queries": []}
    assert (any_queries(some), any_queries(none)) == ("new queries", "none left")
