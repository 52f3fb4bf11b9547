"""Training data for students: the prompts that a role's model gets in use, and the target replies."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import genground, ra_isf
from hopgraph.nodes.core.ask import render_step
from hopgraph.nodes.ground import GroundReply
from hopgraph.nodes.judge_relevance import PassageRelevance
from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.models import parse_reply
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel

RELEVANCE = "ra_isf/judge_relevance"
Distill = Callable[..., int]


@pytest.fixture
def distill(films: Path, tmp_path: Path) -> Distill:
    """Run the command on the films, with output to `tmp_path / "data"`."""

    def run(*more: str, role: str = RELEVANCE, teacher: str = "gold", limit: int = 2) -> int:
        given = [str(films), "--for", role, "--teacher", teacher, "--limit", str(limit), "--max-outage", "0"]
        return main(["distill", *given, "--out", str(tmp_path / "data"), *more])

    return run


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counts(tmp_path: Path) -> Mapping[str, Any]:
    return json.loads((tmp_path / "data" / "summary.json").read_text())["counts"]


def spec(server: OpenAIServer) -> str:
    return f"openai:any?base_url={server.base_url}"


def messages(body: Any) -> list[dict[str, str]]:
    return [{"role": each["role"], "content": each["content"]} for each in body["messages"]]


@pytest.fixture
def judge() -> Iterator[OpenAIServer]:
    """Judges only directors relevant."""

    def says(role: str, prompt: list[Any]) -> str:
        if role == RELEVANCE:
            return json.dumps({"relevant": "The film-maker" in prompt[-1].text})
        return json.dumps({"known": False, "reasoning": "", "answer": "x", "used_passages": [], "sub_questions": []})

    with OpenAIServer(ScriptedChatModel(replies=says)) as server:
        yield server


@pytest.mark.parametrize(
    ("own", "expected"), [("gold", {"relevant": 5}), ("all", {"relevant": 5, "irrelevant": 43}), ("none", {})]
)
def test_passages_are_labeled_by_the_annotation(
    own: str, expected: dict[str, int], distill: Distill, films: Path, tmp_path: Path
) -> None:
    assert distill("--set", f"judged_passages={own}") == 0
    gold = {each.id: each.gold for each in read_questions(films)}
    made = lines(tmp_path / "data" / "train.jsonl")
    for each in made:
        question, _, passage = each["id"].partition(":")
        assert each["label"] == ("relevant" if passage in gold[question] else "irrelevant")
        assert each["completion"] == [
            {"role": "assistant", "content": json.dumps({"relevant": passage in gold[question]})}
        ]
    found = counts(tmp_path)
    assert found["seen"] == found["kept"] == len(made) == sum(found["labels"].values())
    assert {name: found["labels"][name] for name in expected} == expected


def test_training_prompts_equal_the_prompts_sent_in_use(
    distill: Distill, judge: OpenAIServer, films: Path, tmp_path: Path
) -> None:
    assert distill(limit=1) == 0
    settings = ra_isf.Context(model=spec(judge), judge="each", retriever=f"bm25:{tmp_path / 'data.run' / 'corpus'}")
    question = next(iter(read_questions(films))).question
    ra_isf.graph.invoke({"question": question}, context=settings)
    sent = [messages(each.body) for each in judge.requests if each.role == RELEVANCE]
    made = [each["prompt"] for each in lines(tmp_path / "data" / "train.jsonl")]
    assert len(sent) == 5
    assert all(json.dumps(each).encode() in [json.dumps(own).encode() for own in made] for each in sent)


def test_examples_that_the_teacher_cannot_label_are_dropped(
    judge: OpenAIServer, distill: Distill, tmp_path: Path
) -> None:
    assert distill("--set", "judged_passages=none", teacher=spec(judge)) == 0
    made = lines(tmp_path / "data" / "train.jsonl")
    assert {messages(each.body)[-1]["content"] for each in judge.requests} == {m["prompt"][-1]["content"] for m in made}
    assert all(("The film-maker" in m["prompt"][-1]["content"]) == (m["label"] == "relevant") for m in made)
    assert counts(tmp_path)["seen"] == 10


def test_unusable_replies_and_a_budget_drop_examples(distill: Distill, tmp_path: Path) -> None:
    def says(_: str, prompt: list[Any]) -> str:
        return "perhaps" if "Night Harbour is" in prompt[-1].text else '{"relevant": true}'

    with OpenAIServer(ScriptedChatModel(replies=says)) as server:
        given = ("--set", "parse_retries=0", "--set", "max_llm_calls=4")
        assert distill(*given, teacher=spec(server), limit=1) == 0
    dropped = lines(tmp_path / "data" / "dropped.jsonl")
    assert [each["reason"] for each in dropped].count("unusable reply") == 1
    assert counts(tmp_path)["dropped"]["budget"] == counts(tmp_path)["seen"] - 4
    assert counts(tmp_path)["kept"] == 3


def test_distillation_resumes_without_repeated_calls(judge: OpenAIServer, distill: Distill, tmp_path: Path) -> None:
    assert distill("--max-calls", "8", "--concurrency", "1", teacher=spec(judge), limit=3) == 4
    assert counts(tmp_path)["questions"] < 3
    assert distill(teacher=spec(judge), limit=3) == 0
    first, asked = (tmp_path / "data" / "train.jsonl").read_bytes(), len(judge.requests)
    assert counts(tmp_path)["questions"] == 3
    assert asked <= counts(tmp_path)["seen"] + 6  # those in flight at the limit
    assert distill(teacher=spec(judge), limit=3) == 0
    assert ((tmp_path / "data" / "train.jsonl").read_bytes(), len(judge.requests)) == (first, asked)


def test_classes_are_balanced_on_request(distill: Distill, tmp_path: Path) -> None:
    assert distill("--balance", "--set", "judged_passages=all") == 0
    found = counts(tmp_path)
    assert found["labels"] == {"relevant": 5, "irrelevant": 5}
    assert found["dropped"] == {"balance": 38}
    assert json.loads((tmp_path / "data" / "summary.json").read_text())["filters"]["balance"] is True


def test_the_papers_format_has_the_same_content(distill: Distill, tmp_path: Path) -> None:
    assert distill() == 0
    made = lines(tmp_path / "data" / "train.jsonl")
    for paper, own in zip(lines(tmp_path / "data" / "paper" / "train.jsonl"), made, strict=True):
        assert parse_reply(paper["output"], PassageRelevance) == parse_reply(
            own["completion"][0]["content"], PassageRelevance
        )
        assert paper["id"] == own["id"]


@pytest.mark.parametrize("same", ["id", "text"])
def test_distilling_from_evaluation_questions_is_refused(
    same: str, distill: Distill, films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held_out = [json.loads(line) for line in films.read_text(encoding="utf-8").splitlines()]
    for each in held_out:
        each.update({"question": f"{each['question']} Say it."} if same == "id" else {"id": f"x{each['id']}"})
    evaluation = tmp_path / "evaluation.jsonl"
    evaluation.write_text("\n".join(map(json.dumps, held_out)))
    assert distill("--not-in", str(evaluation)) == 2
    assert "2 of 2 questions are in" in capsys.readouterr().err
    assert not (tmp_path / "data.run").exists()
    assert distill("--not-in", str(evaluation), "--allow-overlap") == 0


def test_an_estimate_writes_nothing_and_user_folders_are_not_replaced(
    distill: Distill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distill("--estimate", teacher="openai:any") == 0
    assert not [*tmp_path.iterdir()]
    (tmp_path / "data").mkdir()
    assert distill() == 2
    assert "was not made by this command" in capsys.readouterr().err


GROUNDING = "genground/ground"


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """Twenty questions, each with a passage that has the answer and others without it."""
    path, names = (
        tmp_path / "facts.jsonl",
        [f"{first}{last}" for first in "BDFGH" for last in ("arn", "olm", "ing", "ust")],
    )
    with path.open("w", encoding="utf-8") as file:
        for at, name in enumerate(names):
            passages = [
                {
                    "title": f"The {name} bridge",
                    "text": f"{name} was opened in {1800 + at}, after plans of Engineer{at + 40}.",
                    "isgold": True,
                },
                {
                    "title": "Bridges",
                    "text": "Bridges cross rivers, roads or valleys. Many a one was paid for by tolls.",
                },
            ]
            record = {"id": f"f{at}", "question": f"Who built the {name} bridge?", "answer": [f"Engineer{at + 40}"]}
            file.write(f"{json.dumps({**record, 'ctxs': passages})}\n")
    return path


class Teacher:
    """Grounds like IGD's teacher, with planted errors by question number."""

    PLANTED = ("empty citation", "unusable reply", "unusable reply", "misaligned answer", "misaligned citation")

    def __init__(self, dataset: Path, limit: int) -> None:
        self.questions = {each.question: (at, each) for at, each in enumerate(read_questions(dataset)) if at < limit}

    def __call__(self, role: str, prompt: list[Any]) -> str:
        text = next(each.text for each in reversed(prompt) if "<question>" in each.text)
        number, question = next(self.questions[each] for each in self.questions if f"<question>\n{each}\n" in text)
        if role == "genground/answer":
            return json.dumps({"answer": "someone", "used_passages": []})
        assert role == "genground/ground_given_gold"
        shown: list[str] = re.findall(r"<passage [^>]*>\n(.*?)\n</passage>", text, re.DOTALL)
        gold = shown[int(text.split("<gold>\n")[1].split("passage ")[1][0]) - 1]
        answer = (question.answers or ("",))[0]
        noise = next(each for each in shown if each != gold)
        replies = [
            '{"ref": "Empty", "revise": ""}',
            "I would rather not say.",
            f"<ref>{gold}</ref> {answer}",
            json.dumps({"ref": gold, "revise": "someone else entirely"}),
            json.dumps({"ref": noise, "revise": answer}),
            f"<ref>{gold}</ref> <revise>{answer}</revise>",
        ]
        return (
            replies[number % 10]
            if number % 10 < 5
            else replies[5]
            if number % 2
            else json.dumps({"ref": gold, "revise": answer})
        )


