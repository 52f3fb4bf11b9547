"""Every row of the table of formats has an example that is recognized and read correctly."""

import json
from pathlib import Path

import pytest

from hopgraph.state import CorpusError
from hopgraph.tools.apps.evaluation import question_formats
from hopgraph.tools.apps.evaluation.datasets import detect_format, read_questions
from hopgraph.tools.retrieval.corpora import CORPUS_FORMATS, CorpusReading, hash_passage, open_corpus
from hopgraph.tools.retrieval.corpora.data_formats import DataFormat, read_data_formats
from support.paths import ROOT

PAINTING = "Guernica is a painting by Picasso."
BORN = "Picasso was born in Málaga."
HASHED = hash_passage("Guernica", PAINTING)
CORPORA = {
    "musique": [(HASHED, "Guernica", PAINTING)],
    "nq": [(HASHED, "Guernica", PAINTING)],
    "2wikimultihopqa": [
        (
            hash_passage("Guernica", "Guernica is a painting. It is by Picasso."),
            "Guernica",
            "Guernica is a painting. It is by Picasso.",
        )
    ],
    "beir": [("p1", "Guernica", PAINTING)],
    "flashrag": [("0", "Guernica", PAINTING), ("1", "Pablo Picasso", BORN)],
    "browsecomp_plus": [("5412", "", PAINTING)],
    "hipporag": [(HASHED, "Guernica", PAINTING), (hash_passage("Pablo Picasso", BORN), "Pablo Picasso", BORN)],
    "dpr": [("1", "Guernica", PAINTING)],
    "msmarco": [("0", "", PAINTING), ("1", "", BORN)],
}
CORPORA["hotpotqa"] = CORPORA["2wikimultihopqa"]
TITLES = ("Guernica", "Pablo Picasso")
QUESTIONS = {
    "strategyqa": (("yes",), ("Guernica (Picasso)",)),
    "musique": (("Málaga", "Malaga"), TITLES),
    "2wikimultihopqa": (("Málaga",), TITLES),
    "hotpotqa": (("Málaga",), TITLES),
    "triviaqa": (("Picasso", "Pablo Picasso"), ()),
    "popqa": (("Pablo Picasso", "Picasso"), ()),
    "browsecomp_plus": (("Málaga",), ()),
    "multihop_rag": (("Yes",), ("Guernica",)),
    "frames": (("Málaga",), ("Guernica (Picasso)", "Pablo Picasso")),
    "flashrag": (("Málaga",), TITLES),
    "hipporag": (("Picasso", "Pablo Picasso"), ("Guernica",)),
    "nq": (("Picasso",), ("Guernica",)),
    "bamboogle": (("Málaga", "Malaga"), ()),
    "questions": (("1937",), ()),
    "beir": (("Picasso",), ()),
}


def written(folder: Path, example: DataFormat) -> Path:
    (folder / example.file).write_text(example.example, encoding="utf-8")
    return folder / example.file


def test_every_readable_format_is_documented() -> None:
    table = read_data_formats()
    assert [*table.corpora] == [*CORPUS_FORMATS]
    assert [*table.questions] == [*question_formats.QUESTION_FORMATS] == [*QUESTIONS]
    assert len(table.corpora) + len(table.questions) >= 14
    page = (ROOT / "docs" / "data_formats.md").read_text(encoding="utf-8")
    for heading, formats in (("## Corpora", table.corpora), ("## Questions", table.questions)):
        section = page.partition(f"{heading}\n")[2].partition("\n## ")[0].partition("\nNext: ")[0]
        assert section.strip() == "\n".join(described(name, each) for name, each in formats.items()).strip()


def described(name: str, each: DataFormat) -> str:
    """A row of the page."""
    keys = " or ".join(", ".join(f"`{key}`" for key in keys) for keys in each.keys)
    example = each.example.rstrip().replace("\t", "⇥")
    text = f"{each.description[0].upper()}{each.description[1:]}.\n{keys and f'Keys: {keys}.'}"
    return f"### `{name}`\n\n{text}\n\n```text\n{example}\n```\n"


@pytest.mark.parametrize("name", CORPORA)
def test_corpus_examples_are_read(tmp_path: Path, name: str) -> None:
    corpus = open_corpus(written(tmp_path, read_data_formats().corpora[name]))
    assert corpus.format == name
    assert [(each.id, each.title, each.text) for each in corpus.records(CorpusReading())] == CORPORA[name]


def test_an_article_is_split_and_keeps_its_title_and_origin(tmp_path: Path) -> None:
    article = json.loads(read_data_formats().corpora["multihop_rag"].example)[0]
    long = " ".join(f"Sentence {number} says that {PAINTING}" for number in range(40))
    path = tmp_path / "corpus.json"
    path.write_text(json.dumps([article, {**article, "title": "Long", "body": long}]))
    corpus = open_corpus(path)
    first, *rest = corpus.records(CorpusReading())
    assert (corpus.format, first.title, first.text) == ("multihop_rag", "Guernica", PAINTING)
    assert first.metadata["url"] == "https://example.org/guernica"
    assert {each.title for each in rest} == {"Long"}
    assert len({each.id for each in rest}) == len(rest) > 1
    assert " ".join(each.text for each in rest) == long


def test_other_records_with_a_text_are_documents(tmp_path: Path) -> None:
    for name, text in (
        ("text", read_data_formats().corpora["text"].example),
        ("more", '{"title": "A", "text": "B", "by": "C"}'),
    ):
        (tmp_path / f"{name}.jsonl").write_text(text)
        assert open_corpus(tmp_path / f"{name}.jsonl").format == "text"


@pytest.mark.parametrize("name", QUESTIONS)
def test_question_examples_are_read(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, read_data_formats().questions[name])
    path = tmp_path if name == "beir" else file
    assert detect_format(path) == name
    first, *_ = read_questions(path)
    assert (first.answers, first.gold_titles) == QUESTIONS[name]
    assert first.question[:5] in ("Where", "Who p", "Could", "Do bo", "In wh")


def test_gold_documents_are_those_needed_for_the_answer(tmp_path: Path) -> None:
    (question,) = read_questions(written(tmp_path, read_data_formats().questions["browsecomp_plus"]))
    assert (question.id, question.gold) == ("769", ("5412", "26215"))
    assert [each.text for each in question.contexts] == ["Guernica is by Picasso.", BORN]


def test_a_null_query_cannot_be_answered(tmp_path: Path) -> None:
    path = tmp_path / "null.json"
    null = (
        '{"query": "Who?", "answer": "Insufficient information.", "question_type": "null_query", "evidence_list": []}'
    )
    path.write_text(f"[{null}]")
    (question,) = read_questions(path)
    assert (question.answers, question.gold_titles) == ((), ())


def test_a_question_set_without_passages_is_refused_as_a_corpus(tmp_path: Path) -> None:
    for name in ("browsecomp_plus", "flashrag", "questions"):
        with pytest.raises(CorpusError, match=f"questions \\({name}\\), not a corpus"):
            open_corpus(written(tmp_path, read_data_formats().questions[name]))


def test_the_line_of_a_bad_row_in_a_question_table_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text('question,answer,id\n"Who, then?\nTell.",A,1\nWho?,B,2,surplus\nWhich?,,3\n', encoding="utf-8-sig")
    reading = CorpusReading(skip_invalid=True)
    (question,) = read_questions(path, reading=reading)
    assert (question.id, question.question, question.answers) == ("1", "Who, then?\nTell.", ("A",))
    assert [line.partition("own.csv:")[2][:2] for line in reading.first_skipped] == ["4:", "5:"]
