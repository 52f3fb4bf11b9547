"""`hopgraph eval`: results, resuming, interrupting, and one-line errors."""

import io
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hopgraph.graphs import METHODS
from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.evaluation import run_tables
from hopgraph.tools.apps.evaluation.batch.local_engine import RunTally
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.run_setup import RunSpec, prepare_run
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.models.offline import RuleBasedModel
from support.paths import SAMPLE
from support.servers.openai_server import OpenAIServer
from support.waiting import PATIENCE, wait_until

Run = Callable[..., Any]


def evaluate(out: Path, *more: str, methods: str = "one_step,migres") -> list[str]:
    return ["eval", str(SAMPLE), "--methods", methods, "--out", str(out), "--limit", "3", *more]


def test_eval_scores_and_the_same_command_resumes(run: Run, tmp_path: Path) -> None:
    ran = run(*evaluate(tmp_path / "run"))
    assert ran.code == 0, ran.err
    head, label, columns, *rows = ran.out.splitlines()
    assert "first 3: 3 questions" in head
    assert label == "answered by offline:extractive, which is not a language model"
    assert columns.split()[:3] == ["method", "n", "EM"]
    assert [row.split()[:2] for row in rows] == [["one_step", "3"], ["migres", "3"]]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["migres"]["n"] == 3
    again = run(*evaluate(tmp_path / "run"))
    assert again.out == ran.out
    assert "Resuming: 6 of 6 are finished" in again.err


@pytest.mark.slow
def test_the_frontier_is_marked_by_calls_and_by_cost(run: Run, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("[rehearsal]\nprompt = 1\ncompletion = 2\n")
    prices = ["--prices", str(tmp_path / "prices.toml")]
    methods = ["--methods", "one_step,react,migres,gold_passages", "--model", "rehearsal", "--frontier"]
    out = str(tmp_path / "run")
    ran = run("eval", str(SAMPLE), *methods, "--out", out, *prices)
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.partition("Frontier")[2].splitlines() if line]
    marked = {line[0]: line.count("✓") for line in lines if line[0] in METHODS}
    assert [*marked.items()] == [("gold_passages", 0), ("one_step", 2), ("react", 2), ("migres", 0)]
    compared = run("compare", out, *prices, "--figures", str(tmp_path / "figures"))
    assert compared.code == 0
    assert "Frontier (rehearsal: no language model)" in compared.out
    for name in ("quality-by-calls", "quality-by-cost"):
        drawn = (tmp_path / "figures" / f"{name}.svg").read_text()
        shown = re.findall(r"<!-- (\w+) -->", drawn)
        assert {name: shown.count(name) for name in ("one_step", "react", "migres")} == {
            "one_step": 2,
            "react": 2,
            "migres": 1,
        }
    assert "quality-by-cost" not in run("compare", out, "--figures", str(tmp_path / "plain")).out


def test_every_option_reaches_the_run(run: Run, tmp_path: Path) -> None:
    options = ["--sample", "random:7", "--skip", "1", "--repeat", "2", "--concurrency", "2", "--no-traces"]
    options += ["--format", "beir"]
    settings = ["--set", "max_llm_calls=9", "--set", "migres.max_iterations=2", "--add-contexts", "--corpus", "sample"]
    ran = run(*evaluate(tmp_path / "run", *options, *settings[:4]))
    assert ran.code == 0, ran.err
    reader = RunReader(tmp_path / "run")
    facts = reader.manifest
    assert (facts.dataset.sample, facts.repeats) == ("3 at random (seed 7) after the first 1", 2)
    assert facts.methods["one_step"]["max_llm_calls"] == 9
    assert facts.methods["migres"]["max_iterations"] == 2
    outcomes = list(reader.latest("migres").values())
    assert len(outcomes) == 6
    assert all(outcome["trace"] == [] for outcome in outcomes)
    refused = run(*evaluate(tmp_path / "other", *settings[4:]))
    assert (refused.code, refused.out) == (2, "")
    assert "--add-contexts adds to a local index" in refused.err


def test_progress_is_printed_as_lines_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tables, "_LINE_SECONDS", 0.01)
    shown = io.StringIO()
    with run_tables.run_progress(Console(file=shown), RunTally(total=1200, finished=34)):
        wait_until(lambda: "\n" in shown.getvalue())
    assert shown.getvalue().startswith("34 of 1,200 questions finished · 0 model calls (0.0/s) · 0 + 0 tokens\n")


def test_an_estimate_needs_no_key_and_leaves_no_folder(run: Run, tmp_path: Path) -> None:
    ran = run(*evaluate(tmp_path / "runs" / "first", "--model", "openai:gpt-4.1-mini", "--estimate"))
    assert ran.code == 0, ran.err
    assert "An estimate from the first 3 questions, answered by" in ran.out
    assert not (tmp_path / "runs").exists()
    assert run(*evaluate(tmp_path / "run", "--model", "openai:gpt-4.1-mini")).code == 2, "a run needs one"


def test_the_rehearsal_model_plays_the_data_set_of_the_run(run: Run, tmp_path: Path) -> None:
    ran = run(*evaluate(tmp_path / "run", "--model", "rehearsal?error=0.1", methods="direct"))
    assert ran.code == 0, ran.err
    settings = RunReader(tmp_path / "run").manifest.methods["direct"]
    assert settings["model"] == f"rehearsal:{SAMPLE}?error=0.1"


