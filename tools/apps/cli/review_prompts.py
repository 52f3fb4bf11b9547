"""Review of queries and evidence by a person on the terminal, for `hopgraph ask --review`.

It goes to standard error, so that standard output holds only the answer.
"""

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from hopgraph.nodes.core.human_review import question_of_others
from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.commands import ReviewChoice
from hopgraph.tools.apps.cli.console import print_hanging, print_line
from hopgraph.tools.text.sanitize import sanitize_line, truncate_line

_PASSAGE_SHOWN = 300
"""Characters of a passage that are shown of it."""
_HELP = {
    "queries": "Enter: send · n: send none · d 1 2: drop · e 1: edit · a: add · q: quit",
    "evidence": "Enter: use · n: use none · d 1 2: drop · e 1: edit · q: quit",
}


def review_settings(choice: ReviewChoice) -> list[str]:
    """Return the settings that a choice of `--review` stands for, as `--set` takes them.

    Raises:
        SettingsError: standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        raise SettingsError("--review asks on the terminal, and standard input is none; run it in one")
    return [f"review_{kind}=true" for kind in _HELP if choice in (kind, "all")]


def _read_line() -> str:
    line = sys.stdin.buffer.readline()
    if not line:
        raise KeyboardInterrupt
    return line.decode("utf-8", "replace").strip()


def ask_person(console: Console, payload: Any) -> dict[str, Any] | str:
    """Show what a run paused with and return what to resume it with: a review, or an answer in words."""
    if asked := question_of_others(payload):
        print_line(console, asked, "bold")
        console.print(Text("> ", "cyan"), end="")
        return _read_line()
    return ReviewPrompt(console, payload).ask()


class ReviewPrompt:
    """One review by a person of what a run paused with (see `hopgraph.nodes.core.human_review`)."""

    def __init__(self, console: Console, payload: Mapping[str, Any], read: Callable[[], str] = _read_line) -> None:
        self.console, self.payload, self.read, self.kind = console, payload, read, str(payload["kind"])
        self.items: list[dict[str, Any]] = [dict(each) for each in payload[self.kind]]
        """What is left of the list, as it would go back."""

    def ask(self) -> dict[str, Any]:
        """Ask until the person is content; return what to resume the run with.

        Raises:
            KeyboardInterrupt: the person quits, or the input ends.
        """
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
        """Carry out a command; return what is wrong with it, empty if nothing is."""
        if command == "a" and self.kind == "queries":
            if text := rest or self._read("new text> "):
                self.items.append({"text": text, "why": ""})
            return ""
        if command not in ("d", "e"):
            return f"not understood: {truncate_line(command, 20)!r}"
        named = re.match(r"[\d\s,]*", rest)
        numbers = [int(digits) for digits in re.findall(r"\d{1,6}", named[0] if named else "")]
        if not numbers or not all(1 <= number <= len(self.items) for number in numbers):
            return f"name numbers from 1 to {len(self.items)}, as in: {command} 1" if self.items else "nothing is left"
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
        print_line(self.console, _HELP[self.kind] if self.items else "nothing is left; Enter continues without", "dim")
