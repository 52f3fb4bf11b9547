"""Damaged index, run and cache files: every command that reads them works or ends with one line, never a traceback."""

import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from hopgraph.state import CorpusError
from hopgraph.tools.apps.cli import main
from hopgraph.tools.retrieval import build_index
from hopgraph.tools.retrieval.dense import open_dense
from support.hashed_words import HashedWords
from support.paths import ROOT

CASES = int(os.environ.get("HOPGRAPH_ATTACKS", "20"))
"""`make attacks` asks for more."""
DATASET = ROOT / "tools" / "retrieval" / "sample"
QUESTION = "In which city was the director of the film Pan's Labyrinth born?"
JUNK = [b"null", b"[]", b"{}", b"1", b'"x"', b"1e999", b"9" * 5000, b"[" * 100_000, b"NaN", b"\xff\xfe", b"\0" * 64]
NUMBERS = [b"-1", b"1e308", b"99999999999999999999", b"null", b'"7"', b"true", b"[]", b"{}", b"-0.0", b"NaN"]

Damage = Callable[[Path, random.Random], None]


def cut(file: Path, chance: random.Random) -> None:
    os.truncate(file, chance.randrange(file.stat().st_size or 1))


def flip(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 1, 4, 64])):
        if content:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def flip_head(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    if content:
        content[chance.randrange(min(100, len(content)))] = chance.randrange(256)
    file.write_bytes(content)


def replace(file: Path, chance: random.Random) -> None:
    file.write_bytes(chance.choice([*JUNK, b""]))


def add_line(file: Path, chance: random.Random) -> None:
    file.write_bytes(file.read_bytes() + chance.choice(JUNK) + b"\n")


def change_value(file: Path, chance: random.Random) -> None:
    """Replace what stands after a colon, up to the next comma or line's end, as an editor's slip would."""
    content = file.read_bytes()
    if places := [place for place in range(len(content)) if content[place : place + 1] == b":"]:
        start = chance.choice(places) + 1
        ends = [end for mark in (b",", b"}", b"\n") if (end := content.find(mark, start)) > 0]
        content = content[:start] + chance.choice([*NUMBERS, *JUNK[:5]]) + content[min(ends, default=len(content)) :]
    file.write_bytes(content)


def drop_value(file: Path, chance: random.Random) -> None:
    content = file.read_bytes()
    if keys := content.count(b'": '):
        parts = content.split(b'": ')
        number = chance.randrange(keys)
        content = b'": '.join(parts[: number + 1]) + b'x": ' + b'": '.join(parts[number + 1 :])
    file.write_bytes(content)


def swap(file: Path, chance: random.Random) -> None:
    other = chance.choice([path for path in file.parent.rglob("*") if path.is_file()])
    content = file.read_bytes()
    file.write_bytes(other.read_bytes())
    other.write_bytes(content)


def remove(file: Path, chance: random.Random) -> None:
    file.unlink()


def to_folder(file: Path, chance: random.Random) -> None:
    file.unlink()
    file.mkdir()


def to_pipe(file: Path, chance: random.Random) -> None:
    file.unlink()
    os.mkfifo(file)


def lock_away(file: Path, chance: random.Random) -> None:
    file.chmod(0)


def to_link(file: Path, chance: random.Random) -> None:
    aside = file.with_name(f"{file.name}.aside")
    file.rename(aside)
    file.symlink_to(aside)


DAMAGES: list[Damage] = [
    *(cut, flip, flip_head, replace, add_line, change_value, change_value, drop_value, swap, remove),
    *(to_folder, to_pipe, lock_away, to_link),
]


def damaged_copy(base: Path, copy: Path, seed: int) -> str:
    """Copy a folder, damage one of its files, and describe how."""
    shutil.copytree(base, copy)
    chance = random.Random(seed)
    file = chance.choice(sorted(path for path in copy.rglob("*") if path.is_file()))
    damage = chance.choice(DAMAGES)
    damage(file, chance)
    return f"{damage.__name__} {file.relative_to(copy)} (seed {seed})"


def run(arguments: Sequence[str | Path], case: str, capsys: pytest.CaptureFixture[str]) -> int:
    """Run a command in this process; an error is one line that names no exception."""
    try:
        code = main([*map(str, arguments)])
    except Exception as error:
        raise AssertionError(f"{case}: {' '.join(map(str, arguments))}: {type(error).__name__}: {error}") from error
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("hopgraph: ")]
    assert code in (0, 1, 2, 3), case
    assert len(lines) == (code in (1, 2)), (case, lines)
    return code


