"""Documents of any retriever become passages."""

from langchain_core.documents import Document

from hopgraph.nodes.core.search import to_passages


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
