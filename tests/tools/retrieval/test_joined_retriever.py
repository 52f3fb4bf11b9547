from pathlib import Path

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from hopgraph.tools.retrieval import build_index
from hopgraph.tools.retrieval.joined_retriever import JoinedRetriever
from hopgraph.tools.retrieval.linked_index import read_document


class Fixed(BaseRetriever):
    """Always finds the same, without an id, and takes no `k`."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content=f"fixed {n}", metadata={"title": "Fixed"}) for n in range(3)]


def build(folder: Path, name: str, *texts: str) -> str:
    source = folder / f"{name}.jsonl"
    source.write_text("".join(f'{{"_id": "{n}", "text": "{text}"}}\n' for n, text in enumerate(texts)))
    return f"bm25:{build_index(source, folder / name).path}"


async def test_the_best_of_each_comes_first_and_equal_ids_stay_apart(tmp_path: Path) -> None:
    own = build(tmp_path, "own", "a red fox", "a fox and a fox den")
    apps = build(tmp_path, "apps", "fox", "hen", "fox fox fox and other animals of the wood")
    joined = JoinedRetriever(retrievers={"own/": own, "": apps})
    found = joined.invoke("fox", k=3)
    assert found == await joined.ainvoke("fox", k=3)
    assert {document.id for document in found} <= {"own/0", "own/1", "0", "2"}
    assert [str(document.id).startswith("own/") for document in found] == [True, False, True]
    assert [document.metadata["score"] for document in found] == [1, 1 / 2, 1 / 3]
    assert {document.metadata["source"] for document in found} == {own, apps}
    assert [document.id for document in joined.invoke("hen")] == ["1"]
    assert joined.invoke("nothing") == []
    assert [each.page_content for each in JoinedRetriever(retrievers={"own/": own, "": Fixed()}).invoke("fox", k=4)][
        1::2
    ] == ["fixed 0", "fixed 1"]


async def test_a_document_is_read_on_in_the_index_that_a_passage_is_of(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    words = " ".join(f"word{n}" for n in range(400))
    (tmp_path / "own" / "long.txt").write_text(f"{words}\n\n{words}\n\n{words}")
    own, apps = build_index(tmp_path / "own", tmp_path / "index").path, build(tmp_path, "apps", "fox", "hen")
    joined = JoinedRetriever(retrievers={"own/": f"bm25:{own}", "": JoinedRetriever(retrievers={"a/": apps})})
    first = (await joined.ainvoke("word1", k=1))[0].id or ""
    assert first.startswith("own/long.txt#")
    read = await read_document(joined, first, 0, 10)
    assert len(read) > 1
    assert all(str(each.id).startswith("own/long.txt#") for each in read)
    assert [each.id for each in await read_document(joined, str(read[1].id), -1, 1)] == [read[0].id]
    assert await read_document(joined, "other/long.txt#1", 0, 10) == []
