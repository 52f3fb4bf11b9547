"""The example of a custom method, by path and by the name from its package, in every command."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import httpx
import pytest

from hopgraph.graphs import METHODS
from support.own_methods import ASKING, PLAIN, VARIANT, forget_added_methods
from support.paths import ROOT, SAMPLE
from support.servers.web_app import chat_process
from support.waiting import PATIENCE

Run = Callable[..., Any]
EXAMPLE = ROOT / "examples" / "checked_answer"
QUESTION = "In what year did the sculptor of the Statue of Liberty die?"


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_added_methods(monkeypatch)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example in a separate working directory, with other graphs."""
    folder = tmp_path / "mine"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "plain.py").write_text(PLAIN, "utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_the_example_works_by_its_path(run: Run, mine: Path) -> None:
    asked = json.loads(run("ask", QUESTION, "--method", "checked_answer.py", "--set", "max_tries=1", "--json").out)
    assert (asked["method"], asked["settings"]["max_tries"]) == ("checked_answer", 1)
    assert [each["event"] for each in asked["trace"]].count("checked") == 1
    assert "step     checked · first: " in run("ask", QUESTION, "--method", "checked_answer.py").out
    shown = run("methods", "checked_answer.py").out
    assert "max_tries" in shown
    assert "checked_answer/verify" in shown
    assert "try again" in run("draw", "checked_answer.py").out
    assert run("prompts", "checked_answer.py", "--out", "copies").code == 0
    assert {path.name for path in Path("copies").rglob("*.md")} >= {"answer.md", "verify.md"}
    assert run("ask", QUESTION, "--method", "checked_answer.py", "--set", "prompts_dir=copies", "--quiet").code == 0


def test_a_custom_method_is_evaluated_with_the_others(run: Run, mine: Path) -> None:
    methods = "checked_answer.py,plain.py,one_step"
    model = ("--model", "offline:extractive")
    command = ("eval", str(SAMPLE), "--methods", methods, "--out", "runs", "--limit", "2", *model)
    ran = run(*command)
    assert ran.code == 0, ran.err
    manifest = json.loads(Path("runs/manifest.json").read_text("utf-8"))
    assert manifest["methods"]["plain"]["model"] == "its own"
    assert manifest["code"].keys() == {"checked_answer", "plain"}
    assert "Against plain" in run("compare", "runs", "--against", "plain.py").out
    shown = run("show", "runs", "q01", "--method", "checked_answer.py").out
    assert shown.startswith("Checked answer · model")
    assert "6 of 6 are finished" in " ".join(run(*command).err.split())
    estimate = run(*command, "--estimate")
    assert "what plain asks by itself" in " ".join(estimate.out.split())


def test_a_variant_is_a_method_named_after_its_file(run: Run, mine: Path) -> None:
    Path("noted.py").write_text(VARIANT, "utf-8")
    ways = ("--method", "noted.py", "--set", "max_llm_calls=9", "--set", "demonstrations=multi_hop")
    asked = json.loads(run("ask", QUESTION, *ways, "--json").out)
    assert (asked["method"], asked["settings"]["max_llm_calls"]) == ("noted", 9)
    assert asked["usage"]["llm_calls"] > 0
    assert "noted/answer_step_by_step" in run("methods", "noted.py").out
    assert run("prompts", "noted.py", "--out", "copies").code == 0
    assert run("prompts", "blendfilter", "--out", "theirs").code == 0
    copied, theirs = (sorted(Path(each).rglob("*.*")) for each in ("copies", "theirs"))
    assert [path.read_bytes() for path in copied] == [path.read_bytes() for path in theirs]
    assert run("draw", "noted.py").out == run("draw", "blendfilter").out
    command = ("eval", str(SAMPLE), "--methods", "noted.py,noted.py:other,blendfilter", "--out", "runs", "--limit", "2")
    ran = run(*command, "--model", "offline:extractive")
    assert ran.code == 0, ran.err
    outcomes = [
        each
        for path in Path("runs/results").iterdir()
        for each in map(json.loads, path.read_text("utf-8").splitlines())
    ]
    noted, other, theirs = (
        {each["id"]: each["answer"] for each in outcomes if each["method"] == name}
        for name in ("noted", "other", "blendfilter")
    )
    assert noted == other == theirs
    assert len(noted) == 2


def test_interrupts_of_a_graph_are_asked_on_the_terminal(run: Run, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("asking.py").write_text(ASKING, "utf-8")
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"the second\n")))
    asked = run("ask", "Who?", "--method", "asking.py", "--set", "max_llm_calls=9", "--quiet")
    assert '{"which": "one or two?"}' in asked.err
    assert asked.out.startswith("the second")


def test_a_run_is_not_resumed_with_changed_code(run: Run, mine: Path) -> None:
    command = ("eval", str(SAMPLE), "--methods", "plain.py", "--out", "runs", "--limit", "1")
    assert run(*command).code == 0
    changed = mine / "other" / "plain.py"
    changed.parent.mkdir()
    changed.write_text(f"{PLAIN}\n# changed\n", "utf-8")
    for name in ("_places", "_loaded"):
        del METHODS.__dict__[name]["plain"]
    ran = run("eval", str(SAMPLE), "--methods", str(changed), "--out", "runs", "--limit", "1")
    assert ran.code == 1
    assert "code.plain was" in ran.err


