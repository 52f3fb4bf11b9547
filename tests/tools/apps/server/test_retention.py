"""Retention of users' data: the audit log, old conversations and old documents."""

import asyncio
import json
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.server import monitoring, page, service
from hopgraph.tools.apps.server.monitoring import AuditLog
from hopgraph.tools.apps.server.page.chat_session import ChatSession
from hopgraph.tools.apps.server.server_options import ServingOptions, serving_options
from support.servers.by_hand import by_hand
from support.servers.protocols import chat_request
from support.servers.trap import ANN, BEN
from support.servers.web_app import WebApp, open_app, without_page
from support.waiting import until

DAY = 24 * 3600


async def ask(app: WebApp, text: str, key: str = ANN, **more: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=app.url, headers=headers, timeout=60) as client:
        return await client.post("/v1/chat/completions", json=chat_request(text, **more))


def entries(path: Path) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_the_audit_log_records_users_and_questions(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "audit.jsonl"
    options = without_page(
        tmp_path,
        keys={ANN: "ann", BEN: "ben"},
        audit_log=file,
        documents={"all": "sample", "hr": "sample"},
        documents_of=lambda user: ["all", "hr"] if user == "ann" else ["all"],
    )
    async with open_app(options) as app:
        await ask(app, "Who painted Guernica?")
        await ask(app, "Line\none: Wer malte Guernica? ü \udc80".encode("utf-8", "replace").decode(), BEN)
        await ask(app, "Who painted Guernica?", BEN, hopgraph={"documents": "hr"})
    first, second, refused = entries(file)
    assert {name: first[name] for name in ("user", "method", "outcome", "documents", "question", "thread")} == {
        "user": "ann",
        "method": "one_step",
        "outcome": "answered",
        "documents": ["all", "hr"],
        "question": "Who painted Guernica?",
        "thread": "",
    }
    assert first["cited"]
    assert all(each.partition("/")[0] in ("all", "hr") for each in first["cited"])
    assert (second["user"], second["question"].partition("\n")[0]) == ("ben", "Line")
    assert (refused["user"], refused["outcome"], refused["documents"]) == ("ben", "failed", [])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert ANN not in file.read_text()


def test_the_audit_log_is_bounded_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "_AUDIT_BYTES", 2_000)
    monkeypatch.setattr(monitoring, "_AUDIT_FILES", 3)
    (tmp_path / "audit.jsonl").write_text("")
    (tmp_path / "audit.jsonl").chmod(0o644)
    log = AuditLog(tmp_path / "audit.jsonl")
    for number in range(200):
        log.write({"question": f"{number} {'x' * 80}"})
    log.close()
    files = list(tmp_path.glob("audit.jsonl*"))
    assert len(files) == 4
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert all(each.stat().st_size <= 2_000 for each in files)
    assert entries(tmp_path / "audit.jsonl")[-1]["question"].startswith("199 ")


async def test_an_unwritable_audit_log_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At start-up it is refused; later, questions are answered and the gap is logged."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="name another file"):
        AuditLog(tmp_path / "file" / "audit.jsonl")
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "chmod", lambda *_: None)  # the device must stay world-writable
        log = AuditLog(tmp_path / "full.jsonl")
    log.write({"question": "x"})
    log.close()
    assert "it lacks a question" in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_conversation_in_use_survives_the_deletion_of_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(without_page(tmp_path, keys={ANN: "ann"})) as app:
        threads, listed = app.service.threads, asyncio.Event()
        for name in ("old", "continued"):
            await threads.create("ann", thread=name)
        list_old = threads.list_old

        async def list_and_continue(before: float) -> list[tuple[str, str]]:
            found = await list_old(before)
            later = "UPDATE hopgraph_threads SET changed = ? WHERE thread = 'continued'"
            await threads.rows(later, (time.time() + DAY,))
            listed.set()
            return found

        monkeypatch.setattr(threads, "list_old", list_and_continue)
        cleaning = asyncio.create_task(app.service.delete_old())
        await listed.wait()
        await gone(threads, "old")
        cleaning.cancel()
        await asyncio.wait([cleaning])
        assert [each["id"] for each in await threads.list_for("ann")] == ["continued"]


