"""MIGRES's preliminary experiments: prompts, counts, resuming, and the resulting table."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever

from hopgraph.state import Passage, SettingsError
from hopgraph.tools.apps.cli.evaluation.reproduce_command import ReproduceOptions, run_reproduce
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop
from hopgraph.tools.apps.evaluation.preliminary import (
    EXPERIMENTS,
    PASSAGES_SHOWN,
    annotated_sub_questions,
    draw_known_part,
    draw_passages,
)
from support.servers.scripted_model import ScriptedChatModel

FILM, BIRTH, ALSO, OTHER, LAST = "p1", "p2", "p3", "p4", "p5"
QUESTION = EvalQuestion(
    id="q1",
    question="Where was the director of Blue Hour born?",
    answers=("Oslo",),
    type="",
    gold=(FILM, BIRTH),
    gold_titles=("Blue Hour", "Ann Berg"),
    hops=(GoldHop("Who directed Blue Hour?", "Ann Berg", (FILM,)), GoldHop("Where was #1 born?", "Oslo", (BIRTH,))),
    contexts=(
        ContextPassage(FILM, "Blue Hour", "Blue Hour was directed by Ann Berg."),
        ContextPassage(BIRTH, "Ann Berg", "Ann Berg was born in Oslo in 1950."),
        ContextPassage(ALSO, "Oslo Fjord", "The fjord lies south of Oslo."),
        ContextPassage(OTHER, "Tram", "A tram runs on rails."),
    ),
)


class OneMore(BaseRetriever):
    """Returns one passage in addition to the question's own."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int = 50
    ) -> list[Document]:
        return [Document(id=LAST, page_content="Rails are made of steel.", metadata={"title": "Rail"})]


async def run(model: ScriptedChatModel, name: str) -> dict[str, Any]:
    settings = {"model": model, "retriever": OneMore(), "entailment": "lexical"}
    given = {"question": QUESTION.question, "annotated": QUESTION}
    return await EXPERIMENTS[name].ainvoke(given, context=settings)


def number_of(title: str, messages: list[BaseMessage]) -> int:
    """Return the number of a passage in the prompt."""
    head, _, _ = messages[-1].text.partition(f'" title="{title}"')
    return int(head.rpartition('id="')[2])


def test_sub_questions_have_their_names_answers_and_passages() -> None:
    first, second = annotated_sub_questions(QUESTION)
    assert (first.template, first.answers) == ("Who directed Blue Hour?", ("Ann Berg",))
    assert second.template == "Where was Ann Berg born?"
    assert [[passage.id for passage in each.passages] for each in (first, second)] == [[FILM], [BIRTH]]


def test_a_question_without_sub_answers_has_no_sub_questions() -> None:
    assert annotated_sub_questions(EvalQuestion("h", "Who?", ("A",), "bridge", ("p",), ("A",))) == []


def test_five_passages_are_drawn_deterministically_and_one_is_gold() -> None:
    found = [
        Passage(id=f"f{number}", title=f"T{number}", text="x", score=1.0, source="s", hop=1) for number in range(50)
    ]
    draws = [draw_passages(replace(QUESTION, id=str(number)), found) for number in range(30)]
    assert draws[0] == draw_passages(replace(QUESTION, id="0"), found)
    assert all(len({each["id"] for each in draw}) == PASSAGES_SHOWN for draw in draws)
    assert all({FILM, BIRTH} & {each["id"] for each in draw} for draw in draws)
    places = {next(n for n, each in enumerate(draw) if each["id"] in (FILM, BIRTH)) for draw in draws}
    assert len(places) > 1
    assert len(draw_passages(QUESTION, [])) == 4


def test_the_known_part_is_a_proper_subset_and_may_be_empty() -> None:
    parts = annotated_sub_questions(QUESTION)
    sizes = [len(draw_known_part(str(number), parts)) for number in range(40)]
    assert set(sizes) == {0, 1}
    assert draw_known_part("7", parts) == draw_known_part("7", parts)


async def test_statements_are_counted_by_the_content_of_their_passages() -> None:
    def says(role: str, messages: list[BaseMessage]) -> str:
        if role == "information_extraction/judge_usefulness":
            return json.dumps({"useful": "born in Oslo" in messages[-1].text})
        asked = messages[-1].text
        if "Who directed" in asked:  # cites a passage without the answer, and says what no passage says
            return statements(("Ann Berg directed Blue Hour in Paris.", number_of("Tram", messages)))
        if "Where was Ann Berg" in asked:  # right by a passage that holds the answer by chance
            return statements(("The fjord lies south of Oslo.", number_of("Oslo Fjord", messages)))
        return statements(("Ann Berg was born in Oslo in 1950.", number_of("Ann Berg", messages)))

    ended = await run(ScriptedChatModel(replies=says), "information_extraction")
    assert ended["measured"] == {
        "statements": 3,
        "right": 2,  # the question's own statement, and the one from the fjord
        "gold": 4,  # two of the question, one of each part
        "found": 1,  # Ann Berg's birth, of the question
        "entailed_statements": 2,
        "entailed_right": 2,
        "entailed_found": 1,
        "useful": 1,
    }
    assert ended["usage"]["llm_calls"] == 5
    assert len(ended["passages"]) == PASSAGES_SHOWN


