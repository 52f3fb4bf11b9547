import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import BadRecordError, CorpusError, SettingsError
from hopgraph.tools.apps.evaluation.datasets import detect_format, read_questions
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop, GoldSentence
from hopgraph.tools.retrieval.corpora import CorpusReading, hash_passage, open_corpus

HOTPOT = {
    "_id": "h1",
    "question": "Who directed the film?",
    "answer": "Ann Lee",
    "type": "bridge",
    "supporting_facts": [["Film", 0], ["Ann Lee", 1], ["Film", 1]],
    "context": [["Film", ["It was", " made."]], ["Other", ["No."]], ["Ann Lee", ["She", " directed."]]],
}
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Who?",
    "answer": "Hall",
    "answer_aliases": ["G. Hall", "Hall"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "X", "paragraph_text": " one ", "is_supporting": True},
        {"idx": 1, "title": "Y", "paragraph_text": "two", "is_supporting": False},
        {"idx": 2, "title": "X", "paragraph_text": "three", "is_supporting": True},
    ],
    "question_decomposition": [
        {"id": 1, "question": "X >> maker", "answer": "Lee", "paragraph_support_idx": 2},
        {"id": 2, "question": "Who taught #1 ?", "answer": "Hall"},
    ],
}
STRATEGY = {
    "qid": "s1",
    "question": "Could it?",
    "answer": False,
    "decomposition": ["Who is Jean?", "Is #1 the Sun?"],
    "facts": ["Jean is a man."],
    "evidence": [[[["Jean-Luc-2", "Sun (star)-1"]], ["operation", [["Jean-Luc-2", "Sun (star)-7"], "no_evidence"]]]],
}
NQ = {
    "question": "who won",
    "answers": ["A", "B"],
    "ctxs": [{"title": "T", "text": "x", "isgold": True}, {"title": "U", "text": "y"}],
}


FILM = hash_passage("Film", "It was made.")


def write(folder: Path, *records: Any, name: str = "file.jsonl") -> Path:
    path = folder / name
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return path


def only(path: Path, format_name: str | None = None) -> EvalQuestion:
    (question,) = read_questions(path, format_name)
    return question


