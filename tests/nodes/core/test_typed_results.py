"""Under pyright a user's file has an error on each line that is wrong, and on no other."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

FILE = ROOT / "tests" / "support" / "typed" / "a_users_file.py"


@pytest.mark.slow
def test_pyright_finds_what_is_mistyped_and_nothing_else(tmp_path: Path) -> None:
    checked = shutil.copy(FILE, tmp_path)  # where it stands, `make check` leaves it out
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(checked)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=500)
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = FILE.read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, start=1) if line.endswith("# error")}
    assert len(wrong) > 10
    assert {each["range"]["start"]["line"] + 1: each["message"] for each in found}.keys() == wrong
    assert {each["severity"] for each in found} == {"error"}