def statements(*found: tuple[str, int]) -> str:
    return json.dumps({"useful_information": [{"info": info, "support_passages": [number]} for info, number in found]})


@pytest.mark.parametrize(
    ("answers", "aligned", "measured"),
    [
        (("in Oslo", "unanswerable"), [1], {"all_right": 1, "unanswerable": 1, "aligned": 1}),
        (("in Oslo", "unanswerable"), [9], {"all_right": 1, "unanswerable": 1, "aligned": 0}),
        (("Bergen", "Oslo"), None, {"all_right": 0, "unanswerable": 0, "aligned": 0}),
    ],
)
async def test_full_and_partial_information(
    answers: tuple[str, str], aligned: list[int] | None, measured: dict[str, int]
) -> None:
    asked: list[str] = []

    def says(role: str, messages: list[BaseMessage]) -> str:
        asked.append(messages[-1].text)
        if role == "missing_information/judge_alignment":
            return json.dumps({"aligned": aligned})
        text = answers[len(asked) - 1]
        return json.dumps({"answer": {"text": text, "confidence": 1}, "missing_information": "her birthplace"})

    ended = await run(ScriptedChatModel(replies=says), "missing_information")
    assert ended["measured"] == {"all": 1, "partial": 1, **measured}
    assert "Where was Ann Berg born: Oslo." in asked[0]
    assert "Where was Ann Berg born: Oslo." not in asked[1]
    assert (len(asked) == 3) == (aligned is not None)
    if aligned:
        assert "her birthplace" in asked[2]


def reproduced(folder: Path) -> dict[str, float]:
    with (folder / "reproduction.csv").open(newline="") as file:
        return {row["column"]: float(row["value"]) for row in csv.DictReader(file) if row["column"].endswith("ours")}


def run_on(path: Path, table: str, options: str, out: Path) -> dict[str, float]:
    model = f"rehearsal:{path}{options}"
    run_reproduce(ReproduceOptions(f"migres/{table}", path, model=model, out=out, limit=15))
    return reproduced(out)


@pytest.mark.slow
def test_extraction_by_a_perfect_and_an_erring_model(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_data / "musique" / "train_100.jsonl"
    first, worse = run_on(path, "table1", "", tmp_path / "one"), run_on(path, "table1", "?error=0.3", tmp_path / "two")
    assert min(first["Prec. ours"], first["Prec. after entailment ours"]) >= 90
    assert first["Rec. ours"] == first["Useful ours"] == 100
    assert worse["Prec. ours"] < first["Prec. ours"] - 20
    assert worse["Useful ours"] < 90
    told = " ".join(capsys.readouterr().out.split())
    assert "Not a language model's scores: answered by rehearsal" in told


def test_an_interrupted_experiment_resumes_without_repeated_calls(films: Path, tmp_path: Path) -> None:
    whole = ReproduceOptions("migres/table2", films, model=f"rehearsal:{films}", out=tmp_path, limit=6)
    run_reproduce(replace(whole, max_calls=7, concurrency=1))
    folder = tmp_path / "missing-information"
    before = list(RunReader(folder).outcomes("missing_information"))
    assert 0 < len(before) < 6
    replies = {file: file.read_bytes() for file in folder.glob("cache/0/*/*.json")}
    run_reproduce(whole)
    after = list(RunReader(folder).outcomes("missing_information"))
    assert after[: len(before)] == before
    assert len(after) == 6
    assert {file: file.read_bytes() for file in replies} == replies
    calls = sum(each["usage"]["llm_calls"] for each in after if each["usage"])
    assert len(list(folder.glob("cache/0/*/*.json"))) == calls
    run_reproduce(whole)
    assert list(RunReader(folder).outcomes("missing_information")) == after


def test_an_experiment_may_have_another_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = tmp_path / "m.jsonl"
    paragraph = {"idx": 0, "title": "T", "paragraph_text": "text", "is_supporting": True}
    record = {"id": "a", "question": "Who?", "answer": "A", "paragraphs": [paragraph], "question_decomposition": []}
    dataset.write_text(json.dumps(record) + "\n")
    options = ReproduceOptions(
        "migres/table1",
        dataset,
        model="offline:extractive",
        out=tmp_path / "r",
        judge="offline:extractive",
        dry_run=True,
    )
    run_reproduce(options)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"hopgraph reproduce migres/table1 --dataset {dataset} --model offline:extractive")
    assert f"--judge offline:extractive --out {tmp_path / 'r'}" in line
    with pytest.raises(SettingsError, match=r"no annotated sub-answers.* use MuSiQue or 2WikiMultihopQA"):
        run_reproduce(replace(options, dry_run=False))
