"""The page of results: its commands are valid, its tables complete, and its numbers those of a run."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
import typer

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.tools.apps.cli.app import app
from hopgraph.tools.apps.cli.evaluation.eval_command import EvalOptions, run_eval
from hopgraph.tools.apps.evaluation.datasets import read_questions
from support.paths import ROOT

PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
DATA_SETS = {
    "HotpotQA": "hotpotqa/train_100.json",
    "MuSiQue": "musique/train_100.jsonl",
    "2WikiMultihopQA": "2wikimultihopqa/train_200.json",
}
HUB = ('"hub:hotpotqa/hotpot_qa', "hub:dgslibisey/MuSiQue", "hub:framolfese/2WikiMultihopQA")
COMMANDS = re.findall(r"^hopgraph .+$", PAGE, re.MULTILINE)


def rows(section: str) -> dict[str, list[str]]:
    """Return the table of a section: method → cells."""
    lines = [line.strip("| ").split(" | ") for line in SECTIONS[section].splitlines() if line.startswith("| `")]
    return {name.strip("`"): cells for name, *cells in lines}


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_are_valid(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    command = typer.main.get_command(app)
    found = command.get_command(None, name)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    with found.make_context(name, list(arguments)) as context:  # pyright: ignore[reportUnknownMemberType]
        assert context.params
    if name == "eval":
        assert re.search(r"--model \"?rehearsal\b", line)


def test_there_is_a_command_for_each_data_set() -> None:
    assert [sum(f"eval {start}" in line for line in COMMANDS) for start in HUB] == [1, 3, 1]
    assert sum("reproduce migres/table" in line for line in COMMANDS) == 4


@pytest.mark.parametrize("section", DATA_SETS)
def test_tables_list_every_method_in_order(section: str) -> None:
    assert set(rows(section)) == METHODS.keys() - ALIASES.keys() - {"skr_knn"}  # a simulated model cannot label for it
    assert all(len(cells) == 7 for cells in rows(section).values())


def test_the_page_says_that_a_simulation_answered() -> None:
    told = " ".join(PAGE.split())
    assert told.index("No language model answered here") < told.index("|")
    assert "cannot be compared with a paper's numbers" in told


def test_the_sampled_questions_are_listed(shared_data: Path) -> None:
    with (ROOT / "docs" / "results_questions.csv").open(encoding="utf-8", newline="") as file:
        listed = [(row["dataset"], row["id"]) for row in csv.DictReader(file)]
    files = {Path(file).parent.name: shared_data / file for file in DATA_SETS.values()}
    found = {name: read_questions(file) for name, file in files.items()}
    assert listed == [(name, each.id) for name, questions in found.items() for each in questions]


@pytest.mark.long
def test_the_numbers_equal_those_of_a_run(shared_data: Path, tmp_path: Path) -> None:
    section = "MuSiQue"
    path = shared_data / DATA_SETS[section]
    options = EvalOptions(path, "one_step,react,gold_passages", tmp_path, model=f"rehearsal:{path}", limit=100)
    run_eval(options)
    summary = json.loads((tmp_path / "summary.json").read_text())
    for method, found in summary.items():
        exact, f1, grounded, recall, _, calls, tokens = rows(section)[method]
        shown = [exact, f1.partition(" ")[0], grounded, recall, calls]
        names = ("em", "f1", "grounded_f1", "recall@15")
        assert shown == [*(f"{100 * found[name]:.1f}" for name in names), f"{found['llm_calls']:.1f}"]
        assert tokens == f"{found['prompt_tokens']:,.0f} + {found['completion_tokens']:,.0f}"
