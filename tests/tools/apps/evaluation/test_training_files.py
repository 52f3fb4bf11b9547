"""`hopgraph build` from training questions, and the methods that use its files."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from hopgraph.tools.apps.cli import main


def build(films: Path, out: Path, *more: str, knowledge: float = 1.0) -> int:
    model = f"rehearsal:{films}?knowledge={knowledge}"
    return main(["build", "skr_knn", str(films), "--out", str(out), "--model", model, "--set", "links=false", *more])


def test_questions_are_labeled_resumed_and_then_decide(
    films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "labels.jsonl"
    assert build(films, out, "--limit", "2") == 0
    assert (
        f"2 labeled (retrieval helps 0, harms 2, makes no difference 0): --set labels={out}\n"
        in capsys.readouterr().out
    )
    first = out.read_text()
    assert build(films, out, "--limit", "2") == 0
    assert "Resuming: 4 of 4 are finished" in capsys.readouterr().err
    assert out.read_text() == first
    labeled = [json.loads(line) for line in first.splitlines()]
    assert {each["label"] for each in labeled} == {"harms"}
    assert all(each["model"].startswith("rehearsal:") and len(each["corpus"]) == 64 for each in labeled)
    command = ["eval", str(films), "--methods", "skr_knn", "--limit", "2", "--set", f"labels={out}"]
    model = ["--model", f"rehearsal:{films}?knowledge=1.0"]
    assert main([*command, *model, "--out", str(tmp_path / "run")]) == 0
    assert main([*command, "--out", str(tmp_path / "other")]) == 2
    assert "made with the model rehearsal:" in capsys.readouterr().err


def test_questions_for_which_retrieval_makes_no_difference_are_kept(films: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    assert build(films, out, knowledge=0.6) == 0
    counts = Counter(json.loads(line)["label"] for line in out.read_text().splitlines())
    assert counts.total() == len(films.read_text().splitlines())
    assert counts["same"]
    assert counts["harms"]


def test_a_run_without_any_difference_gives_no_labels(
    films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(films, tmp_path / "labels.jsonl", "--limit", "1", knowledge=0.0) == 1
    assert "retrieval made no difference to any question" in capsys.readouterr().err


@pytest.mark.slow
def test_methods_without_their_file_are_skipped_in_all_and_refused_by_name(
    films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOPGRAPH_LABELS")
    command = ["eval", str(films), "--limit", "1", "--estimate", "--out", str(tmp_path / "run"), "--methods"]
    assert main([*command, "all"]) == 0
    said = capsys.readouterr()
    assert "Left out: skr_knn needs labeled training questions" in " ".join(said.err.split())
    assert "one_step_cot" in said.out
    assert main([*command, "one_step,papers,cor"]) == 0
    estimated = re.findall(r"^(\w+) +1 +[\d.]+ ", capsys.readouterr().out, re.MULTILINE)
    five = ["migres", "blendfilter", "genground", "ra_isf", "tree_of_reviews", "chain_of_reviews"]
    assert estimated == ["one_step", *five]
    assert main([*command, "cot,skr_knn"]) == 2
    assert "hopgraph build skr_knn" in capsys.readouterr().err


def test_the_steps_of_right_answers_become_worked_examples(
    films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, model = tmp_path / "examples", ("--model", f"rehearsal:{films}")
    few = ("--limit", "1", "--set", "queries_per_hop=2", "--set", "samples=1", "--set", "abstain=false")
    assert main(["build", "dsp", str(films), "--out", str(out), *model, *few]) == 0
    assert capsys.readouterr().out.endswith(f"the steps of 1 question: --set demonstrations={out}\n")
    steps = {path.stem: [*map(json.loads, path.read_text().splitlines())] for path in out.iterdir()}
    assert {step: len(shots) for step, shots in steps.items()} == {"write_query": 2, "answer_step_by_step": 1}
    first, second = steps["write_query"]
    assert (first["input"].keys(), second["input"].keys()) == ({"question"}, {"question", "passages"})
    assert first["output"].keys() == {"rationale", "query"}
    [answer] = steps["answer_step_by_step"]
    used = [answer["input"]["passages"][number - 1]["title"] for number in answer["output"]["used_passages"]]
    assert used == ["Reason for the search", "Night Harbour", "Ada Brink"]  # the reason names the director
    command = ["eval", str(films), "--methods", "dsp", *model, *few, "--set", f"demonstrations={out}"]
    assert main([*command, "--out", str(tmp_path / "run")]) == 0


def test_without_a_right_answer_there_is_no_worked_example(
    films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = ("--model", f"rehearsal:{films}?error=1", "--limit", "1")
    assert main(["build", "dsp", str(films), "--out", str(tmp_path / "examples"), *wrong]) == 1
    assert "no question was answered right from cited passages" in capsys.readouterr().err
