"""The folder of a company: its questions find their passage, and citations quote the row or sentence that answers."""

from typing import Any

import pytest

from hopgraph.nodes.finish import cite
from hopgraph.state import Evidence
from hopgraph.tools.retrieval import build_index
from hopgraph.tools.retrieval.passage_retriever import COPIES
from hopgraph.tools.retrieval.resolve import resolve_retriever
from support.company_folder import QUESTIONS, Question, write_company


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("company")
    files = write_company(folder / "files")
    assert len(files) >= 60
    assert len({path.suffix for path in files}) >= 12
    report = build_index(folder / "files", folder / "index")
    assert (report.left_out, report.skipped) == ("1 file not read: .png ×1", 0)
    return resolve_retriever(f"bm25:{folder / 'index'}")


@pytest.mark.parametrize("question", [each for each in QUESTIONS if each.source], ids=lambda each: each.source)
def test_the_answer_is_among_the_first_five_and_quoted_with_its_row(question: Question, retriever: Any) -> None:
    found = retriever.invoke(question.text, k=5)
    holding = next(each for each in found if each.metadata["source"].startswith(question.source))
    metadata: dict[str, Any] = holding.metadata
    about = {"id": holding.id, "title": metadata["title"], "text": holding.page_content, "source": "s"}
    passage: Any = {**about, "metadata": metadata}
    statement = f"{question.text} {question.said[0]}"
    evidence = Evidence(id="1", statement=statement, passage_ids=[holding.id], quote="", verified=False)
    (citation,) = cite([evidence], {holding.id: passage})
    assert [each for each in question.said if each not in citation["quote"]] == []
    assert citation["quote"].endswith(holding.page_content[citation["start"] : citation["end"]])
    assert citation.get("source", "").startswith(question.source)
    assert citation.get("page") or not question.source.endswith((".pdf", ".pptx"))
    with_sections = (".docx", ".odt", ".epub", ".html", ".rst", ".xlsx", ".csv")
    assert citation.get("section") or not question.source.endswith(with_sections)


@pytest.mark.parametrize("question", [each for each in QUESTIONS if not each.source], ids=lambda each: each.text)
def test_a_question_that_nothing_answers_finds_next_to_nothing(question: Question, retriever: Any) -> None:
    assert len(retriever.invoke(question.text, k=5)) <= 1


def test_one_of_six_copies_is_shown_and_names_the_others(retriever: Any) -> None:
    found = retriever.invoke("hotel night in Norway", k=5)
    policies = [each for each in found if "policy" in each.metadata["source"]]
    assert [len(each.metadata[COPIES]) for each in policies] == [5]
