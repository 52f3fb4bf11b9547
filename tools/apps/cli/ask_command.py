"""`hopgraph ask`: answer a question and show how."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Interrupt, StreamMode
from rich.console import Console

from hopgraph.graphs import find_method
from hopgraph.nodes.prepare import checked_question
from hopgraph.state import Context, QuestionError, SettingsError
from hopgraph.state.events import event_order
from hopgraph.tools.apps.cli.commands import AskOptions
from hopgraph.tools.apps.cli.console import console_on, print_json
from hopgraph.tools.apps.cli.review_prompts import ask_person, review_settings
from hopgraph.tools.apps.cli.run_output import RunDisplay, print_answer, print_header, print_tree
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.runs.answer_record import answer_record
from hopgraph.tools.apps.runs.narration import Narrator
from hopgraph.tools.io.guarded_files import write_files

Graph = CompiledStateGraph[Any, Any, Any, Any]

_THREAD: RunnableConfig = {"configurable": {"thread_id": "ask"}}
"""The only thread of a run that can pause."""


def run_ask(options: AskOptions) -> None:
    """Answer a question; settings, prompts and corpus are checked before the first model call."""
    method = find_method(options.method)
    assignments = [*(options.assignments or []), *(review_settings(options.review) if options.review else [])]
    settings = settings_for(method.Context, options.preset, assignments, model=options.model, corpus=options.corpus)
    if options.save and options.save.expanduser().is_dir():
        raise SettingsError(f"--save {str(options.save)!r:.80}: it is a folder; name a file in it")
    question = checked_question(_read_question(options.question))
    graph: Graph = method.graph
    if options.review or not method.is_built_in:  # its runs can pause
        graph = method.build().compile(checkpointer=InMemorySaver(), name=graph.get_name())
    narrator, console, steps = Narrator(verbose=options.verbose), console_on(), not (options.as_json or options.quiet)
    if not options.as_json:
        print_header(console if steps else console_on(stderr=True), graph.get_name(), settings)
    with RunDisplay(console if steps else Console(quiet=True), whole=options.verbose) as display:
        state, seconds = _answer(graph, question, settings, narrator, display)
    record = answer_record(settings, state, sorted(narrator.events, key=event_order))
    if options.save:
        # Half of a pair of surrogates, which a model may send, is no text that a file could hold.
        text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
        write_files({options.save.expanduser(): f"{text}\n".encode("utf-8", "replace")})
    if options.as_json:
        print_json(record)
        return
    print_answer(console, state, seconds if steps else None)
    if steps:
        print_tree(console, question, narrator.events, whole=options.verbose)


def _answer(
    graph: Graph, question: str, settings: Context, narrator: Narrator, display: RunDisplay
) -> tuple[Mapping[str, Any], float]:
    """Run a graph, with a person's review wherever it pauses; return the last state and the seconds without reviews."""
    given: Any = {"question": question}
    began, seconds = time.perf_counter(), 0.0
    while True:
        # Outside the event loop, so that Ctrl-C ends the review.
        state, paused = asyncio.run(_run(graph, given, settings, narrator, display))
        seconds += time.perf_counter() - began
        if not paused:
            return state, seconds
        with display.pause():
            console = console_on(stderr=True)
            given = Command(resume={each.id: ask_person(console, each.value) for each in paused})
        began = time.perf_counter()


async def _run(
    graph: Graph, given: Any, settings: Context, narrator: Narrator, display: RunDisplay
) -> tuple[Mapping[str, Any], list[Interrupt]]:
    """Run a graph to its end or to a pause, showing each superstep; returns the last state and what is asked."""
    state: Mapping[str, Any] = {}
    paused: list[Interrupt] = []
    modes: list[StreamMode] = ["custom", "values", "tasks"]
    stream = graph.astream(given, _THREAD, context=settings, stream_mode=modes, subgraphs=True)
    async with aclosing(cast("AsyncGenerator[Any]", stream)) as steps:
        async for namespace, mode, chunk in steps:
            if mode == "custom":
                display.print_lines(narrator.add_event(chunk))
            elif namespace:
                continue  # of subgraphs only what they report is shown
            elif mode == "values":
                paused += chunk.get("__interrupt__", ())
                if "passages" not in chunk:
                    continue
                state = chunk
                display.print_lines(narrator.add_passages(chunk["passages"]))
                display.show_tree(chunk["question"], narrator.events)
            elif "input" in chunk:  # a task begins; its end is reported, too
                display.show_node(chunk["name"])
    display.print_lines(narrator.flush())
    return state, sorted(paused, key=lambda each: each.id)  # parallel branches pause in any order


def _read_question(given: str) -> str:
    """Return the question, or read it from standard input for `-`; what is not UTF-8 would otherwise be lost unseen."""
    with suppress(UnicodeError):
        if given == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
        given.encode("utf-8")
        return given
    raise QuestionError("the question is not valid UTF-8")