def test_reading_a_run_loads_no_code(run: Run, mine: Path) -> None:
    Path("evil.py").write_text("open('ran', 'w').close()", "utf-8")
    assert run("ask", QUESTION, "--method", "direct", "--save", "run.json", "--quiet").code == 0
    record = json.loads(Path("run.json").read_text("utf-8"))
    Path("run.json").write_text(json.dumps({**record, "method": "evil.py"}), "utf-8")
    assert run("draw", "--run", "run.json").out.startswith("evil.py")
    assert not Path("ran").exists()


def test_custom_methods_are_added_to_the_papers_tables(run: Run, mine: Path) -> None:
    ran = run("reproduce", "tor/table5", "--method", "plain.py", "--dataset", str(SAMPLE), "--dry-run")
    (line,) = [line for line in ran.out.splitlines() if "plain" in line]
    assert f"--methods {mine / 'plain.py'}:graph" in line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("ask", "Who?", "--method", "plain.py", "--model", "offline:extractive"),
            "'model' has no effect: the graph of",
        ),
        (("prompts", "plain.py", "--out", "copies"), "plain.py has no prompts to copy"),
        (("ask", "Who?", "--method", "gone.py"), "gone.py: there is no such file"),
        (("mcp", "--method", "gone.py"), "gone.py: there is no such file"),
        *(
            pytest.param((each, "--method", "gone.py"), "gone.py: there is no such file", marks=pytest.mark.slow)
            for each in ("chat", "serve")
        ),
    ],
)
def test_errors_in_custom_methods_are_one_line(run: Run, mine: Path, arguments: tuple[str, ...], told: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1


def started(*arguments: str, cwd: Path, **environment: str) -> str:
    """Run the command line in a separate process."""
    command = [sys.executable, "-c", "from hopgraph.tools.apps.cli import script; script()", *arguments]
    given = {**os.environ, **environment, "COLUMNS": "200"}
    ran = subprocess.run(command, cwd=cwd, env=given, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.long
def test_the_installed_example_by_name_in_several_processes(
    tmp_path: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(installed), str(mine)], check=True, capture_output=True)
    work = tmp_path / "work"
    work.mkdir()
    (work / "plain.py").write_text(PLAIN, "utf-8")
    found = {"PYTHONPATH": str(installed)}
    assert "checked_answer" in started("methods", cwd=work, **found)
    asked = started("ask", QUESTION, "--method", "checked_answer", cwd=work, **found)
    assert "checked · first: " in asked
    asked = started("ask", QUESTION, "--method", "checked_answer", cwd=mine, **found)  # where there is such a file
    assert "checked · first: " in asked
    asked = started("ask", QUESTION, "--method", "checked_answer.py", cwd=mine, **found)
    assert "checked · first: " in asked
    methods = "checked_answer,plain.py,one_step"
    options = ("--out", "runs", "--limit", "4", "--processes", "2")
    table = started("eval", str(SAMPLE), "--methods", methods, *options, cwd=work, **found)
    assert [line.split()[:2] for line in table.splitlines()[-3:]] == [
        [each, "4"] for each in ("checked_answer", "plain", "one_step")
    ]
    assert "checked_answer" in started("compare", "runs", cwd=work, **found)
    assert "Checked answer ·" in started("show", "runs", "q01", "--method", "checked_answer", cwd=work, **found)
    monkeypatch.chdir(work)
    with chat_process(work, "--method", "checked_answer", environment=found) as chat:
        for model in ("auto", "checked_answer"):  # "auto" is the method that it was started with
            body = {"model": model, "messages": [{"role": "user", "content": QUESTION}]}
            said = httpx.post(f"{chat.url}/v1/chat/completions", json=body, timeout=PATIENCE).json()
            assert said["hopgraph"]["method"] == "checked_answer"
            assert "checked · first: " in said["choices"][0]["message"]["reasoning_content"]


def test_a_rehearsal_lists_unknown_steps_and_uses_declared_replies(
    run: Run, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["eval", str(SAMPLE), "--methods", "checked_answer.py,one_step", "--limit", "2", "--model", "rehearsal"]
    told = run(*command, "--out", "unknown")
    assert told.code == 0, told.err
    assert "rehearsal does not know checked_answer/verify," in " ".join(told.err.split())
    other = shutil.copytree(mine, mine.parent / "other", ignore=shutil.ignore_patterns("unknown"))
    code = (other / "checked_answer.py").read_text("utf-8")
    own = '    steps = ("answer", "verify")\n    rehearsal_replies = {"verify": lambda player: {"answer": "not so"}}\n'
    (other / "checked_answer.py").write_text(code.replace('    steps = ("answer", "verify")\n', own), "utf-8")
    monkeypatch.chdir(other)
    for name in ("_places", "_loaded"):
        METHODS.__dict__[name].pop("checked_answer", None)
    ran = run(*command, "--out", "known")
    assert ran.code == 0, ran.err
    assert "does not know" not in ran.err
    checked = [
        [json.dumps(each) for each in json.loads(shown.out)["trace"] if each["event"] == "checked"]
        for folder in (mine / "unknown", other / "known")
        if (shown := run("show", str(folder), "1", "--method", "checked_answer", "--json"))
    ]
    assert [["not so" in each for each in every] for every in checked] == [[False], [True, True, True]]
