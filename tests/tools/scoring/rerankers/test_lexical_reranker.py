from collections.abc import Iterator
from math import log
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import InstanceOf

from hopgraph.state import Reranker
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.metrics import recall_at
from hopgraph.tools.apps.evaluation.threshold_calibration import calibrate
from hopgraph.tools.retrieval import Bm25Retriever, index_in_memory
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus
from hopgraph.tools.scoring.rerankers import LexicalReranker

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


@pytest.fixture(scope="module")
def first_halves(shared_data: Path) -> dict[str, tuple[list[EvalQuestion], BaseRetriever]]:
    sets: dict[str, tuple[list[EvalQuestion], BaseRetriever]] = {}
    for name in ("hotpotqa/train_100.json", "2wikimultihopqa/train_200.json", "musique/train_100.jsonl"):
        questions = list(read_questions(shared_data / name))
        index = index_in_memory(open_corpus(shared_data / name).records(CorpusReading()), name)
        sets[name] = questions[: len(questions) // 2], Bm25Retriever(index=index)
    return sets


def test_the_threshold_is_what_the_calibration_finds(
    first_halves: dict[str, tuple[list[EvalQuestion], BaseRetriever]],
) -> None:
    retrievers = {q.question: retriever for questions, retriever in first_halves.values() for q in questions}
    result = calibrate(list(retrievers), FirstHalves(retrievers=retrievers), LexicalReranker())
    assert result.questions == 200
    assert 0 <= result.threshold - LexicalReranker.threshold < 0.001  # written down rounded towards zero


def test_reranking_finds_more_gold_passages_than_bm25(
    first_halves: dict[str, tuple[list[EvalQuestion], BaseRetriever]],
) -> None:
    for questions, retriever in first_halves.values():
        before, after = zip(*_recall_before_and_after(questions, retriever), strict=True)
        assert sum(after) / len(after) >= sum(before) / len(before) + 0.01


def _recall_before_and_after(questions: list[EvalQuestion], retriever: BaseRetriever) -> Iterator[tuple[float, float]]:
    reranker, recall = LexicalReranker(), recall_at(5)
    for question in questions:
        documents = retriever.invoke(question.question, k=50)
        pairs = [(question.question, f"{d.metadata['title']}\n{d.page_content}") for d in documents]
        scored = sorted(zip(reranker.score(pairs), documents, strict=True), key=lambda pair: -pair[0])
        before = [str(document.id) for document in documents]
        yield recall(before, question.gold), recall([str(d.id) for _, d in scored], question.gold)
