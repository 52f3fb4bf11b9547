"""What a user uploads holds up nobody else: it is indexed in a process of its own, within limits."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import CorpusError
from hopgraph.tools.apps.server.index_upload import IndexingStage, UserCorpus
from hopgraph.tools.apps.server.page.document_store import UserDocuments
from support.waiting import until

HEADINGS = ["# " + " #" * 500_000 + "x", "#" * 1_000_000, "# " + "\t" * 1_000_000 + "x"]
"""A megabyte each."""


async def add(documents: UserDocuments, file: Path) -> UserCorpus:
    async for each in documents.index("anna", [file]):
        if not isinstance(each, IndexingStage):
            return each
    raise AssertionError("no corpus came")


@pytest.mark.slow
async def test_a_heading_of_a_megabyte(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("".join(f"{line}\n\nRain falls on the western coast.\n\n" for line in HEADINGS))
    documents = UserDocuments(tmp_path / "documents", 10_000_000, max_seconds=60)
    assert (await add(documents, file))["passages"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "limit",
    [
        pytest.param({"max_seconds": 1}, id="time"),
        pytest.param({"max_memory": 300 << 20}, id="memory"),
    ],
)
async def test_limits_end_the_process_and_nothing_is_left(tmp_path: Path, limit: dict[str, Any]) -> None:
    file = tmp_path / "a.txt"
    file.write_text(
        "".join(f"Rain number {number} falls on the coast of Bergen today.\n\n" for number in range(400_000))
    )
    documents = UserDocuments(tmp_path / "documents", 100_000_000, **limit)
    with pytest.raises(CorpusError, match=r"^indexing took more than .*; upload less at once$"):
        await add(documents, file)
    assert await documents.list_for("anna") == []
    assert [path for path in documents.folder.rglob("*") if path.is_file()] == []
    file.write_text("Rain falls.")
    assert (await add(UserDocuments(documents.folder, 1_000), file))["passages"] == 1


@pytest.mark.slow
async def test_whoever_stops_an_upload_ends_its_process(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("".join(f"Rain number {number} falls.\n\n" for number in range(50_000)))
    documents = UserDocuments(tmp_path / "documents", 100_000_000)
    task = asyncio.create_task(add(documents, file))
    await until(lambda: any(documents.folder.rglob("passages.jsonl")))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [path for path in documents.folder.rglob("*") if path.is_file()] == []