def test_hotpotqa(tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    path.write_text(json.dumps([HOTPOT]), encoding="utf-8")
    assert only(path) == EvalQuestion(
        id="h1",
        question="Who directed the film?",
        answers=("Ann Lee",),
        type="bridge",
        gold=(hash_passage("Film", "It was made."), hash_passage("Ann Lee", "She directed.")),
        gold_titles=("Film", "Ann Lee"),
        sentences=(
            GoldSentence(FILM, "It was"),
            GoldSentence(FILM, "made."),
            GoldSentence(hash_passage("Ann Lee", "She directed."), "directed."),
        ),
        contexts=(
            ContextPassage(FILM, "Film", "It was made."),
            ContextPassage(hash_passage("Other", "No."), "Other", "No."),
            ContextPassage(hash_passage("Ann Lee", "She directed."), "Ann Lee", "She directed."),
        ),
    )


def test_a_supporting_fact_beyond_the_end_of_its_paragraph_is_ignored(tmp_path: Path) -> None:
    question = only(write(tmp_path, {**HOTPOT, "supporting_facts": [["Film", 7], ["Ann Lee", 0]]}))
    assert [sentence.text for sentence in question.sentences] == ["She"]
    assert question.gold_titles == ("Film", "Ann Lee")


def test_hotpotqa_with_its_facts_and_contexts_in_columns(tmp_path: Path) -> None:
    columns = {
        **HOTPOT,
        "supporting_facts": {"title": ["Film", "Ann Lee"], "sent_id": [0, 1]},
        "context": {"title": ["Film", "Ann Lee"], "sentences": [["It was", " made."], ["She", " directed."]]},
    }
    question = only(write(tmp_path, columns))
    assert question.gold == (hash_passage("Film", "It was made."), hash_passage("Ann Lee", "She directed."))


def test_lists_may_be_stored_as_text(tmp_path: Path) -> None:
    record = {**HOTPOT, "evidences": [["Film", "director", "Ann Lee"]]}
    lists = {key: json.dumps(record[key]) for key in ("supporting_facts", "context", "evidences")}
    assert only(write(tmp_path, {**record, **lists})) == only(write(tmp_path, record))


def test_musique_keeps_two_passages_with_the_same_title(tmp_path: Path) -> None:
    question = only(write(tmp_path, MUSIQUE))
    assert question.answers == ("Hall", "G. Hall")
    assert question.type == "2hop"
    assert question.gold == (hash_passage("X", "one"), hash_passage("X", "three"))
    assert question.gold_titles == ("X",)
    assert question.hops == (
        GoldHop("X >> maker", "Lee", (hash_passage("X", "three"),)),
        GoldHop("Who taught #1 ?", "Hall", ()),
    )
    assert [(each.title, each.text) for each in question.contexts] == [("X", "one"), ("Y", "two"), ("X", "three")]


@pytest.mark.parametrize(
    "record",
    [
        {"user_input": "Who won?", "reference": "Ann Lee"},
        {"question": "Who won?", "ground_truth": "Ann Lee"},
        {"question": "Who won?", "ground_truths": ["Ann Lee"]},
        {"inputs": {"question": "Who won?"}, "outputs": {"answer": "Ann Lee"}},
        {"input": "Who won?", "expected_output": "Ann Lee"},
        {"input": "Who won?", "target": "Ann Lee"},
        {"input": "Who won?", "ideal": ["Ann Lee"]},
        {"problem": "Who won?", "answer": "Ann Lee"},
        {"query": "Who won?", "answer": "Ann Lee"},
        {"question": "Who won?", "answers": {"text": ["Ann Lee"], "answer_start": [3]}},
        {"query": "Who won?", "reference_answer": "Ann Lee"},
        {"input": "Who won?", "output": [{"answer": "Ann Lee"}, {"provenance": [{"title": "Film"}]}]},
        {
            "input": [{"role": "system", "content": "Answer."}, {"role": "user", "content": "Who won?"}],
            "ideal": "Ann Lee",
        },
        {"question": "Who won?", "answers": [{"answer_id": "m.1", "answer": "Ann Lee", "aliases": []}]},
        {"question": "Who won?", "answer": {"answerType": "string", "answer": None, "mention": "Ann Lee"}},
        {"questions": [{"question": "Who won?", "answer": "Ann Lee"}]},
    ],
)
def test_the_field_names_of_other_toolkits_are_known(tmp_path: Path, record: dict[str, Any]) -> None:
    question = only(write(tmp_path, record))
    assert (question.question, question.answers) == ("Who won?", ("Ann Lee",))


@pytest.mark.parametrize("cell", ["""['Ann Lee', "O'Hara"]""", """["Ann Lee", "O'Hara"]"""])
def test_a_list_of_answers_in_a_table_is_parsed(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "mine.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["question", "answers"], ["Who won?", cell]])
    assert only(path).answers == ("Ann Lee", "O'Hara")


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ({"id": 7}, "an object with id, but without"),
        ("['Ann' 'Lee']", "an unreadable list"),
    ],
)
def test_malformed_answers_are_refused(tmp_path: Path, answers: Any, problem: str) -> None:
    with pytest.raises(BadRecordError, match=problem):
        only(write(tmp_path, {"question": "Who won?", "answers": answers}))


def test_an_unanswerable_question_has_no_answers(tmp_path: Path) -> None:
    assert only(write(tmp_path, {**MUSIQUE, "answerable": False})).answers == ()


def test_strategyqa(tmp_path: Path) -> None:
    question = only(write(tmp_path, STRATEGY))
    assert (question.answers, question.type) == (("no",), "yes_no")
    assert question.gold == ("Jean-Luc-2", "Sun (star)-1", "Sun (star)-7")
    assert question.gold_titles == ("Jean-Luc", "Sun (star)")
    assert question.hops == (
        GoldHop("Who is Jean?", "", ("Jean-Luc-2", "Sun (star)-1")),
        GoldHop("Is #1 the Sun?", "", ("Jean-Luc-2", "Sun (star)-7")),
    )
    assert question.facts == ("Jean is a man.",)


