"""`hopgraph ask`: answer a question and show how, with human review of queries and evidence on the terminal."""

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Interrupt, StreamMode
from rich.console import Console
from rich.text import Text

from hopgraph.graphs import find_method
from hopgraph.nodes.core.human_review import question_of_others
from hopgraph.nodes.prepare import checked_question
from hopgraph.state import Context, QuestionError, SettingsError
from hopgraph.state.events import event_order
from hopgraph.tools.apps.cli.commands import AskOptions
from hopgraph.tools.apps.cli.console import console_on, print_hanging, print_json, print_line
from hopgraph.tools.apps.cli.run_output import RunDisplay, print_answer, print_header, print_tree
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.apps.runs.answer_record import answer_record
from hopgraph.tools.apps.runs.narration import Narrator
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

Graph = CompiledStateGraph[Any, Any, Any, Any]

_THREAD: RunnableConfig = {"configurable": {"thread_id": "ask"}}  # the only thread of a run that can pause
_PASSAGE_SHOWN = 300  # maximum characters shown of a passage
_HELP = {
    "queries": "Enter: send · n: send none · d 1 2: drop · e 1: edit · a: add · q: quit",
    "evidence": "Enter: use · n: use none · d 1 2: drop · e 1: edit · q: quit",
}


def run_ask(options: AskOptions) -> None:
    """Answer a question; settings, prompts and corpus are checked before the first model call."""
    method = find_method(options.method)
    assignments = [*(options.assignments or []), *(_review_settings(options.review) if options.review else [])]
    settings = settings_for(
        method.Context, assignments, preset=options.preset, model=options.model, corpus=options.corpus
    )
    if options.save and options.save.expanduser().is_dir():
        raise SettingsError(f"--save {str(options.save)!r:.80}: this is a folder; name a file in it")
    question = checked_question(_read_question(options.question))
    graph: Graph = method.graph
    if options.review or not method.is_built_in:  # its runs may pause
        graph = method.build().compile(checkpointer=InMemorySaver(), name=graph.get_name())
    narrator, console, steps = Narrator(verbose=options.verbose), console_on(), not (options.as_json or options.quiet)
    if not options.as_json:
        print_header(console if steps else console_on(stderr=True), graph.get_name(), settings)
    with RunDisplay(console if steps else Console(quiet=True), whole=options.verbose) as display:
        state, seconds = _answer(graph, question, settings, narrator, display)
    record = answer_record(settings, state, sorted(narrator.events, key=event_order))
    if options.save:
        # A lone surrogate, which a model may send, cannot be written to a file.
        text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
        write_files({options.save.expanduser(): f"{text}\n".encode("utf-8", "replace")})
    if options.as_json:
        print_json(record)
        return
    if steps:
        print_tree(console, question, narrator.events, whole=options.verbose)
    print_answer(console, state, seconds if steps else None)


def _answer(
    graph: Graph, question: str, settings: Context, narrator: Narrator, display: RunDisplay
) -> tuple[Mapping[str, Any], float]:
    """Run a graph, with a human review wherever it pauses; return the final state and the seconds without reviews."""
    given: Any = {"question": question}
    seconds = 0.0
    while True:
        began = time.perf_counter()
        # Outside the event loop, so that Ctrl-C stops the review.
        state, paused = asyncio.run(_run(graph, given, settings, narrator, display))
        seconds += time.perf_counter() - began
        if not paused:
            return state, seconds
        with display.pause():
            console = console_on(stderr=True)
            given = Command(resume={each.id: _ask_person(console, each.value) for each in paused})


async def _run(
    graph: Graph, given: Any, settings: Context, narrator: Narrator, display: RunDisplay
) -> tuple[Mapping[str, Any], list[Interrupt]]:
    """Run a graph to its end or to a pause, showing each step; return the last state and the pauses."""
    state: Mapping[str, Any] = {}
    paused: list[Interrupt] = []
    modes: list[StreamMode] = ["custom", "values", "tasks"]
    stream = graph.astream(given, _THREAD, context=settings, stream_mode=modes, subgraphs=True)
    async with aclosing(cast("AsyncGenerator[Any]", stream)) as steps:
        async for namespace, mode, chunk in steps:
            if mode == "custom":
                display.print_lines(narrator.add_event(chunk))
            elif namespace:
                continue  # only the events of subgraphs are shown
            elif mode == "values":
                paused += chunk.get("__interrupt__", ())
                if "passages" not in chunk:
                    continue
                state = chunk
                display.print_lines(narrator.add_passages(chunk["passages"]))
                display.show_tree(chunk["question"], narrator.events)
            elif "input" in chunk:  # a task starts; its end is reported as well
                display.show_node(chunk["name"])
    display.print_lines(narrator.flush())
    return state, sorted(paused, key=lambda each: each.id)  # parallel branches pause in any order


