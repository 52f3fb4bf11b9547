"""Bringing an index up to date with its folder: what is read, what stays, and that the result is as built anew."""

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO

import pytest

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.io import guarded_files
from hopgraph.tools.retrieval import build_index, delete_passages, index_builder, open_index, update_index
from hopgraph.tools.retrieval.corpora import formats, text_files
from hopgraph.tools.retrieval.corpora.chunking import ChunkOptions
from support.waiting import PATIENCE


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write(
        tmp_path / "docs", **{f"f{n}": f"# File {n}\n\nThe animal of file{n} is an owl{n}.\n" for n in range(60)}
    )


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are cut into passages."""
    names: list[str] = []
    real = text_files.open_text

    def watch(path: Path, encoding: str) -> TextIOWrapper:
        names.append(path.name)
        return real(path, encoding)

    monkeypatch.setattr(text_files, "open_text", watch)
    return names


def found(out: Path, query: str) -> list[str]:
    return [hit.passage.text for hit in open_index(out).search(query, 3)]


def files_of(index: Path) -> dict[str, bytes]:
    return {path.relative_to(index).as_posix(): path.read_bytes() for path in index.rglob("*") if path.is_file()}


def edit(docs: Path) -> None:
    """Edit three files, delete two, add two."""
    write(docs, **{f"f{n}": f"# File {n}\n\nThe animal of file{n} is a badger{n}.\n" for n in (3, 30, 59)})
    write(docs, f05="An otter lives here.", zz="A stoat lives there.")
    for name in ("f0.md", "f41.md"):
        (docs / name).unlink()


def test_only_what_changed_is_read_and_answers_follow(docs: Path, tmp_path: Path, read: list[str]) -> None:
    out = tmp_path / "index"
    assert update_index(docs, out).changes is None
    assert len(read) == 60
    read.clear()
    edit(docs)
    preview = update_index(docs, out, dry_run=True)
    assert read == []
    report = update_index(docs, out)
    assert sorted(read) == ["f05.md", "f3.md", "f30.md", "f59.md", "zz.md"]
    assert report.changes == preview.changes
    assert report.changes is not None
    assert report.changes.added == ("f05.md", "zz.md")
    assert report.changes.changed == ("f3.md", "f30.md", "f59.md")
    assert report.changes.vanished == ("f0.md", "f41.md")
    assert (report.changes.unchanged, report.passages, report.before) == (55, 60, 60)
    assert found(out, "file30")[:1] == ["File 30\n\nThe animal of file30 is a badger30."]
    assert found(out, "otter") == ["An otter lives here."]
    assert not re.search(r"owl(?:0|30|41)\b", str(found(out, "owl41 owl0 owl30")))
    build_index(docs, tmp_path / "anew")
    assert files_of(out) == files_of(tmp_path / "anew")


def test_nothing_is_written_where_nothing_changed(docs: Path, tmp_path: Path, read: list[str]) -> None:
    out = build_index(docs, tmp_path / "index").path
    before = (out / "manifest.json").stat().st_mtime_ns
    read.clear()
    os.utime(docs / "f1.md")  # touched, but the same
    report = update_index(docs, out)
    assert not report.changes
    assert report.passages == 60
    assert (out / "manifest.json").stat().st_mtime_ns == before
    assert read == []


def test_what_is_gone_can_be_kept(docs: Path, tmp_path: Path) -> None:
    out = build_index(docs, tmp_path / "index").path
    (docs / "f7.md").unlink()
    write(docs, f8="A marten.")
    report = update_index(docs, out, keep_deleted=True)
    assert report.changes is not None
    assert report.changes.vanished == ()
    assert found(out, "file7") == ["File 7\n\nThe animal of file7 is an owl7."]
    assert found(out, "marten") == ["A marten."]
    update_index(docs, out)
    assert found(out, "file7") == []


def test_another_source_never_takes_an_indexs_place(docs: Path, tmp_path: Path) -> None:
    out = build_index(docs, tmp_path / "index").path
    (tmp_path / "elsewhere").mkdir()
    other = write(tmp_path / "elsewhere" / "docs", pet="A cat sits here.")
    with pytest.raises(CorpusError, match="--add adds to it, --replace rebuilds it"):
        update_index(other, out)
    report = update_index(other, out, add=True)
    assert (report.passages, report.before) == (61, 60)
    write(other, pet="A dog sits here.")
    (docs / "f7.md").unlink()
    assert update_index(other, out).passages == 61  # each source is updated by itself
    assert found(out, "file7") != []
    assert update_index(docs, out).passages == 60
    assert (found(out, "cat"), found(out, "dog")) == ([], ["A dog sits here."])
    assert json.loads((out / "manifest.json").read_text())["corpus"]["source"] == "docs, docs"


def test_a_folder_that_was_moved_is_still_the_same(docs: Path, tmp_path: Path, read: list[str]) -> None:
    out = build_index(docs, tmp_path / "index").path
    (tmp_path / "new").mkdir()
    moved = docs.rename(tmp_path / "new" / "docs")
    read.clear()
    write(moved, f8="A marten.")
    update_index(moved, out)
    assert read == ["f8.md"]
    both = tmp_path / "both"
    both.mkdir()
    out.rename(both / "index")
    moved.rename(both / "docs")
    assert not update_index(both / "docs", both / "index").changes


def test_passages_that_two_sources_have_stay_until_both_are_without(tmp_path: Path) -> None:
    sources = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    lines = [f'{{"_id": "{name}", "text": "{name} runs"}}\n' for name in ("fox", "hen", "owl")]
    for source, text in zip(sources, ("".join(lines[:2]), "".join(lines[1:])), strict=True):
        source.write_text(text)
        known = update_index(source, tmp_path / "index", add=source != sources[0]).known
        assert known == sources.index(source)
    sources[0].write_text(lines[0])
    update_index(sources[0], tmp_path / "index")
    update_index(sources[1], tmp_path / "index")
    assert found(tmp_path / "index", "hen") == ["hen runs"]


def test_passages_are_deleted_until_their_file_changes(docs: Path, tmp_path: Path) -> None:
    out = build_index(docs, tmp_path / "index").path
    assert delete_passages(out, ["f7.md#1", "f8.md#1", "none"]) == 2
    assert delete_passages(out, []) == 0
    assert found(out, "file7") == []
    assert not update_index(docs, out).changes
    write(docs, f7="A marten lives in file7.")
    update_index(docs, out, delete=["f9.md#1"])
    assert found(out, "file7") == ["A marten lives in file7."]
    assert found(out, "file8") == found(out, "file9") == []
    with pytest.raises(CorpusError, match="what is left: no passage"):
        delete_passages(out, [f"f{n}.md#1" for n in range(60)])
    assert len(open_index(out)) == 58


def test_what_cannot_be_opened_or_parsed_is_named_and_ends_nothing(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "params.index.json").write_text('{\n  "k1": 1.5,\n  "text": "A newt of one object."\n}\n')
    (docs / "broken.json").write_text('[{"text": "A mole."}, {"text": ')
    (docs / "lines.jsonl").write_text('{"text": "A toad."\n{"text": "A wren \\ud800 sings."}\n')
    (docs / "gone.md").symlink_to(docs / "nowhere.md")
    os.mkfifo(docs / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as bound:
        monkeypatch.chdir(docs)  # the path of a socket must be short
        bound.bind("socket.md")
    (docs / "locked.md").write_text("A lynx.")
    real = guarded_files.open_source

    def refuse(path: Path) -> BinaryIO:  # as for a user who is not root
        if path.name == "locked.md":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(formats, "open_source", refuse)
    report = update_index(docs, tmp_path / "index")
    told = "\n".join([report.left_out, *report.first_skipped])
    for name, reason in {
        "gone.md": "No such file",
        "pipe.txt": "this is a pipe, a socket or a device",
        "socket.md": "this is a pipe, a socket or a device",
        "locked.md": "Permission denied",
        "broken.json": "not usable JSON",
        "lines.jsonl:1": "not usable JSON",
    }.items():
        assert f"{docs / name}: {reason}" in told
    assert (report.passages, report.skipped) == (62, 2)
    assert found(report.path, "newt") != []
    assert found(report.path, "wren") == ["A wren ? sings."]
    monkeypatch.setattr(formats, "open_source", real)
    vanishing = formats.open_corpus(docs)
    monkeypatch.setattr(index_builder, "open_corpus", lambda *_, **__: vanishing)
    (docs / "f1.md").unlink()
    report = update_index(docs, report.path)
    assert (report.passages, report.skipped) == (62, 3)  # with locked.md, without f1.md
    assert any("f1.md: it cannot be read: No such file" in each for each in report.first_skipped)


def test_an_update_cuts_as_the_index_does(docs: Path, tmp_path: Path, read: list[str]) -> None:
    out = update_index(docs, tmp_path / "index", chunking=ChunkOptions(30, 5)).path
    read.clear()
    assert not update_index(docs, out).changes
    (docs / "f1.md").write_text("An owl sits there and says nothing. " * 20)
    update_index(docs, out)
    assert read == ["f1.md"]
    build_index(docs, tmp_path / "anew", chunking=ChunkOptions(30, 5))
    assert files_of(out) == files_of(tmp_path / "anew")
    more = write(tmp_path / "more", cat="A cat sits here and says something. " * 20)
    added = update_index(more, out, add=True).passages - 60
    assert update_index(more, out, chunking=ChunkOptions()).passages < 60 + added
    assert not update_index(more, out).changes
    assert not update_index(docs, out).changes


def test_what_is_not_in_an_index_is_told_at_each_update(tmp_path: Path, read: list[str]) -> None:
    docs, out = write(tmp_path / "docs", good="A fox."), tmp_path / "index"
    (docs / "bad.json").write_text('{"a": ')
    (docs / "long.jsonl").write_text('{"text": "A hen."}\n' + "no JSON\n" * 7)
    first = update_index(docs, out)
    told = [each.removeprefix(f"{docs}/").partition(": not")[0] for each in first.first_skipped]
    assert (first.skipped, told) == (8, ["bad.json", *(f"long.jsonl:{line}" for line in range(2, 6))])
    before = files_of(out)
    again = update_index(docs, out)
    assert (again.skipped, again.first_skipped) == (8, first.first_skipped)
    assert again.changes is not None
    assert (again.changes.unchanged, bool(again.changes)) == (3, False)
    assert files_of(out) == before
    write(docs, good="A vixen.")
    read.clear()
    updated = update_index(docs, out)
    assert (updated.skipped, updated.first_skipped, read) == (8, first.first_skipped, ["good.md"])
    build_index(docs, tmp_path / "anew")
    assert files_of(out) == files_of(tmp_path / "anew")
    assert json.loads((out / "manifest.json").read_text())["corpus"]["skipped"] == 8
    (tmp_path / "moved").mkdir()
    moved = docs.rename(tmp_path / "moved" / "docs")
    assert update_index(moved, out).first_skipped[0].startswith(f"{moved}/bad.json: not usable JSON")
    (moved / "bad.json").unlink()
    assert update_index(moved, out).skipped == 7


def test_an_index_within_its_folder_is_not_indexed(tmp_path: Path) -> None:
    docs = write(tmp_path / "docs", fox="A fox.", hen="A hen.")
    for _ in range(3):
        assert update_index(docs, docs / "index").passages == 2
    build_index(docs, docs / "sub" / "other")
    report = update_index(docs, docs / "index")
    assert (report.passages, report.left_out, bool(report.changes)) == (2, "", False)
    (docs / "site").mkdir()
    (docs / "site" / "manifest.json").write_text('{"text": "A web app."}')  # that of no index
    assert update_index(docs, docs / "index").passages == 3
    assert build_index(docs / "index", tmp_path / "of_an_index").passages > 2  # one that is named is read


def test_what_cannot_be_updated_is_told_and_harms_nothing(docs: Path, tmp_path: Path) -> None:
    out = build_index(docs, tmp_path / "index").path
    with pytest.raises(SettingsError, match="in the language 'auto:english'; leave --language out, or rebuild it"):
        update_index(docs, out, language="de")
    edit(docs)
    damaged = (out / "sources.json").read_text()
    (out / "sources.json").write_text(damaged.replace('"passages":1', '"passages":2', 1))
    with pytest.raises(CorpusError, match=r"sources.json: damaged \(it does not match the passages\)"):
        update_index(docs, out)
    assert len(open_index(out)) == 60


UPDATE = """
import os, signal, sys
from pathlib import Path
from hopgraph.tools.retrieval import update_index
def stop(stage, done, total):
    if stage == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3].startswith("rename"):
    rename, left = Path.rename, [int(sys.argv[3][-1])]
    def watch(path, target):
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return rename(path, target)
    Path.rename = watch
update_index(Path(sys.argv[1]), Path(sys.argv[2]), progress=stop)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "at", [*(pytest.param(each, marks=pytest.mark.long) for each in ("read", "save")), "rename0", "rename1"]
)
def test_a_killed_update_leaves_the_old_index_or_the_new_one(docs: Path, tmp_path: Path, at: str) -> None:
    out = build_index(docs, tmp_path / "index").path
    before = files_of(out)
    edit(docs)
    killed = subprocess.run([sys.executable, "-c", UPDATE, str(docs), str(out), at], timeout=PATIENCE, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert found(out, "file30")[:1] == ["File 30\n\nThe animal of file30 is an owl30."]  # opening brings it back
    assert files_of(out) == before
    update_index(docs, out)
    assert found(out, "file30")[:1] == ["File 30\n\nThe animal of file30 is a badger30."]
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
