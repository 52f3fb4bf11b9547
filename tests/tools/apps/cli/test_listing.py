import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import ALIASES, METHODS, migres
from hopgraph.graphs.registry import find_paper
from hopgraph.tools.prompts import list_prompt_files
from support.paths import ROOT

Run = Callable[..., Any]


def test_methods_are_listed_with_name_title_line_and_presets(run: Run) -> None:
    records = json.loads(run("methods", "--json").out)
    assert [record["name"] for record in records] == [name for name in METHODS if name not in ALIASES]
    for record in records:
        assert record["title"]
        assert record["about"]
        assert record["presets"] == METHODS[record["name"]].Context.presets
    out = run("methods").out
    assert out.splitlines()[1].startswith("migres ")
    assert "--preset open_domain" in out


def test_methods_are_grouped_as_in_the_guide(run: Run) -> None:
    groups: dict[str, list[str]] = {}
    for record in json.loads(run("methods", "--json").out):
        groups.setdefault(record["group"], []).append(record["name"])
    assert list(groups) == ["papers", "combined", "no_search", "one_search", "step_by_step"]
    ours = [name for name in METHODS if METHODS[name].file.endswith(f"graphs/{name}.py")]
    assert [*groups["papers"], *groups["combined"]] == ours
    page = (ROOT / "docs" / "which_method.md").read_text(encoding="utf-8")
    rows = {"no_search": "own knowledge", "one_search": "with one retrieval", "step_by_step": "retrieve step by step"}
    for group, said in rows.items():
        row = next(line for line in page.splitlines() if line.startswith("| `") and f"{said} |" in line)
        assert {*groups[group]} >= {*re.findall(r"`(\w+)`", row)}, group
    out = run("methods").out
    assert re.findall(r"--methods (\w+)", out) == ["papers", "combined", "step_by_step", "one_search", "no_search"]
    places = [out.index(f"\n{name} ") for group in ("papers", "combined", *reversed(rows)) for name in groups[group]]
    assert places == sorted(places)


def test_the_chats_settings_are_shown_by_its_name(run: Run) -> None:
    record = json.loads(run("methods", "chat", "--json").out)
    assert (record["name"], record["title"], record["paper"]) == ("chat", "Chat", None)
    assert "use_method" in {setting["name"] for setting in record["settings"]}
    assert "history_turns" in run("methods", "chat").out
    assert "hopgraph methods chat" in run("methods").out


def test_methods_name_their_papers_once(run: Run) -> None:
    records = {record["name"]: record for record in json.loads(run("methods", "--json").out)}
    nobodys = [name for name, record in records.items() if record["paper"] is None]
    assert nobodys == ["cascade", "agent", "gold_passages"]
    for name, record in records.items():
        assert record["title"] not in record["about"]
        if paper := record["paper"]:
            assert re.fullmatch(r"\d{4}\.\d{5}", paper["arxiv"]), name
            assert paper["url"] == f"https://arxiv.org/abs/{paper['arxiv']}"
    assert records["tree_of_reviews"]["aliases"] == ["tor"]
    out = " ".join(run("methods").out.split())
    assert (
        "tree_of_reviews Tree of Reviews (tor): a tree of paragraphs, each path reviewed independently. Tree of" in out
    )
    assert "(Li et al., 2024), https://arxiv.org/abs/2404.14464" in out


def test_the_papers_equal_those_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = dict(re.findall(r"^\| `(\w+)`.*arxiv\.org/abs/([\d.]+)\)", readme, re.MULTILINE))
    assert linked["migres"]
    assert {name: (find_paper(METHODS[name].docstring) or {})["arxiv"] for name in linked} == linked