def ground(dataset: Path, tmp_path: Path, limit: int, *more: str) -> OpenAIServer:
    with OpenAIServer(ScriptedChatModel(replies=Teacher(dataset, limit))) as server:
        given = [str(dataset), "--for", GROUNDING, "--limit", str(limit), "--max-outage", "0"]
        given += ["--out", str(tmp_path / "data")]
        assert main(["distill", *given, "--base", spec(server), "--teacher", spec(server), *more]) == 0
    return server


@pytest.mark.parametrize("limit", [20, pytest.param(100, marks=pytest.mark.long)])
def test_planted_teacher_errors_are_counted(limit: int, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dataset = request.getfixturevalue("facts" if limit == 20 else "shared_data")
    dataset = dataset if limit == 20 else dataset / "nq" / "open_oracle_500.jsonl"
    ground(dataset, tmp_path, limit, "--set", "parse_retries=0")
    planted = {each: limit // 10 * Teacher.PLANTED.count(each) for each in Teacher.PLANTED}
    assert counts(tmp_path)["dropped"] == planted
    assert counts(tmp_path)["kept"] == limit // 2
    for paper, own in zip(*(lines(tmp_path / "data" / part / "train.jsonl") for part in ("paper", "")), strict=True):
        assert parse_reply(paper["output"], GroundReply) == parse_reply(own["completion"][0]["content"], GroundReply)


def test_only_the_teachers_prompt_marks_the_gold_passage(facts: Path, tmp_path: Path) -> None:
    server = ground(facts, tmp_path, 20)
    told = [messages(each.body)[1]["content"] for each in server.requests if each.role.endswith("given_gold")]
    made = lines(tmp_path / "data" / "train.jsonl")
    assert all("<gold>" in each for each in told)
    assert not any("gold" in message["content"] for each in made for message in each["prompt"])
    places = {each["prompt"][-1]["content"].index("was opened in") < 150 for each in made}
    assert places == {True, False}  # the position of the gold passage varies
    prompts = [
        render_step(genground.Context(), "ground", variables)
        for each in made
        if (variables := record_of(tmp_path, each["id"])["variables"])
    ]
    assert [[each["content"] for each in own["prompt"]] for own in made] == [[m.text for m in each] for each in prompts]


def record_of(tmp_path: Path, name: str, method: str = "genground") -> Mapping[str, Any]:
    reader = RunReader(tmp_path / "data.run")
    return reader.trace(next(each for each in reader.outcomes(method) if each["id"] == name))["distilled"][0]


def test_negatives_have_no_passage_with_the_answer(facts: Path, tmp_path: Path) -> None:
    ground(facts, tmp_path, 20, "--negatives")
    made = lines(tmp_path / "data" / "train.jsonl")
    empty = [each for each in made if each["id"].endswith(":negative")]
    answers = {each.id: (each.answers or ("",))[0] for each in read_questions(facts)}
    assert len(empty) == len(made) / 2 == counts(tmp_path)["kept"] / 2
    for each in empty:
        assert each["completion"][0]["content"] == '{"ref": "Empty", "revise": ""}'
        assert answers[each["id"].partition(":")[0]] not in each["prompt"][-1]["content"]


def test_a_question_is_known_if_the_answer_from_memory_is_right(films: Path, distill: Distill, tmp_path: Path) -> None:
    answers = ["The Larvik!", "somewhere", "unanswerable", "no JSON"]
    questions = {each.question: at for at, each in enumerate(read_questions(films))}

    def says(_: str, prompt: list[Any]) -> str:
        said = answers[next(at for each, at in questions.items() if each in prompt[-1].text) % 4]
        return said if said == "no JSON" else json.dumps({"reasoning": "", "answer": said, "used_passages": []})

    with OpenAIServer(ScriptedChatModel(replies=says)) as server:
        given = ("--base", spec(server), "--set", "parse_retries=0")
        assert distill(*given, role="ra_isf/self_knowledge", limit=4) == 0
    made = lines(tmp_path / "data" / "train.jsonl")
    assert [(each["label"], each["completion"][0]["content"]) for each in made] == [
        ("known", '{"known": true}'),
        ("unknown", '{"known": false}'),
        ("unknown", '{"known": false}'),
    ]
    assert counts(tmp_path)["dropped"] == {"unusable reply": 1}
    assert [each["output"] for each in lines(tmp_path / "data" / "paper" / "train.jsonl")] == [
        "know",
        "unknow",
        "unknow",
    ]
    first = messages(server.requests[0].body)
    assert len(first) > 2  # few-shot; the student's prompt is not
    assert [each["role"] for each in made[0]["prompt"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (["Who directed it?", "Where was #1 born?"], ""),
        (["Where was #2 born?", "Who directed it?"], "misplaced reference"),
        ([], "no sub-questions"),
        (["a?", "b?", "c?", "d?", "e?", "f?"], "too many sub-questions"),
        (None, "unusable reply"),
    ],
)
def test_decompositions_are_checked(said: list[str] | None, reason: str, distill: Distill, tmp_path: Path) -> None:
    reply = "none" if said is None else json.dumps({"sub_questions": said})
    good = json.dumps({"sub_questions": ["One?", "Two?"]})
    replies = ScriptedChatModel(replies=lambda _, prompt: reply if "Night Harbour" in prompt[-1].text else good)
    with OpenAIServer(replies) as server:
        assert distill("--set", "parse_retries=0", role="ra_isf/decompose", teacher=spec(server)) == 0
    assert counts(tmp_path)["dropped"] == ({reason: 1} if reason else {})
    first, *_ = lines(tmp_path / "data" / "train.jsonl")
    assert json.loads(first["completion"][0]["content"]) == {"sub_questions": ["One?", "Two?"] if reason else said}


def test_annotated_decompositions_are_used(distill: Distill, tmp_path: Path) -> None:
    assert distill(role="ra_isf/decompose") == 0
    first, second = lines(tmp_path / "data" / "paper" / "train.jsonl")
    assert first["output"] == "1. Who is the director of Night Harbour?\n2. Where was #1 born?"
    assert second["output"].endswith("3. Which river flows through #2?")


def test_prompts_in_use_equal_the_training_prompts(distill: Distill, films: Path, tmp_path: Path) -> None:
    """The self-knowledge and decomposition modules; the relevance module has a separate test."""
    reply = '{"known": false, "relevant": false, "sub_questions": [], "reasoning": "", "answer": "x"}'
    with OpenAIServer(ScriptedChatModel(replies=lambda *_: reply)) as server:
        settings = ra_isf.Context(model=spec(server), judge="each", retriever="sample")
        ra_isf.graph.invoke({"question": next(iter(read_questions(films))).question}, context=settings)
        sent = {each.role: messages(each.body) for each in server.requests}
        assert distill("--base", spec(server), role="ra_isf/self_knowledge", limit=1) == 0
    known = lines(tmp_path / "data" / "train.jsonl")[0]["prompt"]
    for part in ("data", "data.run"):
        shutil.rmtree(tmp_path / part)
    assert distill(role="ra_isf/decompose", limit=1) == 0
    assert known == sent["ra_isf/self_knowledge"]
    assert lines(tmp_path / "data" / "train.jsonl")[0]["prompt"] == sent["ra_isf/decompose"]


@pytest.mark.parametrize(
    ("role", "more", "message"),
    [
        (GROUNDING, ["--teacher", "gold", "--base", "x:y"], "needs a model"),
        (GROUNDING, ["--teacher", "rehearsal"], "needs --base"),
        (GROUNDING, ["--teacher", "rehearsal", "--base", "rehearsal", "--balance"], "have classes"),
        ("ra_isf/self_knowledge", ["--teacher", "rehearsal", "--base", "rehearsal"], "needs gold"),
        (RELEVANCE, ["--teacher", "gold", "--base", "rehearsal"], "does not use --base"),
        (RELEVANCE, ["--teacher", "gold", "--negatives"], "has the reply Empty"),
        (RELEVANCE, ["--teacher", "gold", "--corpus", "sample"], "does not have the gold passages"),
    ],
)
def test_options_that_do_not_apply_to_a_role_are_refused(
    role: str, more: list[str], message: str, films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["distill", str(films), "--for", role, "--out", str(tmp_path / "data"), *more]) == 2
    assert message in capsys.readouterr().err
    assert not [*tmp_path.glob("data*")]
