"""The guides are true: their code and commands run, and the table of nodes has what the nodes read and write."""

import csv
import inspect
import json
import re
import shlex
import shutil
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml
from langgraph.graph import StateGraph

from hopgraph.graphs import ALIASES, METHODS, migres
from hopgraph.nodes.prepare import prepare_for
from hopgraph.nodes.sentence_filter import sentence_filter
from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.evaluation.study_model import make_study
from support.node_keys import NodeKeys, name_of, nodes_in
from support.own_methods import forget_added_methods
from support.paths import ROOT

CHANGE = (ROOT / "docs" / "change_one_step.md").read_text(encoding="utf-8")
NODES = (ROOT / "docs" / "nodes.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", CHANGE, re.DOTALL | re.MULTILINE)
ROWS = {
    name: (set(re.findall(r"`(\w+)`", reads)), writes)
    for name, reads, writes in re.findall(r"^\| `([\w.]+)` \| (.*?) \| (.*?) \|$", NODES, re.MULTILINE)
}
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w+).*?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RUN_ELSEWHERE = {"embedding.md": "tests/test_embedding.py", "multi_agent.md": "tests/graphs/test_multi_agent.py"}
"""Pages whose code needs servers or scripted agents, and the tests that run it."""
NOT_RUN = {
    "python3 -m venv": "CI makes such an environment",
    "pip install": "CI installs the extras",
    "/opt/hopgraph/bin/": "needs an installation in /opt",
    "vllm serve": "needs a GPU",
    "export ": "belongs to `vllm serve`, or names a model behind a key",
    "docker ": "needs Docker",
    "hopgraph train": "needs torch; tests/tools/students trains",
    "hopgraph check-student": "needs what `hopgraph train` makes",
    "hopgraph chat": "does not end; CI starts it",
    "ann=": "makes keys for `hopgraph chat`",
    "HOPGRAPH_API_KEY=": "sets them",
    "hopgraph eval hub:": "asks the hub for data",
    'hopgraph eval "hub:': "asks the hub for data",
    "hopgraph reproduce": "asks the hub for data",
    "hopgraph compare runs/plain": "needs runs on data of the hub",
}
"""How commands begin that are not run, and why; every other one is."""
NOT_CODE = {
    "ini": "needs systemd",
    "nginx": "needs nginx",
    "mermaid": "tests/graphs/test_drawings.py",
    "text": "tests/tools/apps/evaluation/test_data_formats.py",
    "yaml": "written to a file below, or parsed",
    "toml": "written to a file below",
}
PRINTED = {
    "company_chat.md": ["F1"],
    "documents.md": ["27", "Mara Lindqvist"],
    "measure.md": ["F1"],
    "nodes.md": ["Guadalajara"],
    "watch.md": ["to approve", "Pablo Picasso"],
    "change_one_step.md": ["Guadalajara", "Pablo Picasso", "Who painted Guernica?"],
    "paper_table.md": [
        "8 runs",
        ": sample, first 2",
        ": sample, first 6",
        "What differs between the runs",
        "sample+offline+top_k=5 {'one_step': ",
    ],
    "replay_and_fork.md": ["('review',)", "Guadalajara", "next: prepare"],
    "which_method.md": ["Guadalajara", "unbeaten (model calls)", "use it: --method cascade"],
    "your_own_method.md": ["Fritz Lang", "checked_answer"],
}
"""What a page's code and commands print, among other things."""
GOLD = [{"title": "Guernica", "text": "Guernica was painted by Pablo Picasso."}]
QUESTION: Any = {"question": "Who painted Guernica?"}


