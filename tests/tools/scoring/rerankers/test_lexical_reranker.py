from collections.abc import Iterator
from functools import cache
from math import log
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import InstanceOf

from hopgraph.nodes.core.excerpts import excerpt_text
from hopgraph.nodes.sentence_filter import sentence_filter
from hopgraph.state import Candidates, Reranker
from hopgraph.state.migres import MigresContext
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import recall_at
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import contains_words, derive_plan
from hopgraph.tools.apps.evaluation.threshold_calibration import calibrate
from hopgraph.tools.retrieval import Bm25Retriever, index_in_memory
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker
from hopgraph.tools.text import split_sentences
from support.node_inputs import node_runtime, passage

words = st.sampled_from(["Tim", "Burton", "film", "the", "1994", "directed", "Wood", "é", "\n", "(", ")"])
texts = st.one_of(st.text(max_size=20), st.lists(words, max_size=12).map(" ".join))


def score(query: str, text: str) -> float:
    return LexicalReranker().score([(query, text)])[0]


def test_it_is_a_reranker() -> None:
    assert isinstance(LexicalReranker(), Reranker)
    assert LexicalReranker().score([]) == []


def test_a_score_worked_by_hand() -> None:
    query = "who is Tim Burton"  # two names of equal weight; the rest has none
    brevity = (50 / 8) ** 0.05  # two terms count as eight
    # Both terms and their only phrase are found.
    assert score(query, "Tim Burton") == pytest.approx(-log(0.02 * 0.8) * brevity)
    # One of the terms, no phrase.
    assert score(query, "Burton") == pytest.approx(-log(1 - 0.98 / 2) * brevity)
    # Both as the title, in order.
    assert score(query, "Tim Burton\n") == pytest.approx(-log(0.02 * 0.8 * 0.7 * 0.8) * brevity)
    # Half of the title, and half of the query.
    assert score(query, "Richard Burton\n") == pytest.approx(-log((1 - 0.98 / 2) * (1 - 0.3 / 2)) * brevity)


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("Who directed Ed Wood?", "Ed Wood was directed by Tim Burton.", "Ed Wood lived in Hollywood."),
        ("Who directed Ed Wood?", "Ed Wood lived in Hollywood.", "He directed many plays."),
        ("Which film of 1994 won?", "It came in 1994.", "It won."),
        ("Was the actress born in Oslo?", "She lives in Oslo.", "The actress was born at sea."),
        ("a sketch on glaciology", "on glaciology", "a sketch"),
        ("Who played in the New York Giants?", "the New York Giants", "the Giants of York were New"),
        ("When was Paris founded?", "Paris\nIt was founded early.", "Lyon\nParis was founded early."),
        ("When was Paris founded?", "Paris (city)\nIt is old.", "Paris Hilton\nIt is old."),
        ("born in Rome", "He was born in Rome.", "He was born in Rome" + " and he liked the walks by the sea" * 9),
    ],
)
def test_the_better_text_has_the_higher_score(query: str, better: str, worse: str) -> None:
    assert score(query, better) > score(query, worse)


@pytest.mark.parametrize(("query", "text"), [("Ed Wood", "Paris"), ("", "Paris"), ("Paris", ""), ("?!", "?!")])
def test_nothing_shared_scores_zero(query: str, text: str) -> None:
    assert score(query, text) == 0.0


def test_a_query_in_capitals_alone_is_read_like_one_without() -> None:
    text = "Ed Wood\nA film directed by Tim Burton."
    assert score("WHO DIRECTED ED WOOD?", text) == score("who directed ed wood?", text)


def test_a_query_of_function_words_still_finds_its_name() -> None:
    assert score("who had them", "She had them.") > score("who had them", "She saw ships.")


def test_a_very_long_text_is_scored() -> None:
    assert 0 < score("Ed Wood", "alpha " * 200_000 + "Wood") < score("Ed Wood", "Wood")


@given(st.lists(st.tuples(texts, texts), max_size=8), st.randoms())
def test_a_score_depends_on_nothing_but_its_pair(pairs: list[tuple[str, str]], random: Random) -> None:
    reranker = LexicalReranker()
    alone = {pair: reranker.score([pair])[0] for pair in pairs}
    assert reranker.score(pairs) == [alone[pair] for pair in pairs]
    random.shuffle(pairs)
    assert reranker.score(pairs) == [alone[pair] for pair in pairs]
    assert all(0 <= value < 6 for value in alone.values())


@given(texts, texts)
def test_more_text_never_takes_terms_away(query: str, text: str) -> None:
    """Only brevity can lower a score when a sentence is added, and it does so by little."""
    assert score(query, f"\n{text} more words") >= 0.85 * score(query, f"\n{text}")


class FirstHalves(BaseRetriever):
    """Sends each question to its own set's index, as one calibration over several sets needs."""

    retrievers: dict[str, InstanceOf[BaseRetriever]]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self.retrievers[query].invoke(query, k=k)


SETS = ("hotpotqa/train_100.json", "2wikimultihopqa/train_200.json", "musique/train_100.jsonl")


