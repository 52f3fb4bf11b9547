"""Copies of a passage in several documents."""

from pathlib import Path

from hopgraph.tools.retrieval import build_index
from hopgraph.tools.retrieval.index import Hit
from hopgraph.tools.retrieval.passage_retriever import COPIES, Bm25Retriever, drop_copies
from hopgraph.tools.retrieval.passage_store import StoredPassage
from hopgraph.tools.retrieval.resolve import resolve_retriever

POLICY = "The buyer pays within 30 days of the invoice date, otherwise interest of five percent is due. " * 4


def hit(name: str, text: str, source: str | None = None) -> Hit:
    return Hit(StoredPassage(name, "", text, {"source": source} if source else {}), 1.0)


def test_one_of_many_copies_is_returned_and_names_the_others(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for number in range(6):
        (tmp_path / "docs" / f"copy{number}.md").write_text(f"# Terms\n\n{POLICY}")
    (tmp_path / "docs" / "other.md").write_text("# Discount\n\nA buyer who pays early gets two percent off.")
    build_index(tmp_path / "docs", tmp_path / "index")
    retriever = resolve_retriever(f"bm25:{tmp_path / 'index'}")
    assert isinstance(retriever, Bm25Retriever)
    query = "When does the buyer pay the invoice?"
    first, other = retriever.invoke(query, k=3)
    assert (first.id, other.id) == ("copy0.md#1", "other.md#1")
    assert first.metadata[COPIES] == [f"copy{number}.md#1" for number in range(1, 6)]
    every = Bm25Retriever(index=retriever.index, keep_copies=True)
    assert [each.id for each in every.invoke(query, k=3)] == ["copy0.md#1", "copy1.md#1", "copy2.md#1"]


def test_what_says_something_else_is_no_copy() -> None:
    hits = [
        hit("a", POLICY, "a.md"),
        hit("spaces", POLICY.replace(". ", ".\n\n"), "b.md"),
        hit("number", POLICY.replace("30", "25", 1), "c.md"),
        hit("word", POLICY.replace("five", "no"), "d.md"),
        hit("same file", POLICY, "a.md"),
        hit("no source", POLICY),
    ]
    assert [each.passage.id for each in drop_copies(hits, 9)] == ["a", "number", "word", "same file", "no source"]
    assert drop_copies(hits, 1)[0].passage.metadata[COPIES] == ["spaces"]
