"""`hopgraph serve`, and its errors."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.tools.apps.cli.serving_commands import packaged_graphs
from support.own_methods import PLAIN
from support.waiting import PATIENCE

Run = Callable[..., Any]


PICKLES = {
    ".langgraph_ops.pckl",
    ".langgraph_retry_counter.pckl",
    "store.pckl",
    "store.vectors.pckl",
    *(f".langgraph_checkpoint.{number}.pckl" for number in (1, 2, 3)),
}
"""Files that the server would load from its working directory."""


SAID: Any = {"messages": [{"type": "human", "content": "Who?"}]}


class Hostile:
    """Reports when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


@dataclass
class Served:
    process: "subprocess.Popen[bytes]"
    url: str
    log: Path
    folder: Path


@contextmanager
def serving(folder: Path, *options: str, **environment: str) -> Generator[Served]:
    """Run `hopgraph serve` in a folder until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    log, url = folder / "log", f"http://127.0.0.1:{port}"
    command = [str(Path(sys.executable).parent / "hopgraph"), "serve", "--port", str(port), *options]
    given = {**os.environ, "LANGSMITH_TRACING": "false", "NO_COLOR": "1", **environment}
    with log.open("wb") as written:
        process = subprocess.Popen(
            command, cwd=folder, env=given, stdout=written, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _wait(process, url, log)
        yield Served(process, url, log, folder)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / ".langgraph_api").mkdir()
    own = tmp_path_factory.mktemp("own") / "plain.py"
    own.write_text(PLAIN, "utf-8")
    for name in PICKLES:
        (folder / ".langgraph_api" / name).write_bytes(pickle.dumps(Hostile()))
    with serving(folder, "--method", str(own)) as running:
        yield running


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    while process.poll() is None:
        try:
            if httpx.get(f"{url}/ok").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-3000:]}")


@pytest.mark.slow
def test_every_graph_is_served_from_any_folder_with_its_description(served: Served) -> None:
    with get_sync_client(url=served.url) as client:
        listed = {each["graph_id"]: each for each in client.assistants.search(limit=100)}
        assert set(listed) == {"chat", "plain", *(METHODS.keys() - ALIASES.keys())}
        assert all(each.get("description") for each in listed.values())
        thread = client.threads.create()["thread_id"]
        answer: Any = client.runs.wait(thread, "one_step", input={"question": "Who painted Guernica?"})
        own: Any = client.runs.wait(None, "plain", input={"question": "Who?"}, context={"tone": "rude", "times": 3})
        by_chat: Any = client.runs.wait(None, "chat", input=SAID, context={"use_method": "plain"})
        said: Any = {"messages": [{"type": "human", "content": [{"type": "text", "text": "Who painted Guernica?"}]}]}
        talk: Any = client.runs.wait(client.threads.create()["thread_id"], "chat", input=said)
    assert answer["answer"] == "Pablo Picasso"
    assert own["answer"] == "rude answer to Who? x3"
    assert by_chat["messages"][-1]["content"].startswith("mild answer to Who? x2")
    assert talk["messages"][-1]["content"].startswith("Pablo Picasso [1]")
    assert "BlockingError" not in served.log.read_text(errors="replace")


def test_graph_descriptions_equal_those_in_langgraph_json() -> None:
    assert packaged_graphs()["migres"] == {
        "path": "hopgraph.graphs.migres:graph",
        "description": "MIGRES: missing-information guided retrieve, extract, solve",
    }


@pytest.mark.slow
def test_a_port_in_use_is_reported_and_nothing_is_left_behind(served: Served, tmp_path: Path) -> None:
    port = served.url.rsplit(":", 1)[1]
    command = [str(Path(sys.executable).parent / "hopgraph"), "serve", "--port", port]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path)
    assert ran.returncode == 2
    assert list(tmp_path.iterdir()) == []
    assert f"hopgraph: port {port} is in use; choose another with --port" in ran.stderr


@pytest.mark.slow
def test_ctrl_c_ends_the_server_and_pickles_are_neither_loaded_nor_written(served: Served) -> None:
    os.killpg(served.process.pid, signal.SIGINT)
    assert served.process.wait(PATIENCE) in (0, 130)
    assert {each.name for each in served.folder.rglob("*")} == {"log", ".langgraph_api", *PICKLES}
    assert "No language model set; " in served.log.read_text(errors="replace")
    assert "Traceback" not in served.log.read_text(errors="replace")


@pytest.mark.slow
def test_sigterm_leaves_nothing_behind_and_remains_of_a_kill_are_removed(tmp_path: Path) -> None:
    """Other files in the temporary folder stay."""
    temporary, here = tmp_path / "temporary", tmp_path / "here"
    (temporary / "hopgraph-serve-of-another-kind").mkdir(parents=True)
    here.mkdir()
    for how in (signal.SIGKILL, signal.SIGTERM):
        with serving(here, TMPDIR=str(temporary)) as running:
            assert len(list(temporary.glob("hopgraph-serve-*"))) == 2
            running.process.send_signal(how)
            running.process.wait(PATIENCE)
    assert [each.name for each in temporary.glob("hopgraph-serve-*")] == ["hopgraph-serve-of-another-kind"]
    assert "Traceback" not in running.log.read_text(errors="replace")


@pytest.fixture
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGGRAPH_NO_VERSION_CHECK", "LANGGRAPH_DISABLE_FILE_PERSISTENCE", "LOG_LEVEL"):
        monkeypatch.setenv(name, "")  # so that it is restored


@pytest.mark.usefixtures("own_environment")
def test_a_missing_server_names_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph_api.cli", None)
    ran = run("serve")
    assert ran.code == 2
    assert "pip install 'hopgraph[server]'" in ran.err


@pytest.mark.slow
def test_without_any_server_package_the_extra_is_named(tmp_path: Path) -> None:
    missing = ("starlette", "uvicorn", "fastapi", "langgraph_api")
    code = f"import sys; sys.modules.update(dict.fromkeys({missing})); from hopgraph.tools.apps.cli import main; "
    command = [sys.executable, "-c", f"{code}sys.exit(main(['serve']))"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "run: pip install 'hopgraph[server]'" in ran.stderr


@pytest.mark.usefixtures("own_environment")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--model", "nonsense"), 2, "unknown model 'nonsense'"),
        (("--corpus", "nowhere"), 1, "nowhere"),
        (("--corpus", ""), 2, "corpus is empty"),
    ],
)
def test_the_servers_model_and_corpus_are_checked(run: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    ran = run("serve", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_the_servers_runs_use_its_model_and_corpus(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, str | None] = {}

    def look(*_: object, **__: object) -> None:
        given.update({name: os.environ.get(name) for name in ("HOPGRAPH_MODEL", "HOPGRAPH_RETRIEVER")})

    monkeypatch.setenv("HOPGRAPH_MODEL", "openai:another")
    monkeypatch.setenv("HOPGRAPH_RETRIEVER", "")
    monkeypatch.setattr("langgraph_api.cli.run_server", look)
    assert run("serve", "--port", "2031", "--model", "offline:extractive", "--corpus", "sample").code == 0
    assert given == {"HOPGRAPH_MODEL": "offline:extractive", "HOPGRAPH_RETRIEVER": "sample"}


def test_an_unwritable_folder_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".langgraph_api").write_text("no folder")
    monkeypatch.chdir(tmp_path)
    ran = run("serve")
    assert ran.code == 2
    assert "the server needs the folder .langgraph_api here" in ran.err
