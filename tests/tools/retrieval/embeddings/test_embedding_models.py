"""What holds for every embedding model, whatever computes its vectors."""

import asyncio
from typing import Any

import numpy as np
import pytest

from hopgraph.state import CorpusError, ModelError, SpecError
from hopgraph.tools.retrieval.embeddings.embedding_model import EmbeddingModel, Prefixes, prefixes_by_name
from hopgraph.tools.retrieval.embeddings.resolve import resolve_embeddings
from support.hashed_words import HashedWords


@pytest.mark.parametrize("spec", ["", "st", "st:", "word2vec:x", "object:HashedWords"])
def test_a_bad_spec_is_refused(spec: str) -> None:
    with pytest.raises(SpecError, match=r"use one of: sentence-transformers|names no model"):
        resolve_embeddings(spec)


@pytest.mark.parametrize(
    ("name", "query", "passage"),
    [
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("/models/e5/", "query: ", "passage: "),
        ("intfloat/e5-mistral-7b-instruct", "Instruct: ", ""),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence", ""),
        ("BAAI/bge-large-zh", "为这个句子", ""),
        ("BAAI/bge-m3", "", ""),
        ("thenlper/gte-base", "", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
        ("facebook/contriever", "", ""),
        ("models/some5-thing", "", ""),
    ],
)
def test_prefixes_that_models_are_known_to_want(name: str, query: str, passage: str) -> None:
    found = prefixes_by_name(name)
    assert found.query.startswith(query)
    assert bool(found.query) is bool(query)
    assert found.passage == passage
    assert isinstance(found, Prefixes)


async def test_any_langchain_model_is_taken_and_normalized() -> None:
    class Long(HashedWords):
        def embed_query(self, text: str) -> list[float]:
            return [3 * each for each in super().embed_query(text)]

    model = resolve_embeddings(Long())
    assert np.linalg.norm(model.passages(["a fox", "a hen"]), axis=1) == pytest.approx([1, 1])
    assert (await model.aquery("a fox")).tolist() == model.passages(["a fox"])[0].tolist()
    assert model.passages([]).shape == (0, 0)


def test_a_model_is_recognized_by_its_vectors() -> None:
    facts = resolve_embeddings(HashedWords()).info
    assert (facts.model, facts.dimension, facts.normalize) == ("object:HashedWords", 32, True)
    resolve_embeddings(HashedWords()).check(facts, "my-index")
    with pytest.raises(CorpusError, match=r"my-index: its vectors have 32 dimensions, those of .* have 16"):
        resolve_embeddings(HashedWords(16)).check(facts, "my-index")

    class Noisy(HashedWords):
        scale = 1e-3

        def embed_query(self, text: str) -> list[float]:
            noise = np.random.default_rng(0).standard_normal(32) * self.scale
            return (np.array(super().embed_query(text)) + noise).tolist()

    resolve_embeddings(Noisy()).check(facts, "my-index")  # as another precision would differ
    Noisy.scale = 0.05
    with pytest.raises(CorpusError, match="not built with"):
        resolve_embeddings(Noisy()).check(facts, "my-index")


@pytest.mark.parametrize(
    "bad",
    [[float("nan")] * 4, [float("inf")], [1e30], [1e300], [], 0.5, [[0.5]], None, ["a"], "many", [0.5, [1]], {"a": 1}],
    ids=repr,
)
def test_vectors_that_cannot_be_used_are_refused(bad: Any) -> None:
    class Broken(HashedWords):
        def embed_query(self, text: str) -> list[float]:
            return bad

    with pytest.raises(ModelError, match=r"non-finite|vectors of sizes \[0\]|did not return vectors"):
        asyncio.run(resolve_embeddings(Broken()).aquery("x"))


def test_prefixes_and_scaling_are_taken_from_an_index() -> None:
    seen: list[str] = []

    class Listening(HashedWords):
        def embed_query(self, text: str) -> list[float]:
            seen.append(text)
            return super().embed_query(text)

    given = resolve_embeddings(Listening())
    assert isinstance(given, EmbeddingModel)
    facts = given.info.model_copy(update={"query_prefix": "query: ", "passage_prefix": "p: ", "normalize": False})
    recorded = given.with_recorded_settings(facts)
    assert (recorded.query_prefix, recorded.passage_prefix, recorded.normalize) == ("query: ", "p: ", False)
    assert given.with_recorded_settings(facts, keep_query_prefix=True).query_prefix == ""