@pytest.mark.parametrize("scores", [{"Yes": 0, "No": 1}, {"Yes": 1.0, "No": 0.0}])
def test_strategyqa_of_big_bench(tmp_path: Path, scores: dict[str, float]) -> None:
    """One object over several lines, as in the task's file."""
    examples = [{"input": f"Is Jean the Sun {n}?", "target_scores": scores, "target": "No. A man."} for n in (1, 2)]
    task = {"canary": "x", "name": "strategyqa", "keywords": ["a", "b"], "metrics": {"m": 1}, "examples": examples}
    path = tmp_path / "task.json"
    path.write_text(json.dumps(task, indent=4))
    assert detect_format(path) == "strategyqa"
    first, second = read_questions(path)
    assert (first.question, first.answers, first.type) == (
        "Is Jean the Sun 1?",
        ("yes" if scores["Yes"] else "no",),
        "yes_no",
    )
    assert first.id != second.id


TRIVIA = {
    "Question": "Who won?",
    "QuestionId": "tc_1",
    "Answer": {"Value": "Ann Lee", "Aliases": ["Ann Lee", "A. Lee"], "NormalizedAliases": ["ann lee"]},
}


@pytest.mark.parametrize("indent", [None, 4])
def test_triviaqa(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "unfiltered-web-dev.json"
    again = {**TRIVIA, "QuestionId": "tc_2"}
    path.write_text(json.dumps({"Data": [TRIVIA, again], "Domain": "Web", "Version": 1.0}, indent=indent))
    first, second = read_questions(path)
    assert replace(second, id="tc_1") == first
    assert (first.id, first.question, first.answers) == ("tc_1", "Who won?", ("Ann Lee", "A. Lee"))


def test_nq_takes_the_line_as_id(tmp_path: Path) -> None:
    path = write(tmp_path, NQ, {"question": "who lost", "answer": ["C"]})
    first, second = read_questions(path)
    assert (first.id, first.answers, first.gold) == ("1", ("A", "B"), (hash_passage("T", "x"),))
    assert (second.id, second.answers, second.gold) == ("2", ("C",), ())


@pytest.mark.parametrize("indent", [None, 1])
def test_questions_in_a_list_are_numbered(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "list.json"
    path.write_text(json.dumps([{"question": f"Who? {number}", "answer": "A"} for number in range(3)], indent=indent))
    assert len({each.id for each in read_questions(path)}) == 3
    tasks = [{"input": "Could it?", "target_scores": {"Yes": 1, "No": 0}}] * 2
    path.write_text(json.dumps({"examples": tasks}, indent=indent))
    assert len({each.id for each in read_questions(path)}) == 2


def test_duplicate_ids_are_refused(tmp_path: Path) -> None:
    one, two = ({"id": "x", "question": "Who?", "answer": answer} for answer in "AB")
    path, reading = write(tmp_path, one, two), CorpusReading(skip_invalid=True)
    with pytest.raises(BadRecordError, match=r"file\.jsonl:2: the id 'x' is also on line 1"):
        list(read_questions(path))
    assert [each.answers for each in read_questions(path, reading=reading)] == [("A",)]
    assert reading.skipped == 1
    path = write(tmp_path, {"id": "2", "question": "Who?", "answer": "A"}, {"question": "Who else?", "answer": "B"})
    with pytest.raises(BadRecordError, match="the id '2' is also on line 1"):
        list(read_questions(path))


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text('{"question": "Who?", "answer": "A"},\n', encoding="utf-16")
    with pytest.raises(
        CorpusError, match=r"no records that can be read \(.*file.jsonl:1: byte 1 of the line is not UTF-8"
    ):
        detect_format(path)


def beir(folder: Path, qrels: str | None) -> Path:
    write(
        folder,
        {"_id": "q1", "text": "One?", "metadata": {"answers": ["1"], "type": "bridge"}},
        {"_id": "q2", "text": "Two?"},
        {"_id": "q3", "text": "Three?", "metadata": {"answers": []}},
        name="queries.jsonl",
    )
    if qrels is not None:
        (folder / "qrels").mkdir()
        (folder / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
        (folder / "qrels" / "train.tsv").write_text("q2\td9\t1\n", encoding="utf-8")
    return folder


def test_beir_yields_the_queries_in_its_test_qrels(tmp_path: Path) -> None:
    qrels = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq1\td3\t2\nq3\td4\t0\n"
    first, third = read_questions(beir(tmp_path, qrels))
    assert (first.id, first.answers, first.type, first.gold) == ("q1", ("1",), "bridge", ("d1", "d3"))
    assert (first.grades, third.grades) == ((1, 2), ())
    assert (third.id, third.answers, third.gold) == ("q3", (), ())


def test_beir_without_qrels_yields_all_queries(tmp_path: Path) -> None:
    questions = list(read_questions(beir(tmp_path, None)))
    assert [question.id for question in questions] == ["q1", "q2", "q3"]
    assert questions[1].answers is None


def test_a_bad_qrel_is_named_by_file_and_line(tmp_path: Path) -> None:
    folder = beir(tmp_path, "query-id\tcorpus-id\tscore\nq1\td1\n")
    with pytest.raises(BadRecordError, match=r"test\.tsv:2: expected query-id"):
        list(read_questions(folder))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({**HOTPOT, "answer": {}}, r"file\.jsonl:2: answer: .*string"),
        ({**HOTPOT, "answer": float("nan")}, r"file\.jsonl:2: answer: .*string"),
        ({**HOTPOT, "question": " "}, r"file\.jsonl:2: question: "),
        ({**HOTPOT, "context": [["Film"]]}, r"file\.jsonl:2: paragraph 1"),
        ({**HOTPOT, "supporting_facts": [["Film"]]}, r"file\.jsonl:2: supporting_facts\.0\.1: Field required"),
        ({"question": "x"}, r"file\.jsonl:2: "),
        ([1], r"file\.jsonl:2: expected a question, found a list"),
    ],
)
def test_a_bad_record_is_named_by_file_and_line(tmp_path: Path, record: Any, message: str) -> None:
    path = write(tmp_path, HOTPOT, record, HOTPOT)
    with pytest.raises(BadRecordError, match=message):
        list(read_questions(path))


@pytest.mark.parametrize(
    "answer",
    [
        {"answer": "Rome"},
        {"answer": ["Rome"]},
        {"answers": "Rome"},
        {"answers": ["Rome"]},
    ],
)
def test_own_questions_need_a_question_and_an_answer(tmp_path: Path, answer: dict[str, Any]) -> None:
    path = write(tmp_path, {"question": "Which capital has seven hills?", **answer}, {"question": "Who?", **answer})
    assert detect_format(path) == "questions"
    assert [(each.id, each.answers) for each in read_questions(path)] == [("1", ("Rome",)), ("2", ("Rome",))]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_may_have_any_common_separator(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "mine.csv"
    rows = [("question", "answer"), ('"Who, when; where?"', "Rome")]
    path.write_bytes("\r\n".join(separator.join(row) for row in rows).encode("utf-8-sig"))
    assert (only(path).question, only(path).answers) == ("Who, when; where?", ("Rome",))
    path.write_text("question,answer\nWho?,Eve\nHow high?,3,5\n")
    with pytest.raises(BadRecordError, match=r"mine.csv:3: 3 cells but 2 column names; quote cells"):
        list(read_questions(path))
    sheet = path.rename(path.with_suffix(".xlsx"))
    with pytest.raises(CorpusError, match=r"mine.xlsx: spreadsheets cannot be read; save it as CSV"):
        list(read_questions(sheet))


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_csv_is_read_in_its_encoding(tmp_path: Path, encoding: str) -> None:
    path, reading = tmp_path / "fragen.csv", CorpusReading()
    path.write_bytes("question;answer\nWo wurde der Müller geboren?;Tübingen\n".encode(encoding))
    (asked,) = read_questions(path, reading=reading)
    assert (asked.question, asked.answers) == ("Wo wurde der Müller geboren?", ("Tübingen",))
    assert reading.notes == [f"{path}: not UTF-8, read as {encoding}"]
    path.write_bytes(b"question;answer\n\0\0\xff\0\1")
    with pytest.raises(CorpusError, match=r"fragen.csv: it is not text"):
        only(path)


def test_own_questions_may_have_gold_titles(tmp_path: Path) -> None:
    own = {"question": "How many days carry over?", "answer": 5, "gold_titles": ["Leave", "Leave > Carry over"]}
    assert only(write(tmp_path, own)).gold_titles == ("Leave", "Leave > Carry over")
    assert only(write(tmp_path, {**NQ, "gold_titles": ["V", "T"]})).gold_titles == ("V", "T")


@pytest.mark.parametrize("answer", ["", " ", ["Rome", ""]])
def test_an_empty_answer_is_refused_in_plain_words(tmp_path: Path, answer: Any) -> None:
    path = write(tmp_path, {"question": "Who?", "answer": answer})
    with pytest.raises(BadRecordError, match=r"file.jsonl:1: answer: empty; use null if the question"):
        list(read_questions(path))
    with pytest.raises(BadRecordError, match=r"file.jsonl:1: answers: an object with no keys"):
        list(read_questions(write(tmp_path, {"question": "Who?", "answers": [{}]})))


@pytest.mark.parametrize(
    ("answer", "text"), [(1937, "1937"), (1937.0, "1937"), (2.5, "2.5"), (True, "yes"), (False, "no"), (-3, "-3")]
)
def test_numbers_and_booleans_become_text_answers(tmp_path: Path, answer: Any, text: str) -> None:
    for record in (
        {"question": "Which?", "answer": answer},
        {"question": "Which?", "golden_answers": [answer]},
        {**HOTPOT, "answer": answer},
        {**MUSIQUE, "answer": answer, "answer_aliases": []},
        {"question": "Which?", "question_id": "1", "answer": {"value": answer}},
    ):
        assert only(write(tmp_path, record)).answers == (text,)


def test_all_missing_fields_are_named(tmp_path: Path) -> None:
    without = {key: value for key, value in HOTPOT.items() if key not in ("answer", "_id")}
    with pytest.raises(BadRecordError, match=r"file.jsonl:1: the question has no _id and answer"):
        list(read_questions(write(tmp_path, without)))
    with pytest.raises(BadRecordError, match=r"file.jsonl:2: the question has no answer \(or answers\)"):
        list(read_questions(write(tmp_path, {"question": "Who?", "answer": "A"}, {"question": "Who else?"})))


def test_a_missing_file_an_unknown_file_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.json: cannot be read: No such file"):
        list(read_questions(tmp_path / "none.json"))
    for record, near in [
        ({"question": "x", "reply": "y"}, "has question, reply; the nearest known format, questions, also has answer"),
        ({"QUERY": "x", "answer": "y"}, "nearest known format, questions, also has query"),
        ({"claim": "x"}, "has claim; no known format has any of them"),
    ]:
        with pytest.raises(CorpusError, match=f"{near}.*Your own questions need question and answer"):
            list(read_questions(write(tmp_path, record)))
    with pytest.raises(CorpusError, match="it has no records"):
        list(read_questions(write(tmp_path)))
    with pytest.raises(CorpusError, match=r"queries\.jsonl: cannot be read"):
        list(read_questions(tmp_path))
    with pytest.raises(SettingsError, match="'hotpot' is unknown; did you mean 'hotpotqa'"):
        list(read_questions(tmp_path, "hotpot"))


@pytest.mark.parametrize(
    ("file", "count", "kinds"),
    [
        ("hotpotqa/train_100.json", 100, {"bridge", "comparison"}),
        ("2wikimultihopqa/train_200.json", 200, {"compositional", "comparison", "bridge_comparison", "inference"}),
        ("musique/train_100.jsonl", 100, {"2hop", "3hop1", "3hop2", "4hop1", "4hop2", "4hop3"}),
        ("nq/open_oracle_500.jsonl", 500, {""}),
        ("strategyqa/train_300.json", 300, {"yes_no"}),
    ],
)
def test_the_corpus_of_a_real_file_contains_its_gold_passages(
    shared_data: Path, file: str, count: int, kinds: set[str]
) -> None:
    questions = list(read_questions(shared_data / file))
    assert len({question.id for question in questions}) == count
    assert {question.type for question in questions} <= kinds
    assert all(question.answers for question in questions)
    if "strategyqa" not in file:  # it has only ids of Wikipedia paragraphs
        known = {record.id for record in open_corpus(shared_data / file).records(CorpusReading())}
        assert all(question.gold and known.issuperset(question.gold) for question in questions)
