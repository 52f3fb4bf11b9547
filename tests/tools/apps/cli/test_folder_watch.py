"""`hopgraph chat FOLDER` and `hopgraph index --watch` follow changes of the files."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from hopgraph.tools.apps.cli import folder_watch
from hopgraph.tools.apps.cli.folder_watch import keep_up_to_date, kept_index
from hopgraph.tools.retrieval import open_index
from support.servers.web_app import ChatProcess, chat_process
from support.waiting import until, wait_until

QUESTION = "What is the capital of Zorbia?"


def answer(chat: ChatProcess) -> str:
    body = {"model": "one_step", "messages": [{"role": "user", "content": QUESTION}]}
    return httpx.post(f"{chat.url}/v1/chat/completions", json=body, timeout=60).json()["choices"][0]["message"][
        "content"
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my documents"
    (folder / "islands").mkdir(parents=True)
    (folder / "islands" / "zorbia.md").write_text("# Zorbia\n\nThe capital of Zorbia is Plim.\n")
    return folder


@pytest.mark.slow
def test_answers_follow_changes_in_a_folder(folder: Path, tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with chat_process(tmp_path, str(folder), environment=environment) as chat:
        assert "Plim" in answer(chat)
        (folder / "islands" / "zorbia.md").write_text("# Zorbia\n\nThe capital of Zorbia is Quonville.\n")
        wait_until(lambda: "0 files added, 1 changed" in chat.said())
        wait_until(lambda: "Quonville" in answer(chat))
        (folder / "islands" / "zorbia.md").unlink()  # no passage is left: the index stays, and the log says why
        wait_until(lambda: "the documents were not updated" in chat.said())
        assert "Quonville" in answer(chat)
        assert chat.stop() == 0
    (kept,) = (tmp_path / "cache" / "hopgraph" / "indexes").iterdir()
    assert kept.name.startswith("my documents-")
    assert kept.parent.stat().st_mode & 0o777 == 0o700


@pytest.fixture
async def index_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[Path], Path]]:
    """Watch a source and keep an index of it while the test runs."""
    monkeypatch.setattr(folder_watch, "_PAUSE", 0.2)
    async with asyncio.TaskGroup() as tasks:
        watching = list[asyncio.Task[None]]()

        def follow(source: Path) -> Path:
            watching.append(tasks.create_task(keep_up_to_date(source, tmp_path / "index")))
            return tmp_path / "index"

        yield follow
        watching[0].cancel()


async def indexed(index: Path, text: str) -> None:
    def passages() -> str:
        with suppress(FileNotFoundError):  # not indexed yet, or being replaced by a new index
            return (index / "passages.jsonl").read_text()
        return ""

    await until(lambda: text in passages())


@pytest.mark.slow
async def test_every_replacement_of_a_file_is_noticed(tmp_path: Path, index_of: Callable[[Path], Path]) -> None:
    source, part = tmp_path / "zorbia.txt", tmp_path / "part"
    source.write_text("The capital of Zorbia is Plim.")
    index = index_of(source)
    for capital in ("Plim", "Quonville", "Mardle"):
        part.write_text(f"The capital of Zorbia is {capital}.")
        os.replace(part, source)
        await indexed(index, capital)


@pytest.mark.slow
async def test_a_removed_and_restored_folder_is_noticed(
    folder: Path, index_of: Callable[[Path], Path], caplog: pytest.LogCaptureFixture
) -> None:
    index = index_of(folder)
    await indexed(index, "Plim")
    folder.rename(folder.with_name("away"))
    await until(lambda: "the documents cannot be watched" in caplog.text)
    folder.mkdir()
    (folder / "zorbia.md").write_text("The capital of Zorbia is Quonville.")
    await indexed(index, "Quonville")
    (folder / "zorbia.md").write_text("The capital of Zorbia is Mardle.")
    await indexed(index, "Mardle")


def test_folders_with_the_same_name_have_separate_indexes(tmp_path: Path) -> None:
    one, other = kept_index(tmp_path / "a" / "docs"), kept_index(tmp_path / "b" / "docs")
    assert one != other
    assert one == kept_index(tmp_path / "a" / ".." / "a" / "docs")


@pytest.mark.slow
def test_an_index_follows_its_source_until_ctrl_c(folder: Path, tmp_path: Path) -> None:
    command = [Path(sys.executable).parent / "hopgraph", "index", folder, "--out", tmp_path / "index", "--watch"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: (tmp_path / "index" / "manifest.json").exists())
            (folder / "more.txt").write_text("The river Quon is 40 km long.")
            wait_until(lambda: len(open_index(tmp_path / "index").passages) == 2)
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