@pytest.mark.slow
async def test_old_conversations_and_documents_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With their messages, turns and corpora; newer ones and those in use stay."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    monkeypatch.setattr(service, "_CLEANING_SECONDS", 0.1)
    monkeypatch.setattr(page, "UPLOAD_SECONDS", 12.0)
    options = ServingOptions(threads=tmp_path / "t.sqlite", keys={ANN: "ann"}, keep_days=30)
    async with open_app(options) as app, by_hand(app.url, ANN) as ann:
        threads = app.service.threads
        for _ in range(3):
            await ann.call("ask", [None, "Who painted Guernica?", "one_step", None, "", []])
        old, used, young = [each["id"] for each in await threads.list_for("ann")]
        with app.service.admission.exclusive(f"ann:{used}"):
            await threads.rows(
                "UPDATE hopgraph_threads SET changed = ? WHERE thread <> ?", (time.time() - 31 * DAY, young)
            )
            await gone(threads, old)
            assert {each["id"] for each in await threads.list_for("ann")} == {used, young}
        await gone(threads, used)
        for table, column in (("hopgraph_turns", "thread"), ("checkpoints", "thread_id"), ("writes", "thread_id")):
            rows = await threads.rows(f"SELECT DISTINCT {column} FROM {table}")  # noqa: S608 - the names are ours
            assert {str(row[0]).removeprefix("ann:") for row in rows} <= {young}
        place = json.dumps([await ann.uploaded("rain.txt", "Rain falls.")])
        assert "1 passage indexed" in await ann.call("_add", [None, place, None, "mine", "english"])
        (record,) = tmp_path.glob("documents/*/*/corpus.json")
        long_ago = time.time() - 31 * DAY
        os.utime(record, (long_ago, long_ago))
        await until(lambda: not record.parent.exists())


async def gone(threads: Any, thread: str) -> None:
    for _ in range(600):
        if thread not in [each["id"] for each in await threads.list_for("ann")]:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the conversation is still there")


async def test_ratings_are_counted_and_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With comments, in the conversation's export and in the audit log."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    file = tmp_path / "audit.jsonl"
    options = ServingOptions(threads=tmp_path / "t.sqlite", keys={ANN: "ann"}, audit_log=file)
    async with open_app(options) as app, by_hand(app.url, ANN) as ann:
        await ann.call("ask", [None, "Who painted Guernica?", "one_step", None, "", []])
        ((thread, turn),) = await app.service.threads.rows("SELECT thread, turn FROM hopgraph_turns")
        session = ChatSession(lambda: app.service)
        await session.rate("ann", thread, turn, "bad")
        await session.rate("ann", thread, turn, "bad", f"The *year* is\nmissing. {'x' * 3_000}")
        rated = file.read_text().splitlines()[1:]
        metrics = (await ann.client.get("/metrics", headers={"Authorization": f"Bearer {ANN}"})).text
        exported = (await ann.client.get(f"/chat/conversations/{thread}")).text
        await session.rate("ann", thread, turn, "")
        without = (await ann.client.get(f"/chat/conversations/{thread}")).text
    assert 'hopgraph_feedback_total{rating="bad"} 1.0' in metrics
    assert "*Rating: Bad answer*: The *year\\* is missing. xxx" in exported
    assert "Rating" not in without
    _, first, second, third = entries(file)
    assert (first["rating"], first["comment"]) == ("bad", "")
    assert (second["user"], len(second["comment"])) == ("ann", 2_000)
    assert not [each for each in rated if "question" in each or "Guernica" in each]
    assert third["rating"] == ""


@pytest.mark.parametrize("given", ["-1", "0", "soon"])
def test_invalid_retention_days_are_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_KEEP_DAYS", given)
    with pytest.raises(SettingsError, match=r"must be (above 0|a number of days)"):
        serving_options()


def test_options_override_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOPGRAPH_KEEP_DAYS", "90")
    monkeypatch.setenv("HOPGRAPH_AUDIT_LOG", "/var/log/a.jsonl")
    assert (serving_options().keep_days, serving_options().audit_log) == (90, Path("/var/log/a.jsonl"))
    chosen = serving_options(keep_days=7, audit_log=tmp_path / "b.jsonl")
    assert (chosen.keep_days, chosen.audit_log) == (7, tmp_path / "b.jsonl")
    (tmp_path / "file").write_text("")
    threads = ("--threads", str(tmp_path / "t.sqlite"))
    for options, said in (
        (("--keep-days", "0"), "must be above 0, got 0"),
        (("--audit-log", str(tmp_path / "file" / "a.jsonl")), "name another file"),
    ):
        assert main(("chat", "--no-browser", "--port", "0", *threads, *options)) in (1, 2)
        assert said in capsys.readouterr().err
