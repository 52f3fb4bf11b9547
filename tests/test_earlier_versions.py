"""Indexes, runs and conversations of earlier versions are used, or refused in one line that says what to do."""

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from hopgraph.tools.apps.cli import main
from hopgraph.tools.apps.server.page.chat_session import ChatSession, TurnOptions
from hopgraph.tools.apps.server.server_options import ServingOptions
from hopgraph.tools.retrieval.resolve import resolve_retriever
from support.paths import ROOT
from support.servers.web_app import WebApp, open_app, without_page

WRITTEN = ROOT / "tests" / "support" / "earlier_versions"
KEY = "key-of-ann-0123456789"
Said = Callable[..., tuple[int, str, str]]


@pytest.fixture(params=sorted(path.name.partition(".")[0] for path in WRITTEN.glob("*.tar.xz")))
def earlier(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What one version wrote, in the working folder."""
    with tarfile.open(WRITTEN / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Said:
    """Run a command; gives its exit code and what it wrote."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return run


def best(index: Path, query: str) -> str:
    """Text of the first hit."""
    return resolve_retriever(f"bm25:{index}").invoke(query)[0].page_content


@pytest.mark.usefixtures("earlier")
def test_an_index_is_read_or_says_how_to_build_it_again(said: Said) -> None:
    code, out, err = said("ask", "Who built the lighthouse?", "--method", "one_step", "--corpus", "index")
    assert "Edda Lund" in out if code == 0 else (err.count("hopgraph: "), "--replace" in err) == (1, True)
    assert said("index", "documents", "--out", "index", "--replace")[0] == 0
    assert "built in 1896 by Edda Lund" in best(Path("index"), "builder of the lighthouse")
    Path("documents/weather.md").write_text("# Weather\n\nThe storm of 1901 broke the lamp.\n")
    assert said("index", "documents", "--out", "index")[0] == 0
    assert "1901" in best(Path("index"), "storm")


@pytest.mark.usefixtures("earlier")
def test_a_run_is_shown_and_compared_and_not_resumed_with_other_prompts(said: Said) -> None:
    code, out, _ = said("compare", "run")
    assert code == 0
    assert "100.0" in next(line for line in out.splitlines() if line.startswith("migres "))
    code, out, _ = said("show", "run", "q2", "--method", "migres")
    assert code == 0
    assert "1896" in out
    said("index", "documents", "--out", "index", "--replace")
    results = Path("run/results/migres.jsonl").read_bytes()
    code, _, err = said("eval", "questions.jsonl", "--methods", "migres", "--corpus", "index", "--out", "run")
    assert code == 1
    assert [line for line in err.splitlines() if line.startswith("hopgraph: ")] == [err.strip()]
    assert "--out" in err
    assert Path("run/results/migres.jsonl").read_bytes() == results


async def send(app: WebApp, thread: str, *texts: str, **more: Any) -> str:
    messages = [
        {"id": f"m{number + 1}", "role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(texts)
    ]
    body = {"threadId": thread, "runId": "r", "state": {}, "messages": messages, "tools": [], "context": [], **more}
    settings = {"answer_type": "short", "review_queries": thread == "paused"}  # as it was when the thread was paused
    body["forwardedProps"] = {"hopgraph": {"method": "migres", **settings}}
    async with httpx.AsyncClient(base_url=app.url, timeout=60, headers={"Authorization": f"Bearer {KEY}"}) as client:
        reply = await client.post("/ag-ui", json=body)
    assert reply.status_code == 200, reply.text
    return reply.text


async def test_conversations_are_shown_and_go_on(earlier: Path, said: Said) -> None:
    assert said("index", "documents", "--out", "index", "--replace")[0] == 0
    options: ServingOptions = without_page(earlier, keys={KEY: "ann"}, settings={"retriever": "bm25:index"})
    async with open_app(options) as app:
        listed = await app.service.threads.list_for("ann")
        assert [each["title"] for each in listed] == [
            "When was the lighthouse of Vardø built?",
            "Where was the builder of the lighthouse of Vardø born?",
            "Where was Edda Lund born?",
        ]
        page = ChatSession(lambda: app.service)
        [turn] = (await page.open("ann", listed[0]["id"])).turns
        assert "1896" in str(turn)
        again = await page.ask("ann", listed[0]["id"], "Where was Edda Lund born?", TurnOptions(method="one_step"))
        views = [view async for view in again.follow()]
        assert "Tromsø" in str(views[-1].turns[-1])
        question = "Where was Edda Lund born?"
        answered = await send(app, "first", question, "Tromsø", "When was the lighthouse of Vardø built?")
        assert "RUN_ERROR" not in answered
        assert "1896" in answered
        state = await app.service.chat.aget_state(app.service.threads.config("ann", "paused"))
        interrupts = [each.id for each in state.interrupts]
        assert interrupts
        approved = [{"interruptId": each, "status": "resolved", "payload": "approve"} for each in interrupts]
        resumed = await send(app, "paused", listed[1]["title"], resume=approved)
        assert "RUN_ERROR" not in resumed
        assert "retrieved" in resumed
