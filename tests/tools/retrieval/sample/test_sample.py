import csv
from collections import Counter
from importlib.resources import files

import pytest

from support.sample import SampleQuestion, read_sample_passages, read_sample_questions

PASSAGES = {passage["id"]: passage for passage in read_sample_passages()}
QUESTIONS = list(read_sample_questions())


def shown(passage_id: str) -> str:
    passage = PASSAGES[passage_id]
    return f"{passage['title']}\n{passage['text']}"


def question_id(question: SampleQuestion) -> str:
    return question["id"]


def test_ids_titles_and_texts_are_unique() -> None:
    passages = list(read_sample_passages())
    assert 140 <= len(passages) <= 170
    for key in ("id", "title", "text"):
        seen = Counter(passage[key] for passage in passages)
        assert [value for value, count in seen.items() if count > 1] == [], key
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    assert len({question["text"] for question in QUESTIONS}) == len(QUESTIONS)


def test_passages_are_short() -> None:
    words = {passage_id: len(passage["text"].split()) for passage_id, passage in PASSAGES.items()}
    assert {passage_id: count for passage_id, count in words.items() if not 40 <= count <= 90} == {}
    assert all(passage["text"] == " ".join(passage["text"].split()) for passage in PASSAGES.values())


def test_there_are_questions_of_every_type() -> None:
    kinds = Counter(question["type"] for question in QUESTIONS)
    assert kinds == {"bridge": 14, "comparison": 7, "yes_no": 5, "unanswerable": 4}
    assert {question["hops"] for question in QUESTIONS} == {2, 3}


def test_qrels_name_the_supporting_passages() -> None:
    with files("hopgraph.tools.retrieval.sample").joinpath("qrels/test.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    judged = [(row["query-id"], row["corpus-id"], row["score"]) for row in rows]
    wanted = [(question["id"], passage, "1") for question in QUESTIONS for passage in question["supporting"]]
    assert judged == wanted
    assert {passage for _, passage, _ in judged} <= PASSAGES.keys()


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q["type"] in {"bridge", "comparison"}], ids=question_id)
def test_an_answer_occurs_in_a_supporting_passage(question: SampleQuestion) -> None:
    assert question["answers"]
    assert any(question["answers"][0] in shown(passage) for passage in question["supporting"])
    assert len(question["supporting"]) >= question["hops"]


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q["type"] == "bridge"], ids=question_id)
def test_a_bridge_question_does_not_name_its_answer(question: SampleQuestion) -> None:
    assert not any(answer.lower() in question["text"].lower() for answer in question["answers"])
    assert not all(answer in shown(question["supporting"][0]) for answer in question["answers"])


def test_closed_questions_have_both_answers_and_the_rest_has_none() -> None:
    closed = {answer for q in QUESTIONS if q["type"] == "yes_no" for answer in q["answers"]}
    assert closed == {"yes", "no"}
    assert [q["answers"] for q in QUESTIONS if q["type"] == "unanswerable"] == [[]] * 4


@pytest.mark.parametrize(
    ("question_start", "only_here", "mark"),
    [
        ("In which town was the composer of the music for the film Amélie", {"amelie"}, "Tiersen"),
        ("In which cemetery was the screenwriter", {"third-man", "graham-greene"}, "Greene"),
        ("What was the name of the wife of the runner", {"olympics-1896", "spyridon-louis"}, "Spyridon"),
        ("Who lived longer, the architect of the main public buildings", {"brasilia"}, "Costa"),
    ],
)
def test_the_missing_fact_is_not_elsewhere(question_start: str, only_here: set[str], mark: str) -> None:
    question = next(q for q in QUESTIONS if q["text"].startswith(question_start))
    assert question["type"] == "unanswerable"
    assert {passage_id for passage_id in PASSAGES if mark in shown(passage_id)} == only_here
    assert only_here <= set(question["supporting"])


def test_unanswerable_burial_and_marriage_are_not_told() -> None:
    assert not any(word in shown("graham-greene") for word in ("buried", "grave", "cemetery"))
    assert not any(word in shown("spyridon-louis") for word in ("wife", "married", "husband"))
