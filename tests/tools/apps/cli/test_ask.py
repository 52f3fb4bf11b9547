import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from hopgraph.graphs import migres
from hopgraph.state.events import event_order
from hopgraph.tools.apps.cli import console
from hopgraph.tools.apps.cli.run_output import print_header
from hopgraph.tools.apps.runs.answer_record import answer_record
from hopgraph.tools.models.offline import RuleBasedModel

Run = Callable[..., Any]
QUESTION = "Which film was released first, Metropolis or Nosferatu?"


def test_the_first_lines_name_the_stand_in_method_model_and_corpus(run: Run) -> None:
    ran = run("ask", QUESTION)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("No language model set; ")
    assert lines[1] == "MIGRES · model offline:extractive · corpus sample (bundled sample)"


def test_long_runs_are_abridged_unless_verbose(run: Run) -> None:
    asked = "In which city was the director of the film Pan's Labyrinth born?"
    folded, whole = run("ask", asked).out, run("ask", asked, "--verbose").out
    assert re.search(r"\n… \d+ more lines of steps; --verbose shows all\n\nThe run\n", folded)
    assert re.search(r"\n… \d+ more lines; --verbose shows all\n\nAnswer ", folded)
    assert len(folded.splitlines()) < 150 < len(whole.splitlines())
    assert "--verbose shows" not in whole


def test_the_first_line_shows_no_key() -> None:
    shown = io.StringIO()
    settings = migres.Context(
        model="openai:m?base_url=http://user:hush1@h/v1",
        models={"migres/decide": "openai:m?base_url=http://user:hush2@h/v1", "migres/extract": RuleBasedModel()},
        retriever="milvus:http://user:hush3@h#c",
        second_retriever="milvus:http://user:hush4@h#c",
    )
    print_header(Console(file=shown, width=500), "MIGRES", settings)
    assert "hush" not in shown.getvalue()
    assert shown.getvalue().count("user:[key]@h") == 4
    assert "migres/extract: RuleBasedModel" in shown.getvalue()


def test_steps_come_before_the_answer_and_its_numbered_citations(run: Run) -> None:
    out = run("ask", QUESTION).out
    steps = ["search", "found", "filter", "extract", "verify", "decide"]
    order = ["\nIteration 1\n", *(f"\n  {step} " for step in steps), "\nAnswer ", "\n[1] ", "\n    “"]
    places = [out.index(start) for start in order]
    assert places == sorted(places)
    assert f"  search   {QUESTION}" in out
    assert " passages: " in out
    assert " model calls · " in out


def test_output_fits_the_terminal_without_trailing_spaces(run: Run) -> None:
    out = run("ask", QUESTION, "--verbose").out
    assert "\x1b" not in out
    assert all(len(line) <= 80 and line == line.rstrip() for line in out.splitlines())


def test_json_is_one_object_with_an_ordered_trace(run: Run) -> None:
    ran = run("ask", f"  {QUESTION}\n", "--json", "--set", "max_iterations=2", "--preset", "multi_hop")
    assert (ran.code, ran.err) == (0, "")
    record = json.loads(ran.out)
    assert record["question"] == QUESTION
    assert (record["method"], record["model"], record["retriever"]) == ("migres", "offline:extractive", "sample")
    assert record["settings"]["max_iterations"] == 2
    assert record["version"]
    assert {"llm_calls", "prompt_tokens", "completion_tokens", "retrievals", "passages"} < record["usage"].keys()
    assert {"parse_failures", "iterations"} < record["usage"].keys()
    assert record["stop_reason"] in {"answered", "max_iterations", "unanswerable"}
    assert record["trace"] == sorted(record["trace"], key=event_order)
    assert (record["trace"][0]["event"], record["trace"][-1]["event"]) == ("query", "answered")


def test_quiet_prints_only_the_answer_and_its_sources(run: Run) -> None:
    ran = run("ask", QUESTION, "--quiet")
    record = json.loads(run("ask", QUESTION, "--json").out)
    assert ran.out.splitlines()[0] == record["answer"]
    assert "search" not in ran.out
    assert "MIGRES · model offline:extractive" in ran.err


def test_verbose_shows_every_model_call(run: Run) -> None:
    usage = json.loads(run("ask", QUESTION, "--json").out)["usage"]
    out = run("ask", QUESTION, "--verbose").out
    assert out.count("\n  call ") == usage["llm_calls"]


def test_a_missing_answer_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Cobalt is a metal.", encoding="utf-8")
    index = str(tmp_path / "index")
    assert run("index", str(tmp_path / "one.txt"), "--out", index).code == 0
    ran = run("ask", "Who wrote the opera about the lighthouse keeper?", "--corpus", index)
    assert ran.code == 0
    assert "\nNo answer\n" in ran.out
    assert "[1]" not in ran.out
    assert f"corpusbm25:{index}" in "".join(ran.out.split())  # the terminal wraps a long path
    assert "\nended without an answer · " in ran.out


def test_the_question_can_be_read_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{QUESTION}\n".encode())))
    assert json.loads(run("ask", "-", "--json").out)["question"] == QUESTION


def test_markup_and_escape_sequences_in_a_corpus_are_harmless(run: Run, tmp_path: Path) -> None:
    text = "The [bold]Zorblatt[/] bridge \x1b[31mstands[/nonsense] in \u202eKaunas\x07 [link=http://x]here[/link]."
    (tmp_path / "corpus.jsonl").write_text(
        json.dumps({"_id": "[/]\x1b[2J", "title": "[red]Zorblatt[/] \x1b]0;t\x07bridge", "text": text}),
        encoding="utf-8",
    )
    index = str(tmp_path / "[index]")
    assert run("index", str(tmp_path / "corpus.jsonl"), "--out", index).code == 0
    for output in ((), ("--verbose",), ("--quiet",)):
        ran = run("ask", "In which city does the Zorblatt bridge stand?", "--corpus", index, *output)
        assert ran.code == 0
        assert "[red]Zorblatt[/]" in ran.out
        assert "[bold]Zorblatt[/] bridge" in " ".join(ran.out.split())
        assert not set("\x1b\x07\u202e") & set(ran.out + ran.err)


def test_the_record_has_no_nan_and_no_keys() -> None:
    state = {
        "question": "q",
        "answer": "",
        "markdown": False,
        "explanation": "",
        "citations": [],
        "stop_reason": "unanswerable",
        "usage": {},
    }
    settings = migres.Context(model="openai:m?base_url=http://user:hush@h/v1", models={"migres": "openai:sk-abcdef123"})
    trace: Any = [{"data": {"threshold": float("-inf"), "scores": (1.0, float("nan"))}}]
    record = answer_record(settings, state, trace)
    text = json.dumps(record, allow_nan=False)
    assert record["trace"] == [{"data": {"threshold": None, "scores": [1.0, None]}}]
    assert "hush" not in text
    assert "abcdef123" not in text


@pytest.mark.parametrize(
    ("encoding", "escaped"), [("ascii", True), ("utf-8", False), ("UTF8", False), ("latin-1", True)]
)
def test_json_works_in_every_encoding(encoding: str, escaped: bool, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    out = io.TextIOWrapper(written, encoding=encoding)
    monkeypatch.setattr(console, "sys", SimpleNamespace(stdout=out))
    assert run("ask", "Where was Dvořák born?", "--json", "--set", "max_iterations=1").code == 0
    out.flush()
    raw = written.getvalue()
    assert json.loads(raw.decode(encoding))["question"] == "Where was Dvořák born?"
    assert ("ř".encode() in raw) is not escaped