def evaluation(out: Path) -> list[str | Path]:
    return ["eval", DATASET, "--methods", "one_step,ra_isf", "--limit", "1", "--out", out]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real index, a real run with its cache and a judge's judgements, and a saved run."""
    base = tmp_path_factory.mktemp("whole")
    cached = ["--set", f"cache_dir={base / 'cache'}"]
    assert main(["index", str(DATASET), "--out", str(base / "index")]) == 0
    assert main([str(each) for each in evaluation(base / "run")]) == 0
    assert main(["ask", QUESTION, "--quiet", "--method", "one_step", *cached]) == 0
    (base / "saved").mkdir()
    assert main(["ask", QUESTION, "--quiet", "--method", "ra_isf", "--save", str(base / "saved" / "run.json")]) == 0
    judged = '{"judge": "openai:j"}\n{"judge": "openai:j", "id": "q01", "prediction": "Guadalajara", "right": true}\n'
    (base / "run" / "judgements.jsonl").write_text(judged)
    return base


def commands(kind: str, copy: Path) -> list[list[str | Path]]:
    if kind == "index":
        more: list[str | Path] = ["index", DATASET / "corpus.jsonl", "--out", copy]
        ask: list[str | Path] = ["ask", QUESTION, "--quiet", "--method", "one_step", "--corpus", copy]
        return [ask, [*more, "--add"], more]
    if kind == "run":
        show: list[str | Path] = ["show", copy, "q01", "--method", "ra_isf"]
        return [show, [*show, "--json"], ["compare", copy], evaluation(copy), ["compare", copy]]
    if kind == "cache":
        return [["ask", QUESTION, "--quiet", "--method", "one_step", "--set", f"cache_dir={copy}"]]
    return [["draw", "--run", copy / "run.json"], ["draw", "--run", copy / "run.json", "--format", "svg"]]


SHARES = {"index": 0.4, "run": 0.4, "cache": 0.1, "saved": 0.1}


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", SHARES)
def test_a_pipe_in_place_of_a_file_keeps_no_command_waiting(
    built: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in sorted(path for path in (built / kind).rglob("*") if path.is_file()):
        copy = tmp_path / kind
        shutil.copytree(built / kind, copy)
        to_pipe(copy / file.relative_to(built / kind), random.Random())
        for command in commands(kind, copy):
            run(command, f"a pipe as {file.name}", capsys)
        shutil.rmtree(copy)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHARES)
def test_no_damaged_file_ends_in_a_traceback(
    built: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    failures: list[str] = []
    for seed in range(round(CASES * SHARES[kind])):
        copy = tmp_path / str(seed)
        case = damaged_copy(built / kind, copy, seed)
        for command in commands(kind, copy):
            try:
                run(command, case, capsys)
            except AssertionError as error:
                failures.append(str(error))
        shutil.rmtree(copy)
    assert not failures, "\n".join(failures)


def test_damaged_vectors(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    build_index(DATASET, tmp_path / "whole", dense=HashedWords())
    for seed in range(CASES):
        copy = tmp_path / str(seed)
        case = damaged_copy(tmp_path / "whole", copy, seed)
        try:
            dense = open_dense(copy, HashedWords())
            assert all(hit.passage.id for hit in dense.nearest("?", np.ones(32, dtype=np.float32), 5))
        except CorpusError as error:
            lines = str(error).count("\n") + 1
        else:
            lines = 1
        assert lines == 1, case
        shutil.rmtree(copy)
