"""The installed console script."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.fake_clock import NEVER
from support.servers.openai_server import OpenAIServer
from support.servers.scripted_model import ScriptedChatModel
from support.waiting import PATIENCE, wait_until

Run = Callable[..., Any]
QUESTION = "Who died first, Alan Turing or Rosalind Franklin?"


@pytest.mark.slow
def test_an_ascii_terminal_gets_an_answer_in_ascii(run_script: Run) -> None:
    ran = run_script("ask", QUESTION, "--verbose", PYTHONIOENCODING="ascii")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.isascii()
    assert "\nMIGRES | model" in ran.out


def test_a_model_over_http_answers_and_its_failures_are_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = {
        "migres/extract": '{"useful_information": [{"info": "Turing died in 1954 [/b]\\u001b[31m.", '
        '"support_passages": [1]}]}',
        "migres/decide": '{"answer": {"text": "Alan [bold]Turing[/]", "confidence": 4}, "explanation": "[x", '
        '"used_information": [1]}',
    }
    heard: list[str] = []

    def reply(role: str, _messages: object) -> str:
        heard.append(role)
        return "no JSON" if heard.count(role) == 1 else replies[role]

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    with OpenAIServer(ScriptedChatModel(replies=reply), api_key="sk-test-0123456789") as server:
        ran = run("ask", QUESTION, "--model", f"openai:any?base_url={server.base_url}", "--set", "verify=false")
    assert (ran.code, ran.err) == (0, "")
    assert "Answer   Alan [bold]Turing[/]\n" in ran.out
    assert "  warning  migres/extract: 1 unusable reply (the reply contains no JSON object:" in ran.out
    assert "No language model set" not in ran.out
    assert "sk-test" not in ran.out
    assert "\x1b" not in ran.out


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help", marks=pytest.mark.long),
        pytest.param(["--version"], id="version", marks=pytest.mark.long),
        pytest.param(["ask", QUESTION, "--json"], id="ask"),
    ],
)
def test_a_full_disk_is_reported_in_one_line(arguments: list[str], script: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*script, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"hopgraph: No space left on device\n"


@pytest.mark.slow
def test_a_closed_pipe_ends_the_output_silently(script: list[str]) -> None:
    with subprocess.Popen([*script, "ask", QUESTION], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stderr
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 1


@pytest.mark.slow
def test_an_interrupted_question_ends_at_once_with_one_line(script: list[str]) -> None:
    with OpenAIServer(ScriptedChatModel(replies=lambda _role, _messages: "{}", latency=NEVER)) as server:
        running = subprocess.Popen(
            [*script, "ask", QUESTION, "--model", f"openai:any?base_url={server.base_url}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        wait_until(lambda: server.requests)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=PATIENCE)
        server.forgive()
    assert running.returncode == 130
    assert errors == b"hopgraph: interrupted\n"


GRAPHS = {"langgraph", "langchain_core"}
NUMBERS = {"numpy", "scipy", "bm25s", "Stemmer"}
CLIENTS = {"openai", "langchain_openai", "tiktoken", "httpx", "yaml"}
MAIN = "from hopgraph.tools.apps.cli import main; code = main({})"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        (MAIN.format(["--version"]), GRAPHS | NUMBERS | CLIENTS),
        (MAIN.format(["ask", "--help"]), GRAPHS | NUMBERS | CLIENTS),
        ("import hopgraph.graphs", GRAPHS | NUMBERS | CLIENTS),
        ("import hopgraph.graphs.migres", NUMBERS | CLIENTS - {"httpx"}),
        ("import hopgraph.graphs; hopgraph.graphs.list_methods()", NUMBERS | CLIENTS - {"httpx"}),
    ],
)
def test_unneeded_modules_are_not_loaded(code: str, heavy: set[str]) -> None:
    """Loading any of these would double the start-up time."""
    code = f"import sys; {code}; heavy = {heavy} & sys.modules.keys(); sys.exit(f'loaded {{heavy}}' if heavy else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