@cache
def _first_half(path: Path) -> tuple[list[EvalQuestion], BaseRetriever]:
    questions = list(read_questions(path))
    index = index_in_memory(open_corpus(path).records(CorpusReading()), path.name)
    return questions[: len(questions) // 2], Bm25Retriever(index=index)


@pytest.fixture(scope="module")
def first_halves(shared_data: Path) -> dict[str, tuple[list[EvalQuestion], BaseRetriever]]:
    return {name: _first_half(shared_data / name) for name in SETS}


@pytest.mark.slow
def test_the_procedure_of_migres_finds_a_threshold_that_is_too_high_for_words(
    first_halves: dict[str, tuple[list[EvalQuestion], BaseRetriever]],
) -> None:
    retrievers = {q.question: retriever for questions, retriever in first_halves.values() for q in questions}
    result = calibrate(list(retrievers), FirstHalves(retrievers=retrievers), LexicalReranker())
    assert result.questions == 200
    assert result.threshold == pytest.approx(1.2977, abs=1e-4)


@pytest.mark.long
async def test_the_threshold_is_the_largest_tenth_that_loses_few_gold_sentences(
    first_halves: dict[str, tuple[list[EvalQuestion], BaseRetriever]],
) -> None:
    """The share of the gold sentences that the sentence filter shows, beside that of the five best as wholes."""
    own = LexicalReranker.threshold
    shown = {least: await _gold_shown(first_halves, AtLeast(least)) for least in (0.0, own, own + 0.1)}
    assert shown[own] >= 0.97 * shown[0.0] > shown[own + 0.1]


class AtLeast(LexicalReranker):
    def __init__(self, least: float) -> None:
        self.threshold = least


async def _gold_shown(sets: dict[str, tuple[list[EvalQuestion], BaseRetriever]], reranker: LexicalReranker) -> float:
    """Return the mean share over the sets, for their questions and single-hop questions as queries."""
    shares: list[float] = []
    for questions, retriever in sets.values():
        found, there = 0, 0
        for query, gold in (each for question in questions for each in _queries_with_gold(question)):
            documents = retriever.invoke(query, k=50)
            passages = [
                passage(str(n), each.page_content, title=each.metadata["title"]) for n, each in enumerate(documents)
            ]
            ids = [each["id"] for each in passages]
            candidates = [Candidates(query=query, passage_ids=ids, scores=[0.0] * len(ids))]
            state: Any = {"candidates": candidates, "passages": passages}
            update = await sentence_filter(state, node_runtime(MigresContext(reranker=reranker)))
            by_id = {each["id"]: each for each in passages}
            excerpts = update["knowledge"][0]["excerpts"]
            shown = [(by_id[e["passage_id"]]["title"], excerpt_text(e, by_id[e["passage_id"]])) for e in excerpts]
            for title, sentence in gold:
                if any(each["title"] == title and sentence in each["text"] for each in passages):
                    there += 1
                    found += any(title == each and sentence in text for each, text in shown)
        shares.append(found / there)
    return sum(shares) / len(shares)


def _queries_with_gold(question: EvalQuestion) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Give the question and its hops as queries, each with the gold sentences below their titles."""
    plan, every = derive_plan(question), list[tuple[str, str]]()
    hops: list[tuple[str, list[tuple[str, str]]]] = []
    for hop in plan.asked:
        marked: list[tuple[str, str]] = []
        for gold in hop.passages:
            texts = [gold.text[start:end] for start, end in split_sentences(gold.text)]
            known = gold.sentences or hop.answers
            marked += [(gold.title, text) for text in texts if any(contains_words(text, each) for each in known)]
        every += marked
        answering = [each for each in marked if any(contains_words(each[1], answer) for answer in hop.answers)]
        hops.append((plan.question_of(hop), answering or marked))
    yield from ((query, gold) for query, gold in [(question.question, list(dict.fromkeys(every))), *hops] if gold)


@pytest.mark.parametrize("name", [SETS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in SETS[1:])])
def test_reranking_finds_more_gold_passages_than_bm25(name: str, shared_data: Path) -> None:
    before, after = zip(*_recall_before_and_after(*_first_half(shared_data / name)), strict=True)
    assert sum(after) / len(after) >= sum(before) / len(before) + 0.01


def _recall_before_and_after(questions: list[EvalQuestion], retriever: BaseRetriever) -> Iterator[tuple[float, float]]:
    reranker, recall = LexicalReranker(), recall_at(5)
    for question in questions:
        documents = retriever.invoke(question.question, k=50)
        pairs = [(question.question, f"{d.metadata['title']}\n{d.page_content}") for d in documents]
        scored = sorted(zip(reranker.score(pairs), documents, strict=True), key=lambda pair: -pair[0])
        before = [str(document.id) for document in documents]
        yield recall(before, question.gold), recall([str(d.id) for _, d in scored], question.gold)


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("Who won 5 medals?", "She won 5 medals.", "She won 3 medals."),
        (
            "\u5317\u4eac\u5927\u5b66\u5728\u54ea\u91cc",
            "\u5317\u4eac\u5927\u5b66\u5728\u4e2d\u56fd\u3002",
            "\u4e1c\u4eac\u5854\u5728\u65e5\u672c\u3002",
        ),
        ("Where is the caf\u00e9?", "The cafe is in Kiel.", "The bar is in Kiel."),
    ],
)
def test_single_digits_unspaced_writing_and_accents_are_seen(query: str, better: str, worse: str) -> None:
    assert score(query, f"\n{better}") > score(query, f"\n{worse}")
