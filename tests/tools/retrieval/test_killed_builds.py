"""Builds in processes of their own that are killed, run out of disk, or meet each other."""

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval import build_index, open_index
from hopgraph.tools.retrieval.staging import stage_folder
from support.waiting import PATIENCE

BUILD = """
import sys
from pathlib import Path
from hopgraph.tools.retrieval import build_index
def stop(stage, done, total):
    if stage == sys.argv[3] and (done or total is None):
        print("here", flush=True)
        sys.stdin.read()
build_index(Path(sys.argv[1]), Path(sys.argv[2]), progress=stop)
"""


def write_corpus(path: Path, passages: int, word: str) -> Path:
    path.write_text("".join(f'{{"_id": "{word}{n}", "text": "{word} number {n}"}}\n' for n in range(passages)))
    return path


def start_build(source: Path, out: Path, stop_at: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", BUILD, str(source), str(out), stop_at]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def end(process: "subprocess.Popen[str]", how: signal.Signals) -> None:
    process.send_signal(how)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0


def ids(out: Path, query: str) -> list[str]:
    return [hit.passage.id for hit in open_index(out).search(query, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "stage", [pytest.param("read", marks=pytest.mark.long), "score", pytest.param("save", marks=pytest.mark.long)]
)
def test_a_killed_build_leaves_nothing_half_done(tmp_path: Path, stage: str) -> None:
    source, out = write_corpus(tmp_path / "corpus.jsonl", 3000, "fox"), tmp_path / "index"
    end(start_build(source, out, stage), signal.SIGKILL)
    assert not out.exists()
    build_index(write_corpus(tmp_path / "corpus.jsonl", 5, "hen"), out)
    end(start_build(write_corpus(source, 3000, "fox"), out, stage), signal.SIGKILL)
    assert ids(out, "hen") == ["hen0"]
    assert len(list(tmp_path.glob(".index.building-*"))) == 1
    build_index(source, out)
    assert len(open_index(out)) == 3000
    assert list(tmp_path.glob(".*")) == []


def test_what_a_killed_build_left_is_cleared_away_and_does_no_harm(tmp_path: Path) -> None:
    out = tmp_path / "index"
    stage = tmp_path / ".index.building-abc"
    (stage / "new").mkdir(parents=True)
    (stage / "lock").touch()  # nobody holds it
    (stage / "new" / "passages.jsonl").write_text('{"_id": "fox0", ')
    build_index(write_corpus(tmp_path / "corpus.jsonl", 5, "hen"), out)
    assert ids(out, "hen") == ["hen0"]
    assert list(tmp_path.glob(".*")) == []


def test_two_builds_of_one_index_do_not_meet(tmp_path: Path) -> None:
    source, out = write_corpus(tmp_path / "corpus.jsonl", 5, "fox"), tmp_path / "index"
    with stage_folder(out) as other:
        (other / "half").touch()
        with pytest.raises(CorpusError, match="another build of it is running"):
            build_index(source, out)
        assert list(tmp_path.glob(".index.building-*/new/half")) != []
        (other / "half").unlink()
    build_index(source, out)
    assert ids(out, "fox") == ["fox0"]


def test_an_old_index_that_a_killed_build_moved_aside_comes_back(tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(write_corpus(tmp_path / "corpus.jsonl", 5, "hen"), out)
    stage = tmp_path / ".index.building-abc"  # what is there between the two renames that put a new index in place
    stage.mkdir()
    (stage / "lock").touch()
    (stage / "new").mkdir()
    out.rename(stage / "old")
    assert len(open_index(out)) == 5
    assert not stage.exists()


def test_a_build_that_cannot_be_put_in_place_puts_the_old_one_back(tmp_path: Path) -> None:
    goal = tmp_path / "index"
    goal.mkdir()
    (goal / "old").touch()
    with pytest.raises(FileNotFoundError), stage_folder(goal) as new:
        new.rmdir()
    assert [path.name for path in goal.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


FULL = """
import resource, sys
from pathlib import Path
from hopgraph.tools.retrieval import build_index
from hopgraph.state import CorpusError
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    build_index(Path(sys.argv[1]), Path(sys.argv[2]))
except CorpusError as error:
    print(error)
"""


@pytest.mark.parametrize("at", ["read", "score", "save"])
def test_a_write_that_fails_is_told_in_one_line_and_harms_nothing(tmp_path: Path, at: str) -> None:
    out = tmp_path / "index"
    build_index(write_corpus(tmp_path / "small.jsonl", 5, "hen"), out)

    def fail(stage: str, _done: int, _total: int | None) -> None:
        if stage == at:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(CorpusError, match=r"^\S+: the index cannot be written: No space left on device$"):
        build_index(write_corpus(tmp_path / "corpus.jsonl", 50, "fox"), out, progress=fail)
    assert len(open_index(out)) == 5
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, *(pytest.param(each, marks=pytest.mark.long) for each in (5_000, 100_000))])
def test_a_full_disk_is_told_in_one_line_and_harms_nothing(tmp_path: Path, limit: int) -> None:
    """The system's limit on a file's size makes writes fail as a full disk does, at different stages."""
    source, out = write_corpus(tmp_path / "corpus.jsonl", 2500, "fox"), tmp_path / "index"
    build_index(write_corpus(tmp_path / "small.jsonl", 5, "hen"), out)
    command = [sys.executable, "-c", FULL, str(source), str(out), str(limit)]
    output = subprocess.run(command, capture_output=True, text=True, check=True)
    assert output.stdout.startswith(f"{out}: the index cannot be written: ")
    assert output.stdout.count("\n") == 1
    assert len(open_index(out)) == 5
    assert list(tmp_path.glob(".*")) == []


REPLACE = """
import shutil, sys, time
from pathlib import Path
from hopgraph.tools.retrieval.staging import stage_folder
goal, *sources = map(Path, sys.argv[1:])
for number in range(15):
    with stage_folder(goal) as new:
        shutil.copytree(sources[number % 2], new, dirs_exist_ok=True)
    time.sleep(0.05)
"""


def test_an_index_is_opened_as_one_build_left_it_while_others_take_its_place(tmp_path: Path) -> None:
    sources = [tmp_path / "foxes", tmp_path / "hens"]
    for source, count in zip(sources, (3, 50), strict=True):
        build_index(
            write_corpus(tmp_path / "corpus.jsonl", count, {"foxes": "fox", "hens": "hen"}[source.name]), source
        )
    goal = build_index(tmp_path / "corpus.jsonl", tmp_path / "index").path
    with subprocess.Popen([sys.executable, "-c", REPLACE, *map(str, (goal, *sources))]) as replacing:
        opened = 0
        while replacing.poll() is None:
            index = open_index(goal)
            word = {3: "fox", 50: "hen"}[len(index)]
            assert len(index.search(word, 60)) == len(index)
            opened += 1
    assert opened > 10