@pytest.mark.parametrize("number", [0, 1, 2], ids=["decision", "guardrail", "queries"])
def test_each_example_changes_what_the_method_does(number: int) -> None:
    """With its step in place, a run takes other steps or gives something else, where the rule applies."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(PYTHON[number], "change_one_step.md", "exec"), names)  # noqa: S102 - our own page
    graph, context = names["graph"], {"recall": False}
    if number == 0:
        assert graph.invoke(QUESTION, context=context)["usage"]["iterations"] >= 1
        one = {"max_iterations": 3, "top_k": 1}
        plain = migres.graph.invoke(QUESTION, context=one)["usage"]["iterations"]
        assert graph.invoke(QUESTION, context=one)["usage"]["iterations"] > plain
    elif number == 1:
        assert "own_documents_only" in graph.get_graph().nodes
        found = names["own_documents_only"](
            {
                "passages": [{"id": "1", "source": "https://a.example"}, {"id": "2", "source": "a.md"}],
                "drafts": [{"passage_ids": ["1", "2"]}, {"passage_ids": ["2"]}],
            }
        )
        assert found == {"drafts": [{"passage_ids": ["2"]}]}
    else:
        updates = list(graph.stream(names["question"], context=context, stream_mode="updates"))
        [written, *_] = [each["generate_queries"] for each in updates if "generate_queries" in each]
        assert written.keys() == {"queries", "iteration"}
        assert re.fullmatch(r"([A-Z]\S+ ?)+", written["queries"][0]["text"])


def methods() -> list[str]:
    return sorted(METHODS.keys() - ALIASES.keys())


def test_every_node_is_in_the_table() -> None:
    names = {
        name_of(node)
        for method in methods()
        for node in nodes_in(METHODS[method].build())
        if not (node.name or "").startswith("review_")
    }
    assert names == ROWS.keys()


def test_every_function_that_makes_a_node_is_there_with_its_parameters() -> None:
    found = {
        f"{path.stem}.{name}": [*inspect.signature(maker).parameters]
        for path in (ROOT / "nodes").glob("*.py")
        for name, maker in vars(import_module(f"hopgraph.nodes.{path.stem}")).items()
        if re.fullmatch(r"make_\w+_node", name) and maker.__module__ == f"hopgraph.nodes.{path.stem}"
    }
    listed = re.findall(r"^\| `([\w.]+)\((.*?)\)` \|", NODES, re.MULTILINE)
    assert {name: given.split(", ") for name, given in listed} == found


@pytest.mark.parametrize("method", methods())
async def test_the_table_has_what_the_nodes_read_and_write(method: str) -> None:
    if method == "skr_knn":
        pytest.skip("needs labeled questions; its nodes but one are those of self_rag")
    keys = NodeKeys()
    context = {"gold_passages": GOLD} if method == "gold_passages" else {}
    graph = keys.watch(import_module(METHODS[method].place.place).build()).compile()
    await graph.ainvoke(QUESTION, context={"model": "offline:extractive", **context})
    assert keys.writes
    for name, written in keys.writes.items():
        if name in ROWS and name != "prepare.prepare":
            reads, writes = ROWS[name]
            row = f"| `{name}` | {sorted(keys.reads[name])} | {sorted(written)} |"
            assert keys.reads[name] - {"started_at"} <= reads, row
            assert written <= set(re.findall(r"`(\w+)`", writes)), row


async def test_a_node_in_a_plain_graph_names_the_key_that_is_missing() -> None:
    builder: Any = StateGraph(migres.MigresState, context_schema=migres.Context)
    builder.add_node("sentence_filter", sentence_filter).set_entry_point("sentence_filter")
    with pytest.raises(KeyError, match=r"^'(candidates|passages)'\nDuring task with name 'sentence_filter'"):
        await builder.compile().ainvoke(QUESTION, context=migres.Context())
    builder = StateGraph(migres.MigresState, context_schema=migres.Context)
    builder.add_sequence([("prepare", prepare_for(migres.MigresState)), ("sentence_filter", sentence_filter)])
    assert await builder.set_entry_point("prepare").compile().ainvoke(QUESTION, context=migres.Context())


WHICH = (ROOT / "docs" / "which_method.md").read_text(encoding="utf-8")
MEASURED = re.findall(r"^\| `(\w+)` \| [\d.]+ \| (\S+ \[.*?\]) \|.*\| ([\d.]+) \|$",
    (ROOT / "docs" / "language_model.md").read_text(encoding="utf-8"), re.MULTILINE)  # fmt: skip


def test_the_page_on_choosing_has_the_figures_of_the_run_and_marks_its_frontier() -> None:
    shown = re.findall(r"^\| `(\w+)` \| (\S+ \[.*?\]) \| ([\d.]+) \|(.*?)\|$", WHICH, re.MULTILINE)
    assert {row[:3] for row in shown} == {row for row in MEASURED if row[0] != "gold_passages"}
    points = {name: (float(calls), -float(f1.split()[0])) for name, f1, calls, _ in shown}
    unbeaten = {
        name
        for name, (calls, f1) in points.items()
        if not any((x, y) != (calls, f1) and x <= calls and y <= f1 for x, y in points.values())
    }
    assert {name for name, *_, mark in shown if mark.strip() == "✓"} == unbeaten
    assert [*points.values()] == sorted(points.values())


def test_the_page_on_choosing_computes_its_cascades_from_the_answers() -> None:
    with (ROOT / "docs" / "language_model.csv").open(encoding="utf-8", newline="") as file:
        answers = {(row["method"], row["dataset"], row["id"]): row for row in csv.DictReader(file)}
    cascades = re.findall(r"^\| `(\w+)`, `(\w+)` \| ([\d.]+) \| ([\d.]+) \|$", WHICH, re.MULTILINE)
    assert len(cascades) == 2
    asked = {key[1:] for key in answers}
    for first, second, f1, calls in cascades:
        runs = [[answers[name, *question] for name in (first, second)] for question in asked]
        runs = [steps[: 1 + len([*takewhile(lambda row: not row["answer"], steps[:1])])] for steps in runs]
        assert f1 == f"{100 * sum(float(steps[-1]['f1']) for steps in runs) / len(runs):.1f}"
        assert calls == f"{sum(int(row['llm_calls']) for steps in runs for row in steps) / len(runs):.1f}"
    own = [row for key, row in answers.items() if key[0] == "one_step" and row["answer"]]
    assert f"answered {len(own)} of the 36 questions" in WHICH
    assert f"with an F1 of {100 * sum(float(row['f1']) for row in own) / len(own):.0f}" in WHICH.replace("\n ", "")
    best = [max(float(answers[name, *each]["f1"]) for name in ("one_step", "react", "migres")) for each in asked]
    assert f"only from 85.6 to {100 * sum(best) / len(best):.1f}." in WHICH


def hotpotqa(key: str, name: str) -> str:
    """A file of one question in HotpotQA's format."""
    facts = [[title, [f"{title} was painted by {name}."]] for title in ("Guernica", "The Pier", "The Harbour")]
    question = {"_id": key, "question": f"Who painted Guernica, {name}?", "answer": name, "type": "bridge"}
    return json.dumps([{**question, "level": "hard", "supporting_facts": [["Guernica", 0]], "context": facts}])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with the files that the guides speak of."""
    forget_added_methods(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_documents").mkdir()
    (tmp_path / "my_documents" / "handbook.md").write_text("# Vacation\n\nEmployees get 27 days.\n")
    own = {"question": "How many vacation days do employees get?", "answer": "27"}
    (tmp_path / "my_questions.jsonl").write_text(json.dumps(own))
    (tmp_path / "hotpot_train.json").write_text(hotpotqa("a", "Pablo Picasso"))
    (tmp_path / "hotpot_dev.json").write_text(hotpotqa("b", "Mara Lindqvist"))
    paper = BLOCK.findall((ROOT / "docs" / "paper_table.md").read_text(encoding="utf-8"))
    (tmp_path / "study.yaml").write_text(next(text for kind, text in paper if kind == "yaml"))
    (tmp_path / "prices.toml").write_text(next(text for kind, text in paper if kind == "toml"))
    return shutil.copytree(ROOT / "examples" / "checked_answer", tmp_path, dirs_exist_ok=True)


LONG_PAGES = ("which_method.md", "paper_table.md")
"""Their evaluations take many seconds; the second one has a test that reads what it writes, too."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in LONG_PAGES else [])
        for page in PAGES
        if page.name != "paper_table.md"
    ],
)
def test_what_a_page_shows_runs(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its Python and its commands run in order, in one folder and one namespace, but for those with a reason not to."""
    if page.name in RUN_ELSEWHERE:
        assert f'"{page.name}"' in (ROOT / RUN_ELSEWHERE[page.name]).read_text(encoding="utf-8")
        return
    names: dict[str, Any] = {"__name__": "__main__"}
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)  # noqa: S102 - our own page
        elif kind == "sh":
            for command in commands_in(text):
                if not command.startswith(tuple(NOT_RUN)):
                    assert main(shlex.split(command)[1:]) == 0, command
        else:
            assert kind in NOT_CODE, f"```{kind} neither runs nor has a reason not to"
    printed = capsys.readouterr().out
    assert [each for each in PRINTED.get(page.name, []) if each not in printed] == []


def commands_in(block: str) -> list[str]:
    return [re.split(r"\s+# ", line)[0].strip() for line in block.splitlines() if line.strip()]


COMMANDS = sorted(
    {
        command
        for page in [ROOT / "README.md", *PAGES]
        for kind, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        for command in (commands_in(text) if kind == "sh" else [])
    }
)


def test_each_reason_not_to_run_a_command_has_a_command() -> None:
    assert [start for start in NOT_RUN if not any(command.startswith(start) for command in COMMANDS)] == []


def test_commands_and_options_of_all_pages_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    @cache
    def help_of(*name: str) -> str:
        assert main([*name, "--help"]) == 0
        return capsys.readouterr().out

    for command in COMMANDS:
        if command.startswith("hopgraph "):
            words = shlex.split(command)
            shown = help_of(*(words[1:3] if words[1] in ("build", "study") else words[1:2]))
            assert [each for each in words if each.startswith("--") and each not in shown] == [], command


@pytest.mark.slow
def test_what_the_page_on_a_paper_s_table_writes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test_what_a_page_shows_runs(ROOT / "docs" / "paper_table.md", folder, capsys)
    tex = (folder / "table.tex").read_text()
    assert all(name in tex for name in ("migres", "first", "second", r"$\pm$"))
    paper = BLOCK.findall((ROOT / "docs" / "paper_table.md").read_text(encoding="utf-8"))
    study, larger = (yaml.safe_load(text) for kind, text in paper if kind == "yaml")
    assert make_study({**study, **larger}).max_cost


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_what_it_is_for_and_what_to_read_next(page: Path) -> None:
    title, first, *_, last = [part for part in page.read_text(encoding="utf-8").split("\n\n") if part.strip()]
    assert title.startswith("# ")
    assert first[0].isalpha(), first
    assert re.match(r"Next: \[", last), last


def test_the_reference_has_all_that_pages_import() -> None:
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8") + (ROOT / "docs" / "events.md").read_text()
    described = re.findall(r"^::: (\S+)", reference, re.MULTILINE)
    missing: set[str] = set()
    for page in [ROOT / "README.md", *PAGES]:
        for module, imported in re.findall(r"^from (hopgraph\S*) import (.+)$", page.read_text("utf-8"), re.MULTILINE):
            for name in imported.split(", "):
                thing: Any = getattr(import_module(module), name, None) or import_module(f"{module}.{name}")
                places = {module, f"{module}.{name}", f"{getattr(thing, '__module__', '')}.{name}"}
                owner = thing if inspect.ismodule(thing) else inspect.getmodule(thing)
                places |= {owner.__name__} if owner else set()
                if not places & {*described} and not module.startswith("hopgraph.nodes"):  # the page of nodes
                    missing.add(f"{module}.{name}")
    assert missing == set()
