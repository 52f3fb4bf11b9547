"""The bundled corpus and its questions are what the guides and other tests take them for."""

import csv
from collections import Counter
from importlib.resources import files

import pytest

from support.sample import read_sample_passages, read_sample_questions

PASSAGES = {passage["id"]: passage for passage in read_sample_passages()}
QUESTIONS = list(read_sample_questions())


def shown(passage_id: str) -> str:
    return f"{PASSAGES[passage_id]['title']}\n{PASSAGES[passage_id]['text']}"


def test_passages_are_short_and_no_two_the_same() -> None:
    passages = list(read_sample_passages())
    assert 140 <= len(passages) <= 170
    for key in ("id", "title", "text"):
        assert len({passage[key] for passage in passages}) == len(passages), key
    for passage in passages:
        assert 40 <= len(passage["text"].split()) <= 90
        assert passage["text"] == " ".join(passage["text"].split())


def test_there_are_questions_of_every_type() -> None:
    kinds = Counter(question["type"] for question in QUESTIONS)
    assert kinds == {"bridge": 14, "comparison": 7, "yes_no": 5, "unanswerable": 4}
    assert {question["hops"] for question in QUESTIONS} == {2, 3}
    assert len({question["id"] for question in QUESTIONS}) == len({q["text"] for q in QUESTIONS}) == len(QUESTIONS)


def test_qrels_name_the_supporting_passages() -> None:
    with files("hopgraph.tools.retrieval.sample").joinpath("qrels/test.tsv").open(encoding="utf-8") as lines:
        judged = [(row["query-id"], row["corpus-id"], row["score"]) for row in csv.DictReader(lines, delimiter="\t")]
    assert judged == [(question["id"], passage, "1") for question in QUESTIONS for passage in question["supporting"]]
    assert {passage for _, passage, _ in judged} <= PASSAGES.keys()


def test_an_answer_occurs_in_a_supporting_passage_and_not_in_the_question() -> None:
    for question in QUESTIONS:
        answers = question["answers"]
        if question["type"] == "unanswerable":
            assert answers == []
        elif question["type"] == "yes_no":
            assert set(answers) < {"yes", "no"}
        else:
            assert any(answers[0] in shown(passage) for passage in question["supporting"]), question["text"]
            assert len(question["supporting"]) >= question["hops"]
        if question["type"] == "bridge":
            assert not any(answer.lower() in question["text"].lower() for answer in answers)
            assert not all(answer in shown(question["supporting"][0]) for answer in answers)


@pytest.mark.parametrize(
    ("question_start", "only_here", "mark", "untold"),
    [
        ("In which town was the composer of the music for the film Amélie", {"amelie"}, "Tiersen", ()),
        ("In which cemetery was", {"third-man", "graham-greene"}, "Greene", ("buried", "grave", "cemetery")),
        ("What was the name of the wife", {"olympics-1896", "spyridon-louis"}, "Spyridon", ("wife", "married")),
        ("Who lived longer, the architect of the main public buildings", {"brasilia"}, "Costa", ()),
    ],
)
def test_the_missing_fact_is_not_elsewhere(
    question_start: str, only_here: set[str], mark: str, untold: tuple[str, ...]
) -> None:
    question = next(q for q in QUESTIONS if q["text"].startswith(question_start))
    assert question["type"] == "unanswerable"
    assert {passage_id for passage_id in PASSAGES if mark in shown(passage_id)} == only_here
    assert only_here <= set(question["supporting"])
    assert not any(word in shown(passage_id) for word in untold for passage_id in only_here)
