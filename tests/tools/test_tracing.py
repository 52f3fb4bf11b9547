"""Tracing: by LangSmith's and OpenTelemetry's own environment variables, and nothing without them."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from support.servers.loopback import LoopbackServer
from support.servers.trace_receiver import TraceReceiver
from support.waiting import PATIENCE

_MAIN = "from hopgraph.tools.apps.cli import main; raise SystemExit(main())"
NODES = {"prepare", "retrieve", "sentence_filter", "extract", "nli_verify", "decide", "finish"}


@pytest.fixture
def receiver() -> TraceReceiver:
    return TraceReceiver()


@pytest.fixture
def url(receiver: TraceReceiver) -> Iterator[str]:
    with LoopbackServer(receiver.app()) as server:
        yield server.url


def ask(**variables: str) -> None:
    """Ask in a process of its own, as these variables are read once; what is sent arrives before it ends."""
    prefixes = ("LANGSMITH_", "LANGCHAIN_", "OTEL_", "HOPGRAPH_")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", _MAIN, "ask", "Who painted Guernica?", "--quiet"],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("Pablo Picasso")


@pytest.mark.slow
def test_nothing_is_sent_by_default(receiver: TraceReceiver, url: str) -> None:
    ask(LANGSMITH_ENDPOINT=url, LANGSMITH_API_KEY="key", OTEL_EXPORTER_OTLP_ENDPOINT=url)
    assert receiver.paths == []


@pytest.mark.slow
def test_langsmith_gets_every_step_by_its_usual_variables(receiver: TraceReceiver, url: str) -> None:
    ask(LANGSMITH_ENDPOINT=url, LANGSMITH_API_KEY="key", LANGSMITH_TRACING="true")
    names = {run["name"] for run in receiver.runs}
    assert {"MIGRES", "RuleBasedModel", "Bm25Retriever"} | NODES <= names
    [outermost] = [run for run in receiver.runs if not run.get("parent_run_id")]
    assert outermost["name"] == "MIGRES"
    assert outermost["inputs"]["question"] == "Who painted Guernica?"
    nested = {run["id"] for run in receiver.runs}
    assert all(run["parent_run_id"] in nested for run in receiver.runs if run is not outermost)


@pytest.mark.slow
def test_opentelemetry_gets_a_span_for_every_step_and_langsmith_nothing(receiver: TraceReceiver, url: str) -> None:
    ask(
        LANGSMITH_TRACING="true",
        LANGSMITH_OTEL_ENABLED="true",
        LANGSMITH_OTEL_ONLY="true",
        LANGSMITH_ENDPOINT=f"{url}/langsmith",
        OTEL_EXPORTER_OTLP_ENDPOINT=url,
    )
    assert {"MIGRES", "RuleBasedModel", "Bm25Retriever"} | NODES <= set(receiver.spans)
    assert set(receiver.paths) == {"/v1/traces"}
