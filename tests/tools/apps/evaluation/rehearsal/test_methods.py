"""Every method with a perfect rehearsal model: no unusable replies, and iterative retrieval helps."""

import json
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.scores import score_questions
from hopgraph.tools.apps.evaluation.significance import bootstrap

NAMES = sorted(METHODS.keys() - ALIASES.keys())
IN_TURNS = [
    "genground",
    "react",
    "self_ask",
    "ircot",
    "itrg",
    "vtg",
    "searchain",
    "migres",
    "tree_of_reviews",
    "chain_of_reviews",
]
WITHOUT_MEMORY = ["direct", "cot", "cot_sc", "genread", "least_to_most"]
COMPARED = ["one_step", "gold_passages", *IN_TURNS, *WITHOUT_MEMORY]


def evaluated(dataset: Path, out: Path, methods: str = "all", query: str = "", **more: Any) -> dict[str, Any]:
    more["assignments"] = ["links=false", *more.get("assignments", [])]  # with so few films, links find all of them
    run_eval(EvalOptions(dataset, methods, out, model=f"rehearsal:{dataset}{query}", **more))
    return json.loads((out / "summary.json").read_text())


def test_iterative_retrieval_beats_single_retrieval_and_memory_without_failures(films: Path, tmp_path: Path) -> None:
    told = evaluated(films, tmp_path / "run", ",".join(COMPARED), limit=2)
    rows = {name: (row["n"], row["failed"], row["parse_failures"]) for name, row in told.items()}
    assert rows == dict.fromkeys(COMPARED, (2, 0, 0))
    exact = {name: row["em"] for name, row in told.items()}
    assert exact["gold_passages"] == 1.0
    assert [name for name in IN_TURNS if exact[name] <= exact["one_step"]] == []
    assert [name for name in WITHOUT_MEMORY if exact[name]] == []


@pytest.mark.long
def test_no_method_fails_on_any_question(films: Path, tmp_path: Path) -> None:
    told = evaluated(films, tmp_path / "run")
    assert sorted(told) == NAMES
    assert {(row["n"], row["failed"], row["parse_failures"]) for row in told.values()} == {(8, 0, 0)}


def test_without_gold_passages_a_text_with_the_answer_suffices(films_index: str, tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text('{"question": "In which city was the film-maker Ada Brink born?", "answer": "Larvik"}\n')
    methods = ["migres", "one_step", "react", "self_ask", "vtg"]
    told = evaluated(own, tmp_path / "run", ",".join(methods), corpus=films_index)
    assert {name: told[name]["em"] for name in methods} == dict.fromkeys(methods, 1.0)


@pytest.mark.slow
def test_with_full_memory_every_question_is_answered(films: Path, tmp_path: Path) -> None:
    known = evaluated(films, tmp_path / "run", ",".join([*WITHOUT_MEMORY, "ra_isf", "genground"]), "?knowledge=1")
    assert {name: row["em"] for name, row in known.items()} == dict.fromkeys(known, 1.0)


@pytest.mark.long
def test_iterative_retrieval_beats_single_retrieval_on_musique(shared_data: Path, tmp_path: Path) -> None:
    dataset, out = shared_data / "musique" / "train_100.jsonl", tmp_path / "run"
    methods = ["genground", "ircot", "itrg", "searchain"]
    as_many = ["one_step.top_k=15"]
    evaluated(dataset, out, ",".join(["one_step", *methods]), assignments=as_many, limit=50)
    reader = RunReader(out)
    questions = {each.id: each for each in reader.questions()}
    once = score_questions(reader, "one_step", questions)
    for method in methods:
        rows = score_questions(reader, method, questions)
        gain = [rows[name]["recall@15"] - once[name]["recall@15"] for name in questions]
        assert bootstrap(gain).low > 0.0, method
