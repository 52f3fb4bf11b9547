"""`hopgraph ask`: answer a question and show how."""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast

from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StreamMode

from hopgraph.nodes.prepare import checked_question
from hopgraph.state import Context, QuestionError
from hopgraph.tools.cli.answer import answer_record, print_answer
from hopgraph.tools.cli.console import console_on
from hopgraph.tools.cli.settings import method_named, settings_for
from hopgraph.tools.cli.show import Shown, print_header
from hopgraph.tools.cli.watch import Watcher

Output = Literal["steps", "quiet", "json"]
Graph = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    question: str
    """`-` to read it from standard input."""
    method: str
    model: str | None
    corpus: str | None
    preset: str | None
    assignments: list[str]
    output: Output
    verbose: bool


def run_ask(wanted: Wanted) -> None:
    """Answer a question; settings, prompts and corpus are checked before the first model call.

    Raises:
        HopgraphError: whatever makes it impossible.
    """
    module = method_named(wanted.method)
    settings = settings_for(
        module.Context,
        preset=wanted.preset,
        assignments=wanted.assignments,
        model=wanted.model,
        corpus=wanted.corpus,
    )
    question = checked_question(read_question(wanted.question))
    graph = cast("Graph", module.graph)
    watcher = Watcher(verbose=wanted.verbose)
    if wanted.output == "json":
        state = asyncio.run(_run(graph, question, settings, watcher, Shown(None)))
        _print_json(answer_record(settings, state, watcher.trace()))
        return
    console, quiet = console_on(), wanted.output == "quiet"
    print_header(console_on(stderr=True) if quiet else console, graph.get_name(), settings)
    began = time.perf_counter()
    with Shown(None if quiet else console) as shown:
        state = asyncio.run(_run(graph, question, settings, watcher, shown))
    print_answer(console, state, None if quiet else time.perf_counter() - began)


async def _run(graph: Graph, question: str, settings: Context, watcher: Watcher, shown: Shown) -> Mapping[str, Any]:
    """Run a graph to its end, showing each superstep; returns the last state."""
    state: Mapping[str, Any] = {}
    modes: list[StreamMode] = ["custom", "values", "tasks"]
    stream = graph.astream({"question": question}, context=settings, stream_mode=modes, subgraphs=True)
    async for namespace, mode, chunk in cast("Any", stream):
        if mode == "custom":
            shown.lines(watcher.see(chunk))
        elif namespace:
            continue  # of subgraphs only what they report is shown
        elif mode == "values":
            state = chunk
            shown.lines(watcher.learn(chunk["passages"]))
        elif "input" in chunk:  # a task begins; its end is reported, too
            shown.step(chunk["name"])
    shown.lines(watcher.flush())
    return state


def read_question(given: str) -> str:
    """Take the question, or read it from standard input for `-`.

    Raises:
        QuestionError: bytes that are not UTF-8, which would otherwise be lost unseen.
    """
    with suppress(UnicodeError):
        if given == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
        given.encode("utf-8")
        return given
    raise QuestionError("the question is not valid UTF-8")


def _print_json(record: Mapping[str, Any]) -> None:
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(record, ensure_ascii=not utf8, indent=indent, allow_nan=False)
    sys.stdout.write(f"{text}\n")