def _read_question(given: str) -> str:
    """Return the question, or read it from standard input for `-`; refuse invalid UTF-8 instead of losing it."""
    with suppress(UnicodeError):
        if given == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
        given.encode("utf-8")
        return given
    raise QuestionError("the question is not valid UTF-8")


def _review_settings(choice: str) -> list[str]:
    """Return the settings that a value of `--review` stands for, in the form of `--set`."""
    if not sys.stdin.isatty():
        raise SettingsError("--review needs a terminal to read from")
    return [f"review_{kind}=true" for kind in _HELP if choice in (kind, "all")]


def _read_line() -> str:
    if line := sys.stdin.buffer.readline():
        return line.decode("utf-8", "replace").strip()
    raise KeyboardInterrupt


def _ask_person(console: Console, payload: Any) -> dict[str, Any] | str:
    """Show a pause to the user; return the value to resume the run with: a review, or the text of an answer."""
    if asked := question_of_others(payload):
        print_line(console, asked, "bold")
        console.print(Text("> ", "cyan"), end="")
        return _read_line()
    return ReviewPrompt(console, payload).ask()


class ReviewPrompt:
    """A user's review of a paused run (see `hopgraph.nodes.core.human_review`)."""

    def __init__(self, console: Console, payload: Mapping[str, Any], read: Callable[[], str] = _read_line) -> None:
        self.console, self.payload, self.read, self.kind = console, payload, read, str(payload["kind"])
        self.items: list[dict[str, Any]] = [dict(each) for each in payload[self.kind]]
        """The remaining entries, in the form to send back."""

    def ask(self) -> dict[str, Any]:
        """Prompt until the user is done; return the value to resume the run with. Quitting is a KeyboardInterrupt."""
        print_line(self.console, f"Review of the {self.kind}, iteration {self.payload['hop']}", "bold")
        if problem := self.payload.get("problem"):
            print_line(self.console, str(problem), "bold yellow")
        self._show()
        while True:
            command, _, rest = self._read("> ").partition(" ")
            if command in ("n", "no") or (command in ("", "y", "yes") and not self.items):
                return {"action": "reject"}
            if command in ("", "y", "yes"):
                edited = self.items != [dict(each) for each in self.payload[self.kind]]
                return {"action": "edit", self.kind: self.items} if edited else {"action": "approve"}
            if command in ("q", "quit"):
                raise KeyboardInterrupt
            if problem := self._edit(command, rest.strip()):
                print_line(self.console, problem, "yellow")
            else:
                self._show()

    def _edit(self, command: str, rest: str) -> str:
        """Execute a command; return what is wrong with it, empty if nothing is."""
        if command == "a" and self.kind == "queries":
            if text := rest or self._read("new text> "):
                self.items.append({"text": text, "why": ""})
            return ""
        if command not in ("d", "e"):
            return f"not understood: {truncate_line(command, 20)!r}"
        listed = re.split(r"[^\d\s,]", rest, maxsplit=1)[0]
        numbers = [int(digits) for digits in re.findall(r"\d{1,6}", listed)]
        if not numbers or not all(1 <= number <= len(self.items) for number in numbers):
            return f"use numbers from 1 to {len(self.items)}, e.g. {command} 1" if self.items else "nothing is left"
        if command == "d":
            self.items = [each for number, each in enumerate(self.items, start=1) if number not in numbers]
            return ""
        item = self.items[numbers[0] - 1]
        if not item.get("editable", True):
            return "a passage can be dropped, but its text cannot be changed"
        item["text"] = re.sub(r"^\d+\s*", "", rest) or self._read("new text> ") or item["text"]
        return ""

    def _read(self, prompt: str) -> str:
        self.console.print(Text(prompt, "cyan"), end="")
        return self.read()

    def _show(self) -> None:
        width = len(str(len(self.items))) + 3
        for number, each in enumerate(self.items, start=1):
            text = truncate_line(each["text"], _PASSAGE_SHOWN)
            print_hanging(self.console, Text(f"  {number}", "cyan"), Text(text), indent=width)
            if about := " · ".join(each.get("titles", ())) or each.get("why", ""):
                print_hanging(self.console, Text(), Text(sanitize_line(about), "dim"), indent=width)
        print_line(self.console, _HELP[self.kind] if self.items else "nothing is left; press Enter to continue", "dim")
