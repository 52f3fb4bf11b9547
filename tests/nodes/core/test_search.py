"""Documents of any retriever become passages."""

import hashlib
import math
from datetime import date
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from langchain_core.documents import Document

from hopgraph.nodes.core.search import to_passages
from hopgraph.tools.retrieval.passage_metadata import find_location


def test_documents_of_any_retriever_become_passages() -> None:
    documents = [
        Document(page_content="a", metadata={"title": "T", "score": 2}, id="x"),
        Document(page_content="b", metadata={"id": 7, "relevance_score": 0.5}),
        Document(page_content="c\u202e"),
        Document(page_content="a", id="x", metadata={"score": 9}),
    ]
    found = to_passages(documents, "Mine", hop=2)
    assert [(each["id"], each["title"], each["score"]) for each in found[:2]] == [("x", "T", 2.0), ("7", "", 0.5)]
    assert (found[2]["text"], found[2]["score"], found[2]["source"], found[2]["hop"]) == ("c", 1 / 3, "Mine", 2)
    assert len(found) == 3
    assert to_passages(documents, "Mine", hop=2)[2]["id"] == found[2]["id"] != ""
    assert to_passages([], "Mine", hop=1) == []


def test_chunks_that_share_an_id_are_passages_of_their_own() -> None:
    chunks = [Document(page_content=text, metadata={"id": "doc"}) for text in ("one", "two", "one")]
    found = to_passages(chunks, "Mine", hop=1)
    marked = f"doc#{hashlib.sha256(b'two').hexdigest()[:8]}"
    assert [(each["id"], each["text"]) for each in found] == [("doc", "one"), (marked, "two")]


def test_what_a_document_carries_travels_with_its_passage() -> None:
    mine: dict[Any, Any] = {
        5: "a key that is no text",
        "source": "a\u200bb/note.txt",
        "page": 0,
        "page_label": "iv",
        "when": date(2026, 1, 2),
        "bad": [1, "\ud800"],
    }
    documents = [
        Document("One.", id=str(UUID(int=1)), metadata={**mine, "title": "", "long": ["x"] * 9999, "score": 2}),
        Document("Two.", metadata={"source": "bm25:DIR", "index": "bm25:DIR", "url": "https://example.org/two/"}),
        Document("Three.", metadata={"source": "bm25:DIR", "index": "bm25:DIR"}),
        Document("Four.", metadata={"source": "x", "url": "javascript:alert(1)"}),
    ]
    one, two, three, four = to_passages(documents, "Mine", hop=1)
    assert one["title"] == "note.txt"
    assert one.get("metadata") == {
        "5": "a key that is no text",
        "source": "ab/note.txt",
        "page": 0,
        "page_label": "iv",
        "when": "2026-01-02",
    }
    assert find_location(one.get("metadata", {})) == {"source": "ab/note.txt", "page": "iv"}
    assert (two["title"], two["source"]) == ("example.org/two", "bm25:DIR")
    assert find_location(two.get("metadata", {})) == dict.fromkeys(("source", "url"), "https://example.org/two/")
    assert (three["title"], three["source"], "metadata" in three) == ("", "bm25:DIR", False)
    assert find_location(four.get("metadata", {})) == {"source": "x"}


def test_a_value_that_compares_by_element_is_carried_as_any_other() -> None:
    """A vector database may keep arrays; under our own key for the name of an index, too."""
    (passage,) = to_passages([Document("One.", metadata={"source": "x", "index": np.array([1, 2])})], "r", 1)
    assert passage.get("metadata", {})["source"] == "x"


@pytest.mark.parametrize("value", [np.array([1, 2]), ["a", "b"], {"a": 1}, None, 0, ""])
def test_what_cannot_name_a_passage_names_none(value: object) -> None:
    document = Document("One.", metadata=dict.fromkeys(("id", "title", "source"), value))
    (passage,) = to_passages([document], "Mine", 1)
    assert (passage["source"], len(passage["id"])) == ("Mine", 16)  # the retriever, and a hash of the text


@pytest.mark.parametrize("score", [None, "high", math.nan, math.inf, -math.inf, 10**400, [0.5], {}])
def test_a_score_that_is_no_number_counts_as_none(score: Any) -> None:
    documents = [Document(page_content=text, metadata={"score": score}) for text in "ab"]
    assert [each["score"] for each in to_passages(documents, "Mine", hop=1)] == [1, 1 / 2]


def test_no_document_passes_for_the_models_or_a_reviewers_own_words() -> None:
    documents = [Document(page_content="a", id="model:1", metadata={"source": "reviewer"})]
    [found] = to_passages(documents, "Mine", hop=1)
    assert (found["id"], found["source"]) == ("corpus:model:1", "corpus:reviewer")
