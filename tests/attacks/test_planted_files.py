"""What others may have put where hopgraph reads or writes: links, pipes, devices; and who may read what it writes."""

import os
import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hopgraph.tools.apps.cli import main
from hopgraph.tools.models.reply_cache import ModelReply, check_cache, write_cache
from hopgraph.tools.retrieval.web.web_index import WebCache
from support.paths import ROOT

DATASET = ROOT / "tools" / "retrieval" / "sample"
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
ASK = ["ask", QUESTION, "--quiet", "--method", "one_step"]


def refused(arguments: list[str | Path], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must end with one line, and return it."""
    capsys.readouterr()
    assert main([*map(str, arguments)]) in (1, 2)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("hopgraph: ")]
    return line


def evaluation(out: Path) -> list[str | Path]:
    return ["eval", DATASET, "--methods", "one_step", "--limit", "1", "--out", out]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    before = os.umask(0)
    try:
        assert main([*map(str, evaluation(out))]) == 0
    finally:
        os.umask(before)
    return out


def test_files_and_folders_of_a_run_are_their_owners_alone(finished: Path) -> None:
    """Whatever the umask is: the run was made under 0."""
    kept = [path for path in (finished, *finished.rglob("*")) if "corpus" not in path.relative_to(finished).parts]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept if path.is_file()} == {0o600}


def test_replies_and_web_results_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        check_cache(str(tmp_path / "replies"))
        write_cache(str(tmp_path / "replies"), "ab" * 32, "x/y", ModelReply("text"))
        WebCache(tmp_path / "pages", 60).write("x", "query", 3, [])
    finally:
        os.umask(before)
    made = [path for name in ("replies", "pages") for path in (tmp_path / name, *(tmp_path / name).rglob("*"))]
    assert len(made) == 6
    assert all(stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600) for path in made)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.txt").write_text("Rain falls on the western coast of Norway.")
    return folder


def test_links_in_a_folder_to_index(documents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "secret.txt").write_text("The password is swordfish.")
    index: list[str | Path] = ["index", documents, "--out", tmp_path / "index"]
    (documents / "b.txt").symlink_to(tmp_path / "secret.txt")
    (documents / "inner").symlink_to(tmp_path)
    assert main([*map(str, index)]) == 0
    printed = capsys.readouterr()
    assert "Indexed 1 passage " in printed.out
    for name in ("b.txt", "inner"):
        assert f"{name}: this is a link; follow it with --follow-links" in " ".join(printed.err.split())
    assert "swordfish" not in (tmp_path / "index" / "passages.jsonl").read_text()
    assert main([*map(str, index), "--follow-links", "--replace"]) == 0  # a loop, too
    assert "swordfish" in (tmp_path / "index" / "passages.jsonl").read_text()


def test_a_linked_corpus_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "corpus.jsonl").symlink_to(DATASET / "corpus.jsonl")
    index: list[str | Path] = ["index", tmp_path / "set", "--out", tmp_path / "index"]
    assert "this is a link" in refused(index, capsys)
    assert main([*map(str, index), "--follow-links"]) == 0


def special(kind: str, path: Path) -> Path:
    if kind == "device":
        return Path("/dev/zero")
    if kind == "pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
    return path


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_pipes_sockets_and_devices_are_refused_at_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = special(kind, tmp_path / "source")
    folder = tmp_path / "prompts" / "one_step"
    folder.mkdir(parents=True)
    kept: list[list[str | Path]] = []
    if kind != "device":
        special(kind, folder / "answer.md")
        special(kind, tmp_path / "manifest.json")
        prompts = f"prompts_dir={tmp_path / 'prompts'}"
        kept = [[*ASK, "--set", prompts], [*ASK, "--corpus", tmp_path], ["compare", tmp_path]]
    commands: list[list[str | Path]] = [
        ["index", source, "--out", tmp_path / "index"],
        ["index", source, "--out", tmp_path / "index", "--format", "dpr"],
        ["index", source, "--out", tmp_path / "index", "--format", "text"],
        ["eval", source, "--methods", "one_step", "--out", tmp_path / "out"],
        ["eval", DATASET, "--methods", "one_step", "--out", tmp_path / "out", "--prices", source],
        ["draw", "--run", source],
        *kept,
    ]
    for command in commands:
        assert "this is a pipe, a socket or a device, not a file" in refused(command, capsys), command


def test_what_is_read_once_may_be_a_pipe_of_the_shells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `… | hopgraph draw --run /dev/stdin` and `hopgraph draw --run <(…)` give it."""
    assert main([*ASK, "--save", str(tmp_path / "run.json")]) == 0
    reading, writing = os.pipe()
    with open(reading, "rb"), ThreadPoolExecutor(1) as writer, open(writing, "wb") as pipe:
        sent = writer.submit(lambda: pipe.write((tmp_path / "run.json").read_bytes()) and pipe.close())
        capsys.readouterr()
        assert main(["draw", "--run", f"/dev/fd/{reading}"]) == 0
        sent.result()
    piped = capsys.readouterr().out
    assert main(["draw", "--run", str(tmp_path / "run.json")]) == 0
    assert piped == capsys.readouterr().out != ""


def test_files_that_are_left_out_are_counted(
    documents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("b.png", "c.PNG", "README", ".hidden.png", "inner/d.gif"):
        (documents / name).parent.mkdir(exist_ok=True)
        (documents / name).write_bytes(b"x\0")
    assert main(["index", str(documents), "--out", str(tmp_path / "index")]) == 0
    line = "4 files not read: .png ×2, no suffix ×1, .gif ×1"
    assert line in " ".join(capsys.readouterr().err.split())
    (documents / "a.txt").unlink()
    assert "no text in this folder (4 files not read: .png ×2," in refused(
        ["index", documents, "--out", tmp_path / "i"], capsys
    )
