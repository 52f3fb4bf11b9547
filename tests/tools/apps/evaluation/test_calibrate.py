from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from hopgraph.state import CorpusError, Reranker, SettingsError
from hopgraph.tools.apps.evaluation.threshold_calibration import QUANTILES, calibrate


class Listed(BaseRetriever):
    """Returns the documents of a table for each query."""

    table: dict[str, list[str]]
    asked: list[Any] = Field(default_factory=list[Any])

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        self.asked.append((query, k))
        return [Document(id=text, page_content=text, metadata={"title": "T"}) for text in self.table[query]]


class NumberReranker:
    """Scores a text by its numeric value."""

    name = "number"
    threshold = None

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(text.removeprefix("T\n")) for _, text in pairs]


def found(best: Sequence[float]) -> tuple[list[str], Listed]:
    """Return questions whose best passages have these scores."""
    table = {f"q{i}": [str(score - 1), str(score)] for i, score in enumerate(best)}
    return list(table), Listed(table=table)


def test_the_largest_threshold_at_which_over_80_percent_keep_a_passage_is_chosen() -> None:
    questions, retriever = found([5, 1, 4, 2, 3, 9, 8, 7, 6, 10])
    result = calibrate(questions, retriever, NumberReranker())
    assert result.threshold == 2  # at 3 exactly 80 % keep one, which is not more than 80 %
    assert result.kept == 0.9
    assert (result.questions, result.without_passages) == (10, 0)
    assert result.quantiles == dict(zip(QUANTILES, [1, 2, 3, 5, 8, 9, 10], strict=True))


@pytest.mark.parametrize(
    ("best", "keep", "threshold", "kept"),
    [
        ([1, 2, 2, 2, 2], 0.3, 2, 0.8),  # equal ones are kept together
        ([-3.5], 0.0, -3.5, 1.0),
        ([*range(100)], 0.29, 70, 0.30),  # the exact decimal share
    ],
)
def test_thresholds_worked_by_hand(best: list[float], keep: float, threshold: float, kept: float) -> None:
    questions, retriever = found(best)
    result = calibrate(questions, retriever, NumberReranker(), keep=keep)
    assert (result.threshold, result.kept) == (threshold, kept)


def test_questions_without_passages_count_as_keeping_none() -> None:
    retriever = Listed(table={"a": ["4"], "b": [], "c": ["5"], "d": ["6"]})
    result = calibrate(list("abcd"), retriever, NumberReranker(), keep=0.5)
    assert (result.threshold, result.kept, result.without_passages) == (4, 0.75, 1)
    with pytest.raises(CorpusError, match="only 3 of 4 questions found any passage"):
        calibrate(list("abcd"), retriever, NumberReranker(), keep=0.75)


def test_passages_are_scored_per_query_and_progress_is_reported() -> None:
    retriever = Listed(table={"a": [*["1", "2"] * 25, "9"], "b": [*["3", "1"] * 25, "9"]})
    done: list[int] = []
    result = calibrate(["a", "b"], retriever, NumberReranker(), progress=done.append)
    assert result.threshold == 2
    assert done == [1, 2]
    assert retriever.asked == [("a", 50), ("b", 50)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"keep": 1.0}, "keep is 1.0"), ({"keep": -0.1}, "keep is -0.1")],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    questions, retriever = found([1.0])
    with pytest.raises(SettingsError, match=message):
        calibrate(questions, retriever, NumberReranker(), **settings)


def test_calibrating_without_questions_is_refused() -> None:
    with pytest.raises(SettingsError, match="at least one question"):
        calibrate([], Listed(table={}), NumberReranker())


@given(st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=20), st.integers(0, 99))
def test_no_larger_threshold_keeps_more_than_the_share(best: list[float], percent: int) -> None:
    reranker: Reranker = NumberReranker()
    questions, retriever = found(best)
    result = calibrate(questions, retriever, reranker, keep=percent / 100)

    def kept(threshold: float) -> int:
        return sum(score >= threshold for score in best)

    assert 100 * kept(result.threshold) > percent * len(best)
    assert 100 * kept(result.threshold + 0.5) <= percent * len(best)
    assert result.kept == kept(result.threshold) / len(best)
