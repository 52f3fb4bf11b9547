"""Training data for students: what a role's model is sent in use, and the reply that it should give."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import ra_isf
from hopgraph.nodes.judge_relevance import PassageRelevance
from hopgraph.tools.apps.cli.app import main
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.models import parse_reply
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel

RELEVANCE = "ra_isf/judge_relevance"
Distill = Callable[..., int]


@pytest.fixture
def distill(films: Path, tmp_path: Path) -> Distill:
    """Run the command on the films; it writes `tmp_path / "data"`."""

    def run(*more: str, role: str = RELEVANCE, teacher: str = "gold", limit: int = 2) -> int:
        given = [str(films), "--for", role, "--teacher", teacher, "--limit", str(limit)]
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
    """Finds directors relevant and nothing else."""

    def says(role: str, prompt: list[Any]) -> str:
        if role == RELEVANCE:
            return json.dumps({"relevant": "The film-maker" in prompt[-1].text})
        return json.dumps({"known": False, "reasoning": "", "answer": "x", "used_passages": [], "sub_questions": []})

    with OpenAIServer(ScriptedChatModel(replies=says)) as server:
        yield server


@pytest.mark.parametrize(
    ("own", "expected"), [("gold", {"relevant": 5}), ("all", {"relevant": 5, "irrelevant": 43}), ("none", {})]
)
def test_passages_are_labelled_by_the_annotation(
    own: str, expected: dict[str, int], distill: Distill, films: Path, tmp_path: Path
) -> None:
    assert distill("--set", f"own_passages={own}") == 0
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


def test_a_prompt_is_what_the_role_is_sent_in_use_byte_for_byte(
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


def test_a_teacher_labels_and_what_it_cannot_is_dropped(judge: OpenAIServer, distill: Distill, tmp_path: Path) -> None:
    assert distill("--set", "own_passages=none", teacher=spec(judge)) == 0
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


def test_it_is_resumed_without_asking_again(judge: OpenAIServer, distill: Distill, tmp_path: Path) -> None:
    assert distill("--max-calls", "8", "--concurrency", "1", teacher=spec(judge), limit=3) == 0
    assert counts(tmp_path)["finished"] < 3
    assert distill(teacher=spec(judge), limit=3) == 0
    first, asked = (tmp_path / "data" / "train.jsonl").read_bytes(), len(judge.requests)
    assert counts(tmp_path)["finished"] == 3
    assert asked == counts(tmp_path)["seen"]
    assert distill(teacher=spec(judge), limit=3) == 0
    assert ((tmp_path / "data" / "train.jsonl").read_bytes(), len(judge.requests)) == (first, asked)


def test_classes_are_balanced_when_asked_for(distill: Distill, tmp_path: Path) -> None:
    assert distill("--balance", "--set", "own_passages=all") == 0
    found = counts(tmp_path)
    assert found["labels"] == {"relevant": 5, "irrelevant": 5}
    assert found["dropped"] == {"balance": 38}
    assert json.loads((tmp_path / "data" / "summary.json").read_text())["filters"] == {"balance": True}


def test_the_papers_form_says_the_same(distill: Distill, tmp_path: Path) -> None:
    assert distill() == 0
    made = lines(tmp_path / "data" / "train.jsonl")
    for paper, own in zip(lines(tmp_path / "data" / "paper" / "train.jsonl"), made, strict=True):
        assert parse_reply(paper["output"], PassageRelevance) == parse_reply(
            own["completion"][0]["content"], PassageRelevance
        )
        assert paper["id"] == own["id"]


@pytest.mark.parametrize("same", ["id", "text"])
def test_questions_for_evaluation_are_refused(
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


def test_an_estimate_writes_nothing_and_a_folder_of_the_users_is_not_replaced(
    distill: Distill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert distill("--estimate", teacher="openai:any") == 0
    assert not [*tmp_path.iterdir()]
    (tmp_path / "data").mkdir()
    assert distill() == 2
    assert "was not made by this command" in capsys.readouterr().err


@pytest.mark.slow
def test_several_processes_make_the_same_data(judge: OpenAIServer, distill: Distill, tmp_path: Path) -> None:
    assert distill(teacher=spec(judge), limit=8) == 0
    alone = (tmp_path / "data" / "train.jsonl").read_bytes()
    for part in ("data", "data.run"):
        (tmp_path / part).rename(tmp_path / f"first-{part}")
    assert distill("--processes", "2", teacher=spec(judge), limit=8) == 0
    assert (tmp_path / "data" / "train.jsonl").read_bytes() == alone


def test_real_questions_become_data(shared_data: Path, tmp_path: Path) -> None:
    given = [str(shared_data / "hotpotqa" / "train_100.json"), "--for", RELEVANCE, "--teacher", "gold", "--limit", "70"]
    assert main(["distill", *given, "--out", str(tmp_path / "data")]) == 0
    assert counts(tmp_path)["labels"]["relevant"] == 140