@pytest.mark.parametrize(
    ("title", "code", "gold_by"), [("Night Harbour", 2, None), ("Guernica (painting)", 0, "titles")]
)
def test_a_corpus_without_any_gold_passage_is_refused(
    title: str, code: int, gold_by: str | None, run: Run, tmp_path: Path
) -> None:
    record = {"_id": "1", "question": "Who painted Guernica?", "answer": "Pablo Picasso", "type": "bridge"}
    gold = {"supporting_facts": [[title, 0]], "context": [[title, ["It is one."]]]}
    dataset, out = tmp_path / "hotpot.jsonl", tmp_path / "run"
    dataset.write_text(json.dumps({**record, **gold}))
    ran = run("eval", str(dataset), "--methods", "one_step", "--corpus", "sample", "--out", str(out))
    assert ran.code == code
    refused = "has none of the 1 gold passages of hotpot.jsonl by id (" in ran.err
    assert (refused and "title ('Night Harbour'), text ('It is one.')" in ran.err) == bool(code)
    assert out.exists() != bool(code)
    if gold_by:
        assert RunReader(out).manifest.corpus.gold_by == gold_by


def test_all_methods_exclude_the_one_that_needs_gold_passages(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"question": "Who painted Guernica?", "answer": "Picasso"}\n')
    methods = {name: METHODS[name].Context() for name in ("one_step", "gold_passages")}
    spec = RunSpec(mine, methods, tmp_path / "run", corpus="sample", all_methods=True)
    prepared = prepare_run(spec)
    said = "gold_passages needs gold passages, and the data set has none for the question '1'"
    assert (prepared.skipped["questions"].notes, [*prepared.methods]) == ([f"Left out: {said}."], ["one_step"])
    with pytest.raises(SettingsError, match=f"{said}; leave it out"):
        prepare_run(replace(spec, all_methods=False))


def test_questions_by_id(run: Run, tmp_path: Path) -> None:
    chosen = [*read_questions(SAMPLE)][2].id
    arguments = ["eval", str(SAMPLE), "--methods", "direct", "--out", str(tmp_path / "one"), "--id", chosen]
    assert run(*arguments).code == 0
    assert [each.id for each in RunReader(tmp_path / "one").questions()] == [chosen]


@pytest.mark.parametrize(
    ("more", "methods", "code", "said"),
    [
        ([], "migres,nope", 2, "method 'nope' is unknown"),
        ([], ",", 2, "--methods is empty"),
        (["--set", "nonsense=1"], "migres", 2, "none of the methods migres has this setting"),
        (["--preset", "nonsense"], "migres", 2, "preset 'nonsense' is unknown"),
        (["--model", "nonsense"], "migres", 2, "unknown model 'nonsense'"),
        (["--sample", "last"], "migres", 2, "sample 'last' is unknown"),
        (["--max-cost", "1"], "migres", 2, "max_cost needs prices"),
        (["--format", "nonsense"], "migres", 2, "nonsense"),
        (["--concurrency", "0"], "migres", 2, "greater than or equal to 1"),
        (["--corpus", "no-such-folder"], "migres", 1, "no-such-folder"),
    ],
)
def test_errors_are_one_line(run: Run, tmp_path: Path, more: list[str], methods: str, code: int, said: str) -> None:
    ran = run(*evaluate(tmp_path / "run", *more, methods=methods))
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1, ran.err
    assert not (tmp_path / "run" / "manifest.json").exists()


def interrupted(process: "subprocess.Popen[str]") -> str:
    """Press Ctrl-C once; return standard error, with all threads' stacks if the process does not end."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        raise AssertionError(f"it did not end:\n{process.communicate()[1]}") from None


@pytest.mark.parametrize(
    ("command", "run_it"), [("eval", "eval_command.run_eval"), ("reproduce", "reproduce_command.run_reproduce")]
)
def test_an_interrupted_run_says_how_to_resume(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, run_it: str
) -> None:
    def interrupt(_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"hopgraph.tools.apps.cli.evaluation.{run_it}", interrupt)
    ran = run(*(evaluate(Path("out")) if command == "eval" else ["reproduce"]))
    said = "hopgraph: interrupted; finished work is kept; run the same command to resume\n"
    assert (ran.code, ran.out, ran.err) == (130, "", said)


@pytest.mark.slow
def test_ctrl_c_keeps_finished_questions_and_the_same_command_resumes(script: list[str], tmp_path: Path) -> None:
    with OpenAIServer(RuleBasedModel(), latency=0.2) as server:
        out = tmp_path / "run"
        model = ["--model", f"openai:any?base_url={server.base_url}", "--concurrency", "1"]
        command = [*script, *evaluate(out, *model, methods="one_step,migres")]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        )
        results, deadline = out / "results" / "one_step.jsonl", time.monotonic() + PATIENCE
        while not (results.exists() and results.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.02)
        said = interrupted(process)
        assert process.returncode == 130
        assert said.splitlines()[-1].endswith("interrupted; finished work is kept; run the same command to resume")
        assert "Traceback" not in said
        asked = len(server.requests)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        assert "Resuming:" in done.stderr
        assert len(server.requests) > asked
    assert [len(RunReader(out).latest(name)) for name in ("one_step", "migres")] == [3, 3]
