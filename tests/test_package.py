"""What is installed is what is on the disk."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import hopgraph
from hopgraph.graphs import ALIASES, METHODS
from support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = ("graphs", "nodes", "state", "tools")


def test_every_package_is_listed() -> None:
    on_disk = {
        "hopgraph." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == {"hopgraph", *on_disk}


def test_every_folder_with_code_is_a_package() -> None:
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), path


def test_every_data_file_is_installed() -> None:
    patterns: dict[str, list[str]] = PROJECT["tool"]["setuptools"]["package-data"]
    shipped = {
        path
        for package, globs in patterns.items()
        for folder in ([ROOT / name for name in FOLDERS] if package == "*" else [_folder(package)])
        for pattern in globs
        for path in folder.glob(pattern)
    }
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if (
                path.is_file()
                and path.suffix not in {".py", ".pyc"}
                and (path.suffix != ".md" or "prompts" in path.parts)
            ):
                assert path in shipped, f"{path} would be missing from the wheel"


def _folder(package: str) -> Path:
    return ROOT / Path(*package.removeprefix("hopgraph.").split("."))


def test_type_checkers_see_the_four_folders() -> None:
    for folder in FOLDERS:
        assert (ROOT / ".types" / "hopgraph" / folder).resolve() == ROOT / folder
    assert (ROOT / ".types" / "hopgraph" / "__init__.py").resolve() == ROOT / "package" / "__init__.py"
    assert not (ROOT / "hopgraph").exists()


def test_it_says_its_version() -> None:
    assert hopgraph.__version__ == PROJECT["project"]["version"]


def test_the_server_lists_every_graph_that_exists() -> None:
    described = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert list(described) == ["chat", *(name for name in METHODS if name not in ALIASES)]
    for name, graph in described.items():
        path, _, variable = graph["path"].partition(":")
        assert re.search(rf"^{variable} = ", (ROOT / path).read_text(), re.MULTILINE), name
        assert graph["description"]


@pytest.mark.parametrize("word", ["torch", "transformers", "FlagEmbedding", "sentence_transformers", "faiss"])
def test_the_core_does_not_need_the_heavy_packages(word: str) -> None:
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            code = path.read_text(encoding="utf-8")
            assert not re.search(rf"^(?:import|from) {word}\b", code, re.MULTILINE), path


def test_nothing_unsafe_is_used() -> None:
    unsafe = re.compile(
        r"\b(?:pickle|marshal|shelve|dill)\b\.|(?<![\w.])(?:eval|exec)\(|allow_pickle=True|trust_remote_code=True"
    )
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            assert not unsafe.search(path.read_text(encoding="utf-8")), path


_PIN = re.compile(r"^([\w.-]+)(?:\[.*?\])?==([^\s;]+)", re.MULTILINE)


def _pins(name: str) -> dict[str, str]:
    pins: list[tuple[str, str]] = _PIN.findall((ROOT / name).read_text(encoding="utf-8"))
    return {re.sub(r"[-_.]+", "-", package.lower()): version for package, version in pins}


def test_what_is_installed_by_hash_is_what_was_tried_together() -> None:
    tried, locked = _pins("constraints.txt"), _pins("requirements.txt")
    extras = PROJECT["project"]["optional-dependencies"]
    assert {name for name in locked if tried.get(name, locked[name]) != locked[name]} == set()
    needed = [*PROJECT["project"]["dependencies"], *extras["chat"], *extras["server"], *extras["postgres"]]
    assert {re.split(r"[\[>]", each.lower())[0] for each in needed} <= locked.keys()
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert len(re.findall(r"^\w.* \\\n    --hash=sha256:", text, re.MULTILINE)) == len(_PIN.findall(text))
    assert "://" not in text


def test_the_workflow_runs_what_ci_runs() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    assert any(step.get("run") == ".ci/run" for step in workflow["jobs"]["check"]["steps"])
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"):
        assert {"name", "description", "body"} == yaml.safe_load(form.read_text(encoding="utf-8")).keys()


@pytest.mark.parametrize(
    ("command", "refusal"),
    [
        ("echo > untracked", "not clean; commit or remove: ?? untracked"),
        ("git tag v$version", "is tagged; raise the version"),
        ("true", "CHANGELOG.md has no dated section"),
        ('echo "## $version (2026-12-01)" > CHANGELOG.md; git commit -qam dated', "CITATION.cff has another version"),
    ],
)
def test_a_release_is_clean_new_and_dated(command: str, refusal: str, tmp_path: Path) -> None:
    """The script stops before it builds, in a repository with its files and no others."""
    for name in (".ci/release", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    first = "git init -q; echo .venv > .gitignore; touch CHANGELOG.md CITATION.cff; git add .; git commit -qm first"
    identity = {f"GIT_{role}_{key}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    environment = {**os.environ, **identity}
    script = f"set -e; {first}; version={hopgraph.__version__}; {command}; .ci/release"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert refusal in done.stderr