def test_the_settings_of_a_method_come_with_default_bounds_and_description(run: Run) -> None:
    record = json.loads(run("methods", "migres", "--json").out)
    settings = {setting["name"]: setting for setting in record["settings"]}
    assert list(settings) == list(METHODS["migres"].Context.model_fields)
    assert settings["max_iterations"]["default"] == 5
    assert settings["max_iterations"]["takes"] == "whole number 1 to 20"
    assert settings["deadline_seconds"]["takes"] == "number above 0 or none"
    assert settings["compression"]["takes"] == "sentences|none|summary|snippet"
    assert settings["models"]["default"] == {}
    assert all(setting["description"] for setting in settings.values())
    out = run("methods", "migres").out
    for name in settings:
        assert f"\n  {name} " in out
    assert "= none  (number above 0 or none)" in out


def test_copied_prompts_equal_the_built_in_ones_and_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = Path("my prompts")
    ran = run("prompts", "migres", "--out", str(out))
    assert ran.code == 0
    assert "--set prompts_dir='my prompts'" in ran.out
    assert "--set demonstrations=multi_hop or" in " ".join(ran.out.split())
    built_in = dict(list_prompt_files("migres", migres.Context.all_steps()))
    copied = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}
    assert copied.keys() == built_in.keys()
    assert all(path.read_bytes() == built_in[name].read_bytes() for name, path in copied.items())
    question = "Which film was released first, Metropolis or Nosferatu?"
    with_copies = json.loads(run("ask", question, "--json", "--set", f"prompts_dir={out}").out)
    assert with_copies["answer"] == json.loads(run("ask", question, "--json").out)["answer"]


def test_edited_demonstrations_are_used(run: Run, tmp_path: Path) -> None:
    assert run("prompts", "migres", "--out", str(tmp_path)).code == 0
    (tmp_path / "migres" / "decide.multi_hop.jsonl").write_text('{"input": {}, "output": {}}\n', encoding="utf-8")
    asked = ("ask", "Who directed Metropolis?", "--quiet", "--set", f"prompts_dir={tmp_path}")
    assert run(*asked).code == 0
    ran = run(*asked, "--set", "demonstrations=multi_hop")
    assert ran.code == 1
    assert "decide.multi_hop.jsonl:1: variable 'information' is missing" in ran.err


def test_calibration_reports_a_threshold_that_keeps_the_share(run: Run, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    asked = ["Where was Marie Curie born?", "Who directed Metropolis?", "Which sea does the Volga flow into?"]
    questions.write_text(
        "".join(json.dumps({"question": each, "answer": ["x"]}) + "\n" for each in asked), encoding="utf-8"
    )
    found = json.loads(run("calibrate", str(questions), "--corpus", "sample", "--keep", "0.6", "--json").out)
    assert (found["questions"], found["keep"], found["reranker"]) == (3, 0.6, "lexical")
    assert found["kept"] > 0.6
    shown = run("calibrate", str(questions), "--corpus", "sample", "--keep", "0.6").out
    used = float(shown.split("--set threshold=")[1].split()[0])
    assert found["threshold"] - 0.0001 < used <= found["threshold"]


def test_every_command_has_help_with_examples(run: Run) -> None:
    top = run("--help")
    assert top.code == 0
    for command in ("ask", "index", "calibrate", "methods", "prompts", "draw", "eval", "compare", "show"):
        assert f" {command} " in top.out
        ran = run(command, "--help")
        assert ran.code == 0
        options, _, examples = ran.out.partition("Examples:")
        assert f"hopgraph {command} " in examples
        assert max(map(len, options.splitlines())) <= 100


def test_help_truncates_no_name(run: Run) -> None:
    assert "..." not in run("--help").out.partition("Commands:")[2]
    shown = " ".join(run("chat", "--help").out.split())
    assert "[OPTIONS] [DOCUMENTS]" in shown
    for name in ("HOPGRAPH_RETRIEVER", "HOPGRAPH_CALLS_PER_DAY", "openai:NAME?base_url=URL"):
        assert name in shown


def test_help_is_the_default_and_version_an_option(run: Run) -> None:
    assert run().out == run("--help").out
    assert run("--version").out.startswith("hopgraph ")
