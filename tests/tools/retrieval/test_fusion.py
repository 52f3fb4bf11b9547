from typing import Any

import pytest

from hopgraph.state import SpecError
from hopgraph.tools.retrieval.engines.engine import parse_address
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_retriever import BM25_WEIGHT, FusedIndex, fuse_rankings
from hopgraph.tools.retrieval.passage_store import StoredPassage


def ranked(**scores: float) -> list[Hit]:
    return [Hit(StoredPassage(name, "", name), score) for name, score in scores.items()]


def ids_and_scores(hits: list[Hit]) -> list[Any]:
    return [(hit.passage.id, pytest.approx(hit.score)) for hit in hits]


def test_fusion_adds_weighted_relative_scores() -> None:
    bm25, vectors = ranked(a=30.0, b=12.0, c=10.0), ranked(c=0.9, d=0.8, b=0.1)
    hits = fuse_rankings([(bm25, 0.2), (vectors, 0.8)], 5)
    assert ids_and_scores(hits) == [("c", 0.8), ("d", 0.7), ("a", 0.2), ("b", 0.02)]
    assert fuse_rankings([(bm25, 0.2), (vectors, 0.8)], 2) == hits[:2]
    assert [hit.passage.id for hit in fuse_rankings([(bm25, 1.0), (vectors, 0.0)], 3)] == ["a", "b", "c"]


def test_equal_scores_count_fully_and_come_by_id() -> None:
    hits = fuse_rankings([(ranked(b=3.0, c=3.0), 0.5), (ranked(a=0.2), 0.5)], 5)
    assert ids_and_scores(hits) == [("a", 0.5), ("b", 0.5), ("c", 0.5)]
    assert fuse_rankings([], 5) == fuse_rankings([([], 0.2), ([], 0.8)], 5) == []
    assert ids_and_scores(fuse_rankings([(ranked(a=2.0, b=1.0), 0.2), ([], 0.8)], 5)) == [("a", 0.2), ("b", 0.0)]


class Fixed:
    source = None

    def __init__(self, hits: list[Hit]) -> None:
        self.hits, self.asked = hits, list[int]()

    async def asearch(self, query: str, k: int) -> list[Hit]:
        self.asked.append(k)
        return self.hits[:k]


async def test_halves_are_searched_deeper_than_asked_for() -> None:
    bm25, vectors = Fixed(ranked(a=2.0, b=1.0)), Fixed(ranked(b=0.9, a=0.5))
    assert [hit.passage.id for hit in await FusedIndex("both", bm25, vectors).asearch("?", 1)] == ["b"]
    assert [hit.passage.id for hit in await FusedIndex("both", bm25, vectors, 0.6).asearch("?", 200)] == ["a", "b"]
    assert bm25.asked == vectors.asked == [100, 200]


@pytest.mark.parametrize(("text", "weight"), [(None, BM25_WEIGHT), ("0", 0.0), (".35", 0.35), ("1", 1.0)])
def test_the_weight_is_an_option_of_the_spec(text: str | None, weight: float) -> None:
    option = "" if text is None else f"?mode=hybrid&bm25_weight={text}"
    assert parse_address(f"milvus:wiki.db#wiki{option}").bm25_weight == weight


@pytest.mark.parametrize("text", ["", "much", "-0.1", "1.1", "nan", "inf"])
def test_a_weight_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match=r"'bm25_weight' of 'milvus:wiki\.db#wiki' must be a number from 0 to 1, got '"):
        parse_address(f"milvus:wiki.db#wiki?bm25_weight={text}")
