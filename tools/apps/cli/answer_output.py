"""Print the result of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from hopgraph.state import Citation, Usage
from hopgraph.tools.apps.cli.console import print_hanging, print_line
from hopgraph.tools.text.sanitize import pluralize, sanitize_line

_ENDS = {
    "answered": "answered",
    "unanswerable": "ended without an answer",
    "max_iterations": "stopped at the last iteration",
    "max_depth": "stopped at the greatest depth",
    "budget": "stopped because the budget is used up",
}


def print_answer(console: Console, state: Mapping[str, Any], seconds: float | None) -> None:
    """Print the answer with numbered citations, why the run ended and what it used.

    Args:
        console: where to.
        state: the state at the end of the run.
        seconds: how long it took; None to print the answer and the citations alone.
    """
    if seconds is not None:
        console.print()
    _print_conclusion(console, state, short=seconds is None)
    _print_citations(console, state["citations"])
    if seconds is not None:
        console.print()
        line = f"{_ENDS.get(state['stop_reason'], state['stop_reason'])} · {_usage_line(state['usage'], seconds)}"
        print_line(console, line, "dim")


def _print_conclusion(console: Console, state: Mapping[str, Any], *, short: bool) -> None:
    if state["answer"]:
        label = Text() if short else Text("Answer", "bold")
        indent = 0 if short else 9
        print_hanging(console, label, Text(sanitize_line(state["answer"]), "bold green"), indent=indent)
        why = sanitize_line(state["explanation"])
    else:
        print_line(console, "No answer", "bold red")
        indent, missing = 9, sanitize_line(state.get("missing") or "")
        known = not missing or missing == sanitize_line(state["question"])
        why = sanitize_line(state["explanation"]) or ("" if known else f"still missing: {missing}")
    if why and not short:
        print_hanging(console, Text(), Text(why), indent=indent)


def _print_citations(console: Console, citations: Sequence[Citation]) -> None:
    if citations:
        console.print()
    width = len(f"[{len(citations)}] ")
    for number, citation in enumerate(citations, start=1):
        label = Text(f"[{number}]", "cyan")
        title = sanitize_line(citation["title"]) or sanitize_line(citation["passage_id"])
        said = " (said by the model, not found in the corpus)" if citation["kind"] == "model" else ""
        print_hanging(console, label, Text.assemble((title, "bold"), said), indent=width)
        print_hanging(console, Text(), Text(f"“{sanitize_line(citation['quote'])}”"), indent=width)


def _usage_line(usage: Usage, seconds: float) -> str:
    parts = [
        pluralize(usage["iterations"], "iteration"),
        pluralize(usage["llm_calls"], "model call"),
        f"{usage['prompt_tokens']:,} + {usage['completion_tokens']:,} tokens",
        pluralize(usage["retrievals"], "search", "searches"),
        f"{pluralize(usage['passages'], 'passage')} read",
    ]
    if usage["parse_failures"]:
        parts.append(pluralize(usage["parse_failures"], "unusable reply", "unusable replies"))
    return " · ".join([*parts, f"{seconds:.1f} s"])
